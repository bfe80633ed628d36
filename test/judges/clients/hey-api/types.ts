import type { TwoWay } from '../contract.ts'
import type { DataOrError, Losses } from '../losses.ts'
import * as api from './apps-api/index.js'

/** Never run: tsc reads it. */
const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
const calls = {
  listApps: () => api.listApps(),
  createApp: () => api.createApp({ body: app }),
  getApp: () => api.getApp({ path: { id: 1 } }),
  updateApp: () => api.updateApp({ path: { id: 1 }, body: app }),
  deleteApp: () => api.deleteApp({ path: { id: 1 } }),
}

/** What a call takes and, by status, what may come back. */
type Given = {
  listApps: {
    query: NonNullable<api.ListAppsData['query']>
    header: NonNullable<api.ListAppsData['headers']>
    answers: api.ListAppsResponses & api.ListAppsErrors
  } & DataOrError<typeof calls.listApps>
  createApp: {
    body: api.CreateAppData['body']
    answers: api.CreateAppResponses & api.CreateAppErrors
  } & DataOrError<typeof calls.createApp>
  getApp: {
    path: api.GetAppData['path']
    header: NonNullable<api.GetAppData['headers']>
    answers: api.GetAppResponses & api.GetAppErrors
  } & DataOrError<typeof calls.getApp>
  updateApp: {
    path: api.UpdateAppData['path']
    header: NonNullable<api.UpdateAppData['headers']>
    body: api.UpdateAppData['body']
    answers: api.UpdateAppResponses & api.UpdateAppErrors
  } & DataOrError<typeof calls.updateApp>
  deleteApp: {
    path: api.DeleteAppData['path']
    header: NonNullable<api.DeleteAppData['headers']>
    answers: api.DeleteAppResponses & api.DeleteAppErrors
  } & DataOrError<typeof calls.deleteApp>
}
const neither = 'A 304, which has no body, is not among the answers.'
export const losses: Record<Losses<Given, TwoWay>, string> = {
  'listApps.answers.304': neither,
  'getApp.answers.304': neither,
}

// @ts-expect-error there is no such order
api.listApps({ query: { sort: 'newest' } })
// @ts-expect-error there is no such parameter
api.listApps({ query: { page: 1, colour: 'red' } })
// @ts-expect-error the id is missing
api.getApp({})
// @ts-expect-error an ETag is text
api.updateApp({ path: { id: 1 }, body: {}, headers: { 'If-Match': 1 } })
// @ts-expect-error the description is missing
api.createApp({ body: { name: app.name, category_id: 1 } })
// @ts-expect-error there is no such field
api.createApp({ body: { ...app, colour: 'red' } })
