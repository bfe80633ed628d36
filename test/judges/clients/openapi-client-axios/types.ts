import type { ParamsArray, SingleParam } from 'openapi-client-axios'
import type { Contract } from '../contract.ts'
import type { Losses } from '../losses.ts'
import type { Client, Components, Paths } from './apps-api.d.ts'
import type { Untupled } from './untupled.ts'

/** Never run: tsc reads it. */
declare const client: Client

type Arguments<Id extends keyof Contract> = Exclude<
  Parameters<Client[Id]>[0],
  ParamsArray | SingleParam | null | undefined
>
type Body<Id extends keyof Contract> = NonNullable<Parameters<Client[Id]>[1]>
type Data<Id extends keyof Contract> = Awaited<ReturnType<Client[Id]>>['data']

/** A call gives what the success is; for errors there is a type each, to be named in axios.isAxiosError<…>(error). */
type Given = {
  listApps: {
    query: Omit<Arguments<'listApps'>, 'If-None-Match'>
    header: Pick<Arguments<'listApps'>, 'If-None-Match'>
    answers: {
      200: Data<'listApps'>
      304: Paths.ListApps.Responses.$304
      400: Paths.ListApps.Responses.$400
      401: Paths.ListApps.Responses.$401
      405: Paths.ListApps.Responses.$405
      406: Paths.ListApps.Responses.$406
      408: Paths.ListApps.Responses.$408
      429: Paths.ListApps.Responses.$429
      431: Paths.ListApps.Responses.$431
      500: Paths.ListApps.Responses.$500
      503: Paths.ListApps.Responses.$503
    }
  }
  createApp: {
    body: Body<'createApp'>
    answers: {
      201: Data<'createApp'>
      400: Paths.CreateApp.Responses.$400
      401: Paths.CreateApp.Responses.$401
      405: Paths.CreateApp.Responses.$405
      406: Paths.CreateApp.Responses.$406
      408: Paths.CreateApp.Responses.$408
      409: Paths.CreateApp.Responses.$409
      413: Paths.CreateApp.Responses.$413
      415: Paths.CreateApp.Responses.$415
      422: Paths.CreateApp.Responses.$422
      429: Paths.CreateApp.Responses.$429
      431: Paths.CreateApp.Responses.$431
      500: Paths.CreateApp.Responses.$500
      503: Paths.CreateApp.Responses.$503
    }
  }
  getApp: {
    path: Omit<Arguments<'getApp'>, 'If-None-Match'>
    header: Pick<Arguments<'getApp'>, 'If-None-Match'>
    answers: {
      200: Data<'getApp'>
      304: Paths.GetApp.Responses.$304
      400: Paths.GetApp.Responses.$400
      401: Paths.GetApp.Responses.$401
      404: Paths.GetApp.Responses.$404
      405: Paths.GetApp.Responses.$405
      406: Paths.GetApp.Responses.$406
      408: Paths.GetApp.Responses.$408
      429: Paths.GetApp.Responses.$429
      431: Paths.GetApp.Responses.$431
      500: Paths.GetApp.Responses.$500
      503: Paths.GetApp.Responses.$503
    }
  }
  updateApp: {
    path: Omit<Arguments<'updateApp'>, 'If-Match'>
    header: Pick<Arguments<'updateApp'>, 'If-Match'>
    body: Body<'updateApp'>
    answers: {
      200: Data<'updateApp'>
      400: Paths.UpdateApp.Responses.$400
      401: Paths.UpdateApp.Responses.$401
      403: Paths.UpdateApp.Responses.$403
      404: Paths.UpdateApp.Responses.$404
      405: Paths.UpdateApp.Responses.$405
      406: Paths.UpdateApp.Responses.$406
      408: Paths.UpdateApp.Responses.$408
      409: Paths.UpdateApp.Responses.$409
      412: Paths.UpdateApp.Responses.$412
      413: Paths.UpdateApp.Responses.$413
      415: Paths.UpdateApp.Responses.$415
      422: Paths.UpdateApp.Responses.$422
      429: Paths.UpdateApp.Responses.$429
      431: Paths.UpdateApp.Responses.$431
      500: Paths.UpdateApp.Responses.$500
      503: Paths.UpdateApp.Responses.$503
    }
  }
  deleteApp: {
    path: Omit<Arguments<'deleteApp'>, 'If-Match'>
    header: Pick<Arguments<'deleteApp'>, 'If-Match'>
    answers: {
      200: Data<'deleteApp'>
      400: Paths.DeleteApp.Responses.$400
      401: Paths.DeleteApp.Responses.$401
      403: Paths.DeleteApp.Responses.$403
      404: Paths.DeleteApp.Responses.$404
      405: Paths.DeleteApp.Responses.$405
      406: Paths.DeleteApp.Responses.$406
      408: Paths.DeleteApp.Responses.$408
      412: Paths.DeleteApp.Responses.$412
      429: Paths.DeleteApp.Responses.$429
      431: Paths.DeleteApp.Responses.$431
      500: Paths.DeleteApp.Responses.$500
      503: Paths.DeleteApp.Responses.$503
    }
  }
}
const empty = 'No body is an empty object.'
export const losses: Record<Losses<Untupled<Given>, Contract>, string> = {
  'listApps.answers.304': empty,
  'getApp.answers.304': empty,
}

/** An array with a maxItems is a tuple of as many items, each of which may be undefined. */
declare const page: Data<'listApps'>['data']
// @ts-expect-error so it is not an array of apps
export const apps: Components.Schemas.AppSummary[] = page.apps

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
// @ts-expect-error there is no such order
client.listApps({ sort: 'newest' })
// @ts-expect-error there is no such parameter
client.listApps({ page: 1, colour: 'red' })
// @ts-expect-error the id is missing
client.getApp()
// @ts-expect-error there is no such header
client.updateApp({ id: 1, 'If-None-Match': '"x"' }, app)
// @ts-expect-error the description is missing
client.createApp(null, { name: app.name, category_id: 1 })
// @ts-expect-error there is no such field
client.createApp(null, { ...app, colour: 'red' })
// A body that is required may be left out all the same.
client.createApp()
