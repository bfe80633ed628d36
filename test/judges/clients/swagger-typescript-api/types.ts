import type { Contract, TwoWay } from '../contract.ts'
import type { DataOrError, Losses } from '../losses.ts'
import { Api, type Apps } from './apps-api.ts'

/** Never run: tsc reads it. */
const { apps } = new Api()

type Given = {
  listApps: { query: NonNullable<Parameters<typeof apps.listApps>[0]> } & DataOrError<typeof apps.listApps>
  createApp: { body: Parameters<typeof apps.createApp>[0] } & DataOrError<typeof apps.createApp>
  getApp: { path: { id: Parameters<typeof apps.getApp>[0] } } & DataOrError<typeof apps.getApp>
  updateApp: {
    path: { id: Parameters<typeof apps.updateApp>[0] }
    body: Parameters<typeof apps.updateApp>[1]
  } & DataOrError<typeof apps.updateApp>
  deleteApp: { path: { id: Parameters<typeof apps.deleteApp>[0] } } & DataOrError<typeof apps.deleteApp>
}
const header = 'A call takes any headers, as fetch does; see Headers for the types of the declared ones.'
const answers = 'Errors are one union; no status has a type of its own.'
export const losses: Record<Losses<Given, TwoWay>, string> = {
  'listApps.header': header,
  'getApp.header': header,
  'updateApp.header': header,
  'deleteApp.header': header,
  'listApps.answers': answers,
  'createApp.answers': answers,
  'getApp.answers': answers,
  'updateApp.answers': answers,
  'deleteApp.answers': answers,
}

/** What --route-types writes, for a caller's `satisfies`. */
type Headers = {
  listApps: { header: Apps.ListApps.RequestHeaders }
  getApp: { header: Apps.GetApp.RequestHeaders }
  updateApp: { header: Apps.UpdateApp.RequestHeaders }
  deleteApp: { header: Apps.DeleteApp.RequestHeaders }
}
type Said = { [Id in keyof Headers]: Pick<Contract[Id], 'header'> }
export const lossesOfHeaders: Record<Losses<Headers, Said>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
// @ts-expect-error there is no such order
apps.listApps({ sort: 'newest' })
// @ts-expect-error there is no such parameter
apps.listApps({ page: 1, colour: 'red' })
// @ts-expect-error the id is missing
apps.getApp()
// @ts-expect-error there is no such header
apps.updateApp(1, app, { headers: { 'If-None-Match': '"x"' } satisfies Apps.UpdateApp.RequestHeaders })
// @ts-expect-error the description is missing
apps.createApp({ name: app.name, category_id: 1 })
// @ts-expect-error there is no such field
apps.createApp({ ...app, colour: 'red' })
