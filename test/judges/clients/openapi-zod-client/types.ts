import type {
  ZodiosBodyByAlias,
  ZodiosErrorByAlias,
  ZodiosHeaderParamsByAlias,
  ZodiosPathParamByAlias,
  ZodiosQueryParamsByAlias,
  ZodiosResponseByAlias,
} from '@zodios/core'
import type { Contract, OperationId } from '../contract.ts'
import type { AllLosses, Shared } from '../losses.ts'
import type { api } from './apps-api.ts'

/** Compiled, never run. */
type Api = typeof api.api
type Generated = {
  [Id in OperationId]: Shared<
    {
      query: NonNullable<ZodiosQueryParamsByAlias<Api, Id>>
      path: ZodiosPathParamByAlias<Api, Id>
      header: NonNullable<ZodiosHeaderParamsByAlias<Api, Id>>
      body: ZodiosBodyByAlias<Api, Id>
    },
    Contract[Id]
  > & { answers: Answers<Id> }
}
/** The codes of each status. Open types have an index signature, so they differ from the contract's. */
type Answers<Id extends OperationId> = {
  [Status in keyof Contract[Id]['answers'] & number]: Status extends 200 | 201
    ? { data: keyof Known<ZodiosResponseByAlias<Api, Id>['data']> }
    : Status extends 304
      ? undefined
      : ZodiosErrorByAlias<Api, Id, Status> extends { data: { code: infer Code } }
        ? { code: Code }
        : never
}
/** The type without its index signature. */
type Known<T> = { [Key in keyof T as string extends Key ? never : Key]: T[Key] }

type Expected = {
  [Id in OperationId]: Omit<Contract[Id], 'answers'> & {
    answers: {
      [Status in keyof Contract[Id]['answers']]: Contract[Id]['answers'][Status] extends { data: infer Data }
        ? Data extends { code: infer Code }
          ? { code: Code }
          : { data: keyof Data }
        : undefined
    }
  }
}
export const losses: Record<AllLosses<Generated, Expected>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
// @ts-expect-error no such order
export const order: Generated['listApps']['query'] = { sort: 'newest' }
// @ts-expect-error the description is missing
export const lacking: Generated['createApp']['body'] = { name: app.name, category_id: 1 }
// @ts-expect-error no such code of this status
export const other: Generated['getApp']['answers'][404]['code'] = 'forbidden'
