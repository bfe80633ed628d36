import type { components, operations } from '../generated/openapi.d.ts'
import type { Caller } from './actor.ts'

/** The document in types: what each operation's handler is given and what it must return. */

type Schemas = components['schemas']
export type App = Schemas['App']
export type AppChanges = Schemas['AppChanges']
export type AppSummary = Schemas['AppSummary']
export type Category = Schemas['Category']
export type NewApp = Filled<Schemas['NewApp'], 'version'>
export type Problem = Schemas['Problem']
export type ErrorBody = Schemas['ErrorEnvelope'] | Schemas['UnknownCategoryEnvelope']
export type Sort = components['parameters']['Sort']

export type OperationId = keyof operations

/** Operations that the document lets nobody call without a key. The server compares the list with the document as it starts. */
export const keyedOperations = ['createApp', 'updateApp', 'deleteApp'] as const satisfies OperationId[]
type Keyed = (typeof keyedOperations)[number]

/** With properties whose default in the document the validator has filled in. */
type Filled<T, Key extends keyof T> = T & Required<Pick<T, Key>>

type Parameters<Id extends OperationId> = operations[Id]['parameters']
type ListQuery = Filled<NonNullable<Parameters<'listApps'>['query']>, 'page' | 'limit'>
type JsonOf<T> = T extends { content: { 'application/json': infer Body } } ? Body : never
type RequestBody<Id extends OperationId> = Id extends 'createApp' ? NewApp : JsonOf<operations[Id]['requestBody']>

/** A request that is authenticated and valid. */
export type Input<Id extends OperationId> = Readonly<{
  caller: Id extends Keyed ? Caller : Caller | undefined
  path: NonNullable<Parameters<Id>['path']>
  query: Id extends 'listApps' ? ListQuery : NonNullable<Parameters<Id>['query']>
  header: NonNullable<Parameters<Id>['header']>
  body: RequestBody<Id>
}>

type Responses<Id extends OperationId> = operations[Id]['responses']
type SuccessStatus<Id extends OperationId> = Extract<keyof Responses<Id>, 200 | 201>
/** What http/ adds to every answer by itself. */
export const commonHeaders = ['X-Request-Id', 'Access-Control-Allow-Origin', 'Cache-Control', 'Vary'] as const
type CommonHeader = (typeof commonHeaders)[number]
type OwnHeaders<T> = T extends { headers: infer H }
  ? { [Name in keyof H as string extends Name ? never : Name extends CommonHeader ? never : Name]: H[Name] }
  : never

/** A success as the document declares it; everything else is thrown. */
export type Reply<Id extends OperationId> = {
  [Status in SuccessStatus<Id>]: {
    status: Status
    headers: OwnHeaders<Responses<Id>[Status]>
    body: JsonOf<Responses<Id>[Status]>
  }
}[SuccessStatus<Id>]

export type Handlers = { [Id in OperationId]: (input: Input<Id>) => Promise<Reply<Id>> }
