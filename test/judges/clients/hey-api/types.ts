import type { TwoWay } from '../contract.ts'
import type { DataOrError, Losses } from '../losses.ts'
import {
  type CreateAppData,
  createApp,
  type DeleteAppData,
  deleteApp,
  type GetAppData,
  getApp,
  type ListAppsData,
  listApps,
  type UpdateAppData,
  updateApp,
} from './apps-api/index.js'

/** Never run: tsc reads it. */
const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
const calls = {
  listApps: () => listApps(),
  createApp: () => createApp({ body: app }),
  getApp: () => getApp({ path: { id: 1 } }),
  updateApp: () => updateApp({ path: { id: 1 }, body: app }),
  deleteApp: () => deleteApp({ path: { id: 1 } }),
}

type Given = {
  listApps: { query: NonNullable<ListAppsData['query']>; header: NonNullable<ListAppsData['headers']> } & DataOrError<
    typeof calls.listApps
  >
  createApp: { body: CreateAppData['body'] } & DataOrError<typeof calls.createApp>
  getApp: { path: GetAppData['path']; header: NonNullable<GetAppData['headers']> } & DataOrError<typeof calls.getApp>
  updateApp: {
    path: UpdateAppData['path']
    header: NonNullable<UpdateAppData['headers']>
    body: UpdateAppData['body']
  } & DataOrError<typeof calls.updateApp>
  deleteApp: { path: DeleteAppData['path']; header: NonNullable<DeleteAppData['headers']> } & DataOrError<
    typeof calls.deleteApp
  >
}
export const losses: Record<Losses<Given, TwoWay>, string> = {}

// @ts-expect-error there is no such order
listApps({ query: { sort: 'newest' } })
// @ts-expect-error there is no such parameter
listApps({ query: { page: 1, colour: 'red' } })
// @ts-expect-error the id is missing
getApp({})
// @ts-expect-error an ETag is text
updateApp({ path: { id: 1 }, body: {}, headers: { 'If-Match': 1 } })
// @ts-expect-error the description is missing
createApp({ body: { name: 'Star Map', category_id: 1 } })
// @ts-expect-error there is no such field
createApp({ body: { ...app, colour: 'red' } })
