import type {
  ZodiosBodyByAlias,
  ZodiosErrorByAlias,
  ZodiosHeaderParamsByAlias,
  ZodiosPathParamByAlias,
  ZodiosQueryParamsByAlias,
  ZodiosResponseByAlias,
} from '@zodios/core'
import type { Contract } from '../contract.ts'
import type { Losses } from '../losses.ts'
import type { api } from './apps-api.ts'

/** Never run: tsc reads it. */
type Api = typeof api.api
type Alias = keyof Contract

type Query<Id extends Alias> = { query: NonNullable<ZodiosQueryParamsByAlias<Api, Id>> }
type Path<Id extends Alias> = { path: ZodiosPathParamByAlias<Api, Id> }
type Header<Id extends Alias> = { header: NonNullable<ZodiosHeaderParamsByAlias<Api, Id>> }
type Body<Id extends Alias> = { body: ZodiosBodyByAlias<Api, Id> }
/** The codes that each status may have: what is open has an index, and so differs from any type without one. */
type Answers<Id extends Alias> = {
  answers: {
    [Status in keyof Contract[Id]['answers'] & number]: Status extends 200 | 201
      ? { data: keyof Known<ZodiosResponseByAlias<Api, Id>['data']> }
      : Status extends 304
        ? undefined
        : ZodiosErrorByAlias<Api, Id, Status> extends { data: { code: infer Code } }
          ? { code: Code }
          : never
  }
}
/** Without the index. */
type Known<T> = { [Key in keyof T as string extends Key ? never : Key]: T[Key] }

type Given = {
  listApps: Query<'listApps'> & Header<'listApps'> & Answers<'listApps'>
  createApp: Body<'createApp'> & Answers<'createApp'>
  getApp: Path<'getApp'> & Header<'getApp'> & Answers<'getApp'>
  updateApp: Path<'updateApp'> & Header<'updateApp'> & Body<'updateApp'> & Answers<'updateApp'>
  deleteApp: Path<'deleteApp'> & Header<'deleteApp'> & Answers<'deleteApp'>
}
type Said = {
  [Id in Alias]: Omit<Contract[Id], 'answers'> & {
    answers: {
      [Status in keyof Contract[Id]['answers']]: Contract[Id]['answers'][Status] extends { data: infer Data }
        ? Data extends { code: infer Code }
          ? { code: Code }
          : { data: keyof Data }
        : undefined
    }
  }
}
export const losses: Record<Losses<Given, Said>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
// @ts-expect-error there is no such order
export const order: Given['listApps']['query'] = { sort: 'newest' }
// @ts-expect-error the description is missing
export const lacking: Given['createApp']['body'] = { name: app.name, category_id: 1 }
// @ts-expect-error there is no such code of this status
export const other: Given['getApp']['answers'][404]['code'] = 'forbidden'
