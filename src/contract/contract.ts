import type { components, KeyedOperationId, operations } from '../../generated/server.d.ts'
import type { ResponseBody } from './response.ts'

/** The document in types: what each operation's handler is given and what it must return. Nothing here names an operation. */

type Schemas = components['schemas']
export type App = Schemas['App']
export type AppChanges = Schemas['AppChanges']
export type AppSummary = Schemas['AppSummary']
export type Category = Schemas['Category']
export type Problem = Schemas['Problem']
export type Sort = components['parameters']['Sort']

export type OperationId = keyof operations

type Parameters<Id extends OperationId> = operations[Id]['parameters']
type JsonOf<T> = T extends { content: { 'application/json': infer Body } } ? Body : never

/** A developer, by one of their keys. */
export type Caller = Readonly<{ developerId: number; keyId: string }>

/** A request that is authenticated and valid; what has a default and was left out is filled in. */
export type Input<Id extends OperationId> = Readonly<{
  caller: Id extends KeyedOperationId ? Caller : Caller | undefined
  path: NonNullable<Parameters<Id>['path']>
  query: NonNullable<Parameters<Id>['query']>
  header: NonNullable<Parameters<Id>['header']>
  body: JsonOf<operations[Id]['requestBody']>
  /** Aborted when its caller is gone. */
  signal: AbortSignal
}>

type Responses<Id extends OperationId> = operations[Id]['responses']

/** Every error that an operation declares, and its status. */
type Failure = { [Id in OperationId]: FailureOf<Responses<Id>> }[OperationId]
type FailureOf<Answers> = {
  [Status in Exclude<keyof Answers, 200 | 201 | 304>]: { status: Status; body: JsonOf<Answers[Status]> }
}[Exclude<keyof Answers, 200 | 201 | 304>]

export type ErrorData = Failure['body']['data']
export type ErrorCode = ErrorData['code']
export type ErrorBody = Pick<Failure['body'], 'success' | 'message'> & { data: ErrorData }
/** The one status that an error with the code has. */
export type StatusOf<Code extends ErrorCode> = Failure extends infer F ? StatusWith<F, Code> : never
type StatusWith<F, Code> = F extends { status: infer Status; body: { data: { code: infer Codes } } }
  ? Code extends Codes
    ? Status
    : never
  : never
type SuccessStatus<Id extends OperationId> = Extract<keyof Responses<Id>, 200 | 201>
/** What http/ adds to every answer by itself. */
export const commonHeaders = [
  'X-Request-Id',
  'Access-Control-Allow-Origin',
  'Cache-Control',
  'Vary',
  'Content-Encoding',
] as const
/** What http/ adds where a limit counted the request. */
type LimitHeader = 'RateLimit-Policy' | 'RateLimit'
type AddedHeader = (typeof commonHeaders)[number] | LimitHeader
type OwnHeaders<T> = T extends { headers: infer H }
  ? { [Name in keyof H as string extends Name ? never : Name extends AddedHeader ? never : Name]: H[Name] }
  : never

/** A success as the document declares it; everything else is thrown. */
export type SuccessResponse<Id extends OperationId> = {
  [Status in SuccessStatus<Id>]: {
    status: Status
    headers: OwnHeaders<Responses<Id>[Status]>
    body: JsonOf<Responses<Id>[Status]> & ResponseBody
  }
}[SuccessStatus<Id>]

export type Handlers = { [Id in OperationId]: (input: Input<Id>) => Promise<SuccessResponse<Id>> }
