import type { operations } from '../../../generated/openapi.d.ts'
import type { DropNever } from './losses.ts'

/**
 * The document in types. openapi-typescript makes them; the other generators, which share no code
 * with it, must agree.
 */

export type OperationId = keyof operations

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined
type Takes<Id extends OperationId> = DropNever<
  operations[Id]['parameters'] & { body: Json<NonNullable<operations[Id]['requestBody']>> }
>
type Answers<Responses> = { [Status in keyof Responses]: Json<Responses[Status]> }

/**
 * Each operation's arguments by place (path, query, header, body), and its bodies by status;
 * undefined where there is none.
 */
export type Contract = {
  [Id in OperationId]: Takes<Id> & { answers: Answers<operations[Id]['responses']> }
}

type Successes<Answers> = Answers[keyof Answers & (200 | 201)]
type Failures<Answers> = Answers[Exclude<keyof Answers, 200 | 201 | 304>]

/** The same for clients that tell success from error, but not one error's status from another's. */
export type TwoWay = {
  [Id in OperationId]: Contract[Id] & {
    success: Successes<Contract[Id]['answers']>
    error: Failures<Contract[Id]['answers']>
  }
}

type Optional = 'query' | 'header'
type Arguments<Id extends OperationId> = Omit<Takes<Id>, Optional> &
  Partial<Pick<Takes<Id>, Optional & keyof Takes<Id>>>

/** What any client can tell about a response. */
type Answer<Id extends OperationId> = {
  status: number
  headers: Headers
  body: TwoWay[Id]['success'] | TwoWay[Id]['error'] | undefined
}

/** A function for each operation, the same for each generated client. */
export type Client = { [Id in OperationId]: (args: Arguments<Id>) => Promise<Answer<Id>> }

/**
 * Errors narrow by code: this switch names every code of one operation, and reads what else each
 * has in its data.
 */
export function describeError({ data }: TwoWay['createApp']['error']): string {
  switch (data.code) {
    case 'invalid_request':
    case 'malformed_json':
      return data.errors?.map(({ field }) => field).join() ?? 'malformed'
    case 'package_name_taken':
      return data.errors.map(({ field }) => field).join()
    case 'unknown_category':
      return data.categories?.map(({ slug }) => slug).join() ?? ''
    case 'idempotency_key_reused':
    case 'unauthorized':
    case 'method_not_allowed':
    case 'not_acceptable':
    case 'request_timeout':
    case 'payload_too_large':
    case 'unsupported_media_type':
    case 'rate_limited':
    case 'headers_too_large':
    case 'internal_error':
    case 'not_implemented':
    case 'unavailable':
    case 'http_version_not_supported':
      return data.code
  }
}
