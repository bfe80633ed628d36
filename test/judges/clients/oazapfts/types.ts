import type { Contract } from '../contract.ts'
import type { ByStatus, Losses } from '../losses.ts'
import { createApp, type deleteApp, getApp, listApps, updateApp } from './apps-api.ts'

/** Never run: tsc reads it. */
type Given = {
  listApps: {
    query: Omit<NonNullable<Parameters<typeof listApps>[0]>, 'ifNoneMatch'>
    header: Headers<Pick<NonNullable<Parameters<typeof listApps>[0]>, 'ifNoneMatch'>>
  } & ByStatus<typeof listApps>
  createApp: { body: Parameters<typeof createApp>[0] } & ByStatus<typeof createApp>
  getApp: {
    path: { id: Parameters<typeof getApp>[0] }
    header: Headers<NonNullable<Parameters<typeof getApp>[1]>>
  } & ByStatus<typeof getApp>
  updateApp: {
    path: { id: Parameters<typeof updateApp>[0] }
    body: Parameters<typeof updateApp>[1]
    header: Headers<NonNullable<Parameters<typeof updateApp>[2]>>
  } & ByStatus<typeof updateApp>
  deleteApp: {
    path: { id: Parameters<typeof deleteApp>[0] }
    header: Headers<NonNullable<Parameters<typeof deleteApp>[1]>>
  } & ByStatus<typeof deleteApp>
}
/** oazapfts writes headers' names in its own way. */
type Headers<Arguments> = {
  [Name in keyof Arguments as Name extends 'ifMatch'
    ? 'If-Match'
    : Name extends 'ifNoneMatch'
      ? 'If-None-Match'
      : Name]: Arguments[Name]
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
updateApp(1, app, { ifNoneMatch: '"x"' })
// @ts-expect-error the description is missing
createApp({ name: app.name, category_id: 1 })
// @ts-expect-error there is no such field
createApp({ ...app, colour: 'red' })

/**
 * A caller who has thought of all that may go wrong with one operation: no code is left out, so no more is returned; and
 * each code tells what else is in the data.
 */
export async function exhaustive(): Promise<string> {
  const answer = await createApp(app)
  if (answer.status === 201) return 'created'
  const { data } = answer.data
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
  const answer = await createApp(app)
  if (answer.status === 201) return 'created'
  const { data } = answer.data
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
  const answer = await createApp(app)
  if (answer.status === 201) return true
  const { data } = answer.data
  // @ts-expect-error no creation is answered so
  return data.code === 'precondition_failed'
}
