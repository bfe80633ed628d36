import { client, type Ops } from './apps_api.ts'
import type { operations } from './openapi.d.ts'

/**
 * Compares the types of the generated client with those that openapi-typescript makes of the same
 * document. clients.judge.ts compiles a copy beside both.
 */

type Identical<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/**
 * A type without names and intersections, so that it can be compared. The generator takes an enum of
 * one boolean for any boolean.
 */
type Plain<T> = T extends object
  ? { [Key in keyof T]: Key extends 'success' ? boolean : Plain<T[Key]> }
  : T

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never

type Documented = {
  [Id in keyof operations]: {
    success: Json<Pick<operations[Id]['responses'], Success<Id>>[Success<Id>]>
    error: Json<
      Omit<operations[Id]['responses'], Success<Id>>[keyof Omit<
        operations[Id]['responses'],
        Success<Id>
      >]
    >
    path: NonNullable<operations[Id]['parameters']['path']>
    query: NonNullable<operations[Id]['parameters']['query']>
    headers: NonNullable<operations[Id]['parameters']['header']>
    body: Json<NonNullable<operations[Id]['requestBody']>>
  }
}
type Success<Id extends keyof operations> = keyof operations[Id]['responses'] & (200 | 201)

type Generated = {
  [Id in keyof Ops]: {
    success: NonNullable<Ops[Id]['result']['data']>
    error: NonNullable<Ops[Id]['result']['error']>
    path: Argument<Id, 'path'>
    query: Argument<Id, 'query'>
    headers: Argument<Id, 'headers'>
    body: Argument<Id, 'body'>
  }
}
type Argument<Id extends keyof Ops, Name extends string> = Ops[Id]['args'] extends {
  [Key in Name]?: infer Value
}
  ? unknown extends Value
    ? never
    : NonNullable<Value>
  : never

/** `listApps query` if the client has another type for it. */
type Difference = {
  [Id in keyof operations]: {
    [Part in keyof Documented[Id]]: Id extends keyof Generated
      ? Part extends keyof Generated[Id]
        ? Identical<Plain<Generated[Id][Part]>, Plain<Documented[Id][Part]>> extends true
          ? never
          : `${Id} ${Part & string}`
        : never
      : Id
  }[keyof Documented[Id]]
}[keyof operations]

export const differences: Record<Difference, string> = {}

/** Each code of an operation: a comparison of the code tells which other fields the error has. */
export async function describeError(): Promise<string> {
  const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
  const { data, error } = await client.createApp({ body: app })
  if (data) return data.data.slug
  switch (error.data.code) {
    case 'invalid_request':
    case 'malformed_json':
      return error.data.errors?.map(({ field }) => field).join() ?? 'malformed'
    case 'package_name_taken':
      return error.data.errors.map(({ field }) => field).join()
    case 'unknown_category':
      // Optional, because this code shares its schema with idempotency_key_reused.
      return error.data.categories?.map(({ slug }) => slug).join() ?? ''
    case 'idempotency_key_reused':
    case 'unauthorized':
    case 'forbidden':
    case 'method_not_allowed':
    case 'not_acceptable':
    case 'request_timeout':
    case 'payload_too_large':
    case 'unsupported_media_type':
    case 'rate_limited':
    case 'internal_error':
    case 'unavailable':
      return error.data.code
  }
}

// @ts-expect-error no such order
client.listApps({ query: { sort: 'newest' } })
// @ts-expect-error no such parameter
client.listApps({ query: { page: 1, colour: 'red' } })
// @ts-expect-error the id is missing
client.getApp({})
// @ts-expect-error an ETag is text
client.updateApp({ path: { id: 1 }, body: {}, headers: { 'If-Match': 1 } })
// @ts-expect-error the description is missing
client.createApp({ body: { name: 'Star Map', category_id: 1 } })
