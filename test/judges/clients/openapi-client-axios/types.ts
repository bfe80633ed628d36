import type { ParamsArray, SingleParam } from 'openapi-client-axios'
import type { Contract, OperationId, TwoWay } from '../contract.ts'
import type { AllLosses, Members, Shared, Untupled } from '../losses.ts'
import type { Client, Components } from './apps-api.d.ts'
import type { Lookups } from './apps-api.lookups.ts'

/** Compiled, never run. */
declare const client: Client

type Arguments<Id extends OperationId> = Parameters<Client[Id]>
type Data<Id extends OperationId> = Awaited<ReturnType<Client[Id]>>['data']

/** A call returns the success; each error has a type, for axios.isAxiosError<…>(error). */
type Generated = {
  [Id in OperationId]: Shared<
    {
      parameters: Exclude<Arguments<Id>[0], ParamsArray | SingleParam | null | undefined>
      body: NonNullable<Arguments<Id>[1]>
      answers: Lookups[Id]
      success: Data<Id>
    },
    Expected[Id]
  >
}
/** Parameters of all places are in one object. */
type Expected = {
  [Id in OperationId]: Omit<TwoWay[Id], 'path' | 'query' | 'header' | 'error'> &
    Parameter<Contract[Id]>
}
type Parameter<Arguments> = keyof Arguments & ('path' | 'query' | 'header') extends never
  ? unknown
  : {
      parameters: Members<Arguments, 'path'> &
        Members<Arguments, 'query'> &
        Members<Arguments, 'header'>
    }

export const losses: Record<AllLosses<Untupled<Generated>, Expected>, string> = {
  'answers.304': 'No body is an empty object.',
}

/** An array with maxItems is a tuple of that many optional items. */
declare const page: Data<'listApps'>['data']
// @ts-expect-error so it is not an array of apps
export const apps: Components.Schemas.AppSummary[] = page.apps

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
client.listApps({ sort: 'popular' })
// @ts-expect-error no such order
client.listApps({ sort: 'newest' })
// @ts-expect-error no such parameter
client.listApps({ page: 1, colour: 'red' })
// @ts-expect-error the id is missing
client.getApp()
client.updateApp({ id: 1, 'If-Match': '"x"' }, app)
// @ts-expect-error no such header
client.updateApp({ id: 1, 'If-None-Match': '"x"' }, app)
// @ts-expect-error the description is missing
client.createApp(null, { name: app.name, category_id: 1 })
// @ts-expect-error no such field
client.createApp(null, { ...app, colour: 'red' })
// A required body can be omitted.
client.createApp()
