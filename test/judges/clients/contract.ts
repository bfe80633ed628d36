import type { OperationId } from '../../../src/contract/contract.ts'

/** The contract in types, written by hand: no generator may be the measure of itself. */

/** Leaves out no operation that the document has. */
type Whole<Operations extends Record<OperationId, unknown>> = Operations

type Success<Data> = { success: true; message: string; data: Data }
type Failure<Data> = { success: false; message: string; data: Data }

type Problem = { in: 'path' | 'query' | 'header' | 'body'; field: string; message: string }
type Coded<Code extends string> = Failure<{ code: Code }>

/** Each status has its own codes, whatever the operation; a 400 has more where there is a body. */
type Errors = {
  400: Failure<{ code: 'invalid_request'; errors: Problem[] }>
  401: Coded<'unauthorized'>
  403: Coded<'forbidden'>
  404: Coded<'not_found'>
  405: Coded<'method_not_allowed'>
  406: Coded<'not_acceptable'>
  408: Coded<'request_timeout'>
  409: Failure<{ code: 'package_name_taken'; errors: Problem[] }>
  412: Coded<'precondition_failed'>
  413: Coded<'payload_too_large'>
  415: Coded<'unsupported_media_type'>
  422: Failure<{
    code: 'unknown_category'
    errors: Problem[]
    categories: { id: number; slug: string; name: string }[]
  }>
  429: Coded<'rate_limited'>
  431: Coded<'headers_too_large'>
  500: Coded<'internal_error'>
  503: Coded<'unavailable'>
}
type InvalidRequest = Failure<{ code: 'invalid_request' | 'malformed_json'; errors?: Problem[] }>

type Summary = {
  id: number
  name: string
  slug: string
  description: string
  developer_name: string
  category_name: string
  total_downloads: number
  average_rating: number
}
type App = Summary & {
  short_description?: string
  version: string
  package_name?: string
  status: 'pending' | 'approved' | 'rejected'
  rejection_reason?: string
  category_id: number
  category_slug: string
  created_at: string
  updated_at: string
  approved_at?: string
  rating_count: number
  review_count: number
  reviews: { id: number; reviewer_name: string; rating: number; comment: string; created_at: string }[]
}
type Page = {
  apps: Summary[]
  pagination: { current_page: number; total_pages: number; per_page: number }
}
type NewApp = {
  name: string
  description: string
  category_id: number
  short_description?: string
  version?: string
  package_name?: string
}

type IfMatch = { 'If-Match'?: string }
type IfNoneMatch = { 'If-None-Match'?: string }
type Id = { id: number }
type Query = {
  page?: number
  limit?: number
  category?: string
  search?: string
  sort?: 'latest' | 'popular' | 'rating'
}

/** What may go wrong with any request, and with one that has a body. */
type Always = Pick<Errors, 400 | 401 | 405 | 406 | 408 | 429 | 431 | 500 | 503>
type WithBody = Omit<Always, 400> & { 400: InvalidRequest } & Pick<Errors, 409 | 413 | 415 | 422>
type OfOne = Pick<Errors, 404>
type OfChanges = Pick<Errors, 403 | 404 | 412>

/** Each operation's arguments, and its answers by status; one without a body is undefined. */
export type Contract = Whole<{
  listApps: { query: Query; header: IfNoneMatch; answers: { 200: Success<Page>; 304: undefined } & Always }
  createApp: {
    body: NewApp
    answers: { 201: Success<{ app_id: number; slug: string; status: 'pending' }> } & WithBody
  }
  getApp: {
    path: Id
    header: IfNoneMatch
    answers: { 200: Success<{ app: App }>; 304: undefined } & Always & OfOne
  }
  updateApp: {
    path: Id
    header: IfMatch
    body: Partial<NewApp>
    answers: { 200: Success<{ app: App }> } & WithBody & OfChanges
  }
  deleteApp: {
    path: Id
    header: IfMatch
    answers: { 200: Success<{ app_id: number }> } & Always & OfChanges
  }
}>

type Successes<Answers> = Answers[keyof Answers & (200 | 201)]
type Failures<Answers> = Answers[Exclude<keyof Answers, 200 | 201 | 304>]

/** The same, with what a client gives that tells success from error, but not one error's status from another's. */
export type TwoWay = {
  [Id in keyof Contract]: Contract[Id] & {
    success: Successes<Contract[Id]['answers']>
    error: Failures<Contract[Id]['answers']>
  }
}

/** What any client can tell of an answer; a 304 has no body. */
export type Answer<Id extends keyof Contract> = {
  status: number
  headers: Headers
  body: TwoWay[Id]['success'] | TwoWay[Id]['error'] | undefined
}

/** The life cycle's calls. An adapter translates them into its client's and adds nothing. */
export type Client = Whole<{
  listApps: (query: Query) => Promise<Answer<'listApps'>>
  createApp: (app: NewApp) => Promise<Answer<'createApp'>>
  getApp: (id: number) => Promise<Answer<'getApp'>>
  updateApp: (id: number, changes: Partial<NewApp>, etag: string) => Promise<Answer<'updateApp'>>
  deleteApp: (id: number) => Promise<Answer<'deleteApp'>>
}>

/** A client of the service at an address; without a key it is anonymous. */
export type Connect = (baseUrl: string, key?: string) => Client | Promise<Client>
