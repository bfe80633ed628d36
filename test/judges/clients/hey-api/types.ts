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

/**
 * A caller who has thought of all that may go wrong with one operation: no code is left out, so no more is returned; and
 * each code tells what else is in the data.
 */
export async function exhaustive(): Promise<string> {
  const { error } = await api.createApp({ body: app })
  if (!error) return 'created'
  const { data } = error
  switch (data.code) {
    case 'invalid_request':
    case 'malformed_json':
      return data.errors?.map(({ field }) => field).join() ?? 'malformed'
    case 'package_name_taken':
      return data.errors.map(({ field }) => field).join()
    case 'unknown_category':
      return data.categories.map(({ slug }) => slug).join()
    case 'unauthorized':
    case 'method_not_allowed':
    case 'not_acceptable':
    case 'request_timeout':
    case 'payload_too_large':
    case 'unsupported_media_type':
    case 'rate_limited':
    case 'headers_too_large':
    case 'internal_error':
    case 'unavailable':
      return data.code
  }
}

// @ts-expect-error a code is left out: unavailable
export async function leftOut(): Promise<string> {
  const { error } = await api.createApp({ body: app })
  if (!error) return 'created'
  const { data } = error
  switch (data.code) {
    case 'invalid_request':
    case 'malformed_json':
    case 'package_name_taken':
    case 'unknown_category':
    case 'unauthorized':
    case 'method_not_allowed':
    case 'not_acceptable':
    case 'request_timeout':
    case 'payload_too_large':
    case 'unsupported_media_type':
    case 'rate_limited':
    case 'headers_too_large':
    case 'internal_error':
      return data.code
  }
}

export async function tooMuch(): Promise<boolean> {
  const { error } = await api.createApp({ body: app })
  if (!error) return true
  const { data } = error
  // @ts-expect-error no creation is answered so
  return data.code === 'precondition_failed'
}
