import type { Contract, OperationId, TwoWay } from '../contract.ts'
import type { AllLosses, CamelCased, Grouped, Members } from '../losses.ts'
import type { AppsApi } from './apps-api/index.ts'

/** Compiled, never run. */
type Call<Id> = Grouped<AppsApi, Id>
type Generated = {
  [Id in OperationId]: { options: NonNullable<Parameters<Call<Id>>[0]>; success: Awaited<ReturnType<Call<Id>>> }
}
/** Arguments of all places are in one object. */
type Expected = {
  [Id in OperationId]: Pick<TwoWay[Id], 'answers' | 'success' | 'error'> & { options: Options<Contract[Id]> }
}
type Options<Arguments> = Members<Arguments, 'path'> &
  Members<Arguments, 'query'> &
  CamelCased<Members<Arguments, 'header'>> &
  (Arguments extends { body: infer Body } ? { requestBody: Body } : unknown)

const thrown = 'Errors are thrown, and their bodies are any.'
export const losses: Record<AllLosses<Generated, Expected>, string> = {
  answers: thrown,
  error: thrown,
  'success.success': 'Of true alone it makes a boolean.',
}

declare const api: AppsApi
const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
api.catalogue.listApps({ sort: 'popular' })
// @ts-expect-error no such order
api.catalogue.listApps({ sort: 'newest' })
// @ts-expect-error the id is missing
api.catalogue.getApp({})
api.publishing.updateApp({ id: 1, ifMatch: '"x"', requestBody: app })
// @ts-expect-error the description is missing
api.publishing.createApp({ requestBody: { name: app.name, category_id: 1 } })
// @ts-expect-error no such field
api.publishing.createApp({ requestBody: { ...app, colour: 'red' } })
