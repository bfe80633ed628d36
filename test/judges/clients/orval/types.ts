import type { Contract } from '../contract.ts'
import type { ByStatus, Losses } from '../losses.ts'
import { createApp, type deleteApp, getApp, listApps, updateApp } from './apps-api.ts'

/** Never run: tsc reads it. */
type Given = {
  listApps: {
    query: NonNullable<Parameters<typeof listApps>[0]>
    header: NonNullable<Parameters<typeof listApps>[1]>
  } & ByStatus<typeof listApps>
  createApp: { body: Parameters<typeof createApp>[0] } & ByStatus<typeof createApp>
  getApp: {
    path: { id: Parameters<typeof getApp>[0] }
    header: NonNullable<Parameters<typeof getApp>[1]>
  } & ByStatus<typeof getApp>
  updateApp: {
    path: { id: Parameters<typeof updateApp>[0] }
    body: Parameters<typeof updateApp>[1]
    header: NonNullable<Parameters<typeof updateApp>[2]>
  } & ByStatus<typeof updateApp>
  deleteApp: {
    path: { id: Parameters<typeof deleteApp>[0] }
    header: NonNullable<Parameters<typeof deleteApp>[1]>
  } & ByStatus<typeof deleteApp>
}
export const losses: Record<Losses<Given, Contract>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
// @ts-expect-error there is no such order
listApps({ sort: 'newest' })
// @ts-expect-error there is no such parameter
listApps({ page: 1, colour: 'red' })
// @ts-expect-error the id is missing
getApp()
// @ts-expect-error there is no such header
updateApp(1, app, { 'If-None-Match': '"x"' })
// @ts-expect-error the description is missing
createApp({ name: app.name, category_id: 1 })
// @ts-expect-error there is no such field
createApp({ ...app, colour: 'red' })
