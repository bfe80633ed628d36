import type { ZodiosBodyByAlias, ZodiosErrorByAlias, ZodiosResponseByAlias } from '@zodios/core'
import type { api } from './apps-api.ts'

/**
 * Never run: tsc reads it. What is open has an index in zod's types, so that they differ everywhere from types written by
 * hand; what is said of them is what they know nevertheless.
 */
type Api = typeof api.api
type Response = ZodiosResponseByAlias<Api, 'getApp'>
type Failure<Status extends 400 | 404 | 422> =
  ZodiosErrorByAlias<Api, 'createApp', Status> extends never
    ? ZodiosErrorByAlias<Api, 'updateApp', Status>
    : ZodiosErrorByAlias<Api, 'createApp', Status>

export const status: 'pending' | 'approved' | 'rejected' = {} as Response['data']['app']['status']
export const failures: {
  400: 'invalid_request' | 'malformed_json'
  404: 'not_found'
  422: 'unknown_category'
} = {} as { [Status in 400 | 404 | 422]: Failure<Status>['data']['code'] }

// @ts-expect-error there is no such code of this status
export const other: Failure<400>['data']['code'] = 'not_found'
// @ts-expect-error the description is missing
export const app: ZodiosBodyByAlias<Api, 'createApp'> = { name: 'Star Map', category_id: 1 }
