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

/** The bodies of all errors that operations declare. */
type Failure = {
  [Id in OperationId]: JsonOf<Responses<Id>[Exclude<keyof Responses<Id>, 200 | 201 | 304>]>
}[OperationId]

export type ErrorData = Failure['data']
export type ErrorCode = ErrorData['code']
export type ErrorBody = Pick<Failure, 'success' | 'message'> & { data: ErrorData }

/** The body of a success, without the envelope's `success`. */
export type ResponseBody<Data> = { message: string; data: Data }

type DataOf<T> = JsonOf<T> extends { data: infer Data } ? Data : never

type HeadersOf<T, Names> = T extends { headers: infer H } ? Pick<H, Names & keyof H> : never

/** A success as the document declares it. Errors are thrown. */
type SuccessResponse<
  Id extends OperationId,
  Success = Responses<Id>[ServerFacts[Id]['status'] & keyof Responses<Id>],
> = {
  status: ServerFacts[Id]['status']
  headers: HeadersOf<Success, ServerFacts[Id]['headers']>
  body: ResponseBody<DataOf<Success>>
}

export type Handlers = { [Id in OperationId]: (input: Input<Id>) => Promise<SuccessResponse<Id>> }
