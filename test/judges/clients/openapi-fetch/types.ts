import createClient, { type FetchOptions } from 'openapi-fetch'
import type { TwoWay } from '../contract.ts'
import type { DataOrError, Losses } from '../losses.ts'
import type { operations, paths } from './apps-api.d.ts'

/** Never run: tsc reads it. */
const client = createClient<paths>()
const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }

const calls = {
  listApps: () => client.GET('/apps'),
  createApp: () => client.POST('/apps', { body: app }),
  getApp: () => client.GET('/apps/{id}', { params: { path: { id: 1 } } }),
  updateApp: () => client.PUT('/apps/{id}', { params: { path: { id: 1 } }, body: app }),
  deleteApp: () => client.DELETE('/apps/{id}', { params: { path: { id: 1 } } }),
}

type Body<Id extends keyof operations> = FetchOptions<operations[Id]>['body']
type Params<Id extends keyof operations, Place extends 'query' | 'header' | 'path'> = {
  [P in Place]: NonNullable<NonNullable<FetchOptions<operations[Id]>['params']>[P]>
}
type Answers<Id extends keyof operations> = DataOrError<(typeof calls)[Id]> & {
  answers: { [Status in keyof operations[Id]['responses']]: Content<operations[Id]['responses'][Status]> }
}
type Content<Response> = Response extends { content: { 'application/json': infer Json } } ? Json : undefined

type Given = {
  listApps: Params<'listApps', 'query' | 'header'> & Answers<'listApps'>
  createApp: { body: Body<'createApp'> } & Answers<'createApp'>
  getApp: Params<'getApp', 'path' | 'header'> & Answers<'getApp'>
  updateApp: Params<'updateApp', 'path' | 'header'> & { body: Body<'updateApp'> } & Answers<'updateApp'>
  deleteApp: Params<'deleteApp', 'path' | 'header'> & Answers<'deleteApp'>
}
export const losses: Record<Losses<Given, TwoWay>, string> = {}

// @ts-expect-error there is no such order
client.GET('/apps', { params: { query: { sort: 'newest' } } })
// @ts-expect-error the id is missing
client.GET('/apps/{id}')
// @ts-expect-error the description is missing
client.POST('/apps', { body: { name: app.name, category_id: 1 } })
// @ts-expect-error there is no such field
client.POST('/apps', { body: { ...app, colour: 'red' } satisfies Body<'createApp'> })
// Without satisfies it compiles: https://github.com/openapi-ts/openapi-typescript/issues/1769
client.POST('/apps', { body: { ...app, colour: 'red' } })

/**
 * A caller who has thought of all that may go wrong with one operation: no code is left out, so no more is returned; and
 * each code tells what else is in the data.
 */
export async function exhaustive(): Promise<string> {
  const { error } = await client.POST('/apps', { body: app })
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
  const { error } = await client.POST('/apps', { body: app })
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
  const { error } = await client.POST('/apps', { body: app })
  if (!error) return true
  const { data } = error
  // @ts-expect-error no creation is answered so
  return data.code === 'precondition_failed'
}
