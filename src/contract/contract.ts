import type { components, operations } from '../../generated/openapi.d.ts'
import type { ServerFacts } from '../../generated/server.d.ts'

/**
 * The document as types: what each operation's handler gets and must return. A new operation needs
 * no change here.
 */

type Schemas = components['schemas']
export type App = Schemas['App']
export type AppChanges = Schemas['AppChanges']
export type AppSummary = Schemas['AppSummary']
export type NewApp = FilledIn<Input<'createApp'>['body'], 'version'>
export type Category = Schemas['Category']
export type CountedCategory = Schemas['CountedCategory']
export type OwnApp = Schemas['OwnApp']
export type Pagination = Schemas['Pagination']
export type Problem = Schemas['Problem']
export type SearchInfo = Schemas['SearchInfo']
export type Sort = components['parameters']['Sort']

export type OperationId = keyof operations

type Parameters<Id extends OperationId> = operations[Id]['parameters']
type JsonOf<T> = T extends { content: { 'application/json': infer Body } } ? Body : never

/** The values, some of them no longer optional. */
type FilledIn<Values, Defaulted> = Values & Required<Pick<Values, Defaulted & keyof Values>>

/** A developer, and the key that they sent. */
export type Caller = Readonly<{
  developerId: number
  keyId: string
  /** The app that the key is for; without it, all of the developer's. */
  appId?: number | null
  isReadOnly?: boolean
}>

/** An authenticated and valid request, with defaults filled in. */
export type Input<Id extends OperationId> = Readonly<{
  caller: ServerFacts[Id]['needsKey'] extends true ? Caller : Caller | undefined
  path: NonNullable<Parameters<Id>['path']>
  query: FilledIn<NonNullable<Parameters<Id>['query']>, ServerFacts[Id]['query']>
  header: NonNullable<Parameters<Id>['header']>
  body: JsonOf<operations[Id]['requestBody']>
  /** Aborted if the client disconnects. */
  signal: AbortSignal
}>

type Responses<Id extends OperationId> = operations[Id]['responses']

/** All errors that operations declare, with their status. */
type Failure = { [Id in OperationId]: FailureOf<Responses<Id>> }[OperationId]
type FailureOf<Answers> = {
  [Status in Exclude<keyof Answers, 200 | 201 | 304>]: {
    status: Status
    body: JsonOf<Answers[Status]>
  }
}[Exclude<keyof Answers, 200 | 201 | 304>]

export type ErrorData = Failure['body']['data']
export type ErrorCode = ErrorData['code']
export type ErrorBody = Pick<Failure['body'], 'success' | 'message'> & { data: ErrorData }
/** The status of the errors with a code. */
export type StatusOf<Code extends ErrorCode> = Failure extends infer F ? StatusWith<F, Code> : never
type StatusWith<F, Code> = F extends { status: infer Status; body: { data: { code: infer Codes } } }
  ? Code extends Codes
    ? Status
    : never
  : never
type SuccessStatus<Id extends OperationId> = Extract<keyof Responses<Id>, 200 | 201>
/** Headers that http/ adds; to reads, also the ETag. */
type AddedHeader<Id extends OperationId> =
  | ('X-Request-Id' | 'Access-Control-Allow-Origin' | 'Cache-Control' | 'Vary' | 'Content-Encoding')
  | ('RateLimit-Policy' | 'RateLimit')
  | (304 extends keyof Responses<Id> ? 'ETag' : never)
type OwnHeaders<T, Added> = T extends { headers: infer H }
  ? {
      [Name in keyof H as string extends Name ? never : Name extends Added ? never : Name]: H[Name]
    }
  : never

/** The body of a success, without the envelope's `success`. */
export type ResponseBody<Data> = { message: string; data: Data }

type DataOf<T> = JsonOf<T> extends { data: infer Data } ? Data : never

/** A success as the document declares it. Errors are thrown. */
type SuccessResponse<Id extends OperationId> = {
  [Status in SuccessStatus<Id>]: {
    status: Status
    headers: OwnHeaders<Responses<Id>[Status], AddedHeader<Id>>
    body: ResponseBody<DataOf<Responses<Id>[Status]>>
  }
}[SuccessStatus<Id>]

export type Handlers = { [Id in OperationId]: (input: Input<Id>) => Promise<SuccessResponse<Id>> }
