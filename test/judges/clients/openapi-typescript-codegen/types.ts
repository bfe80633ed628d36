import type { TwoWay } from '../contract.ts'
import type { Losses } from '../losses.ts'
import type { AppsApi } from './apps-api/index.ts'

/** Never run: tsc reads it. */
declare const api: AppsApi
const { catalogue, publishing } = api

type Service = typeof catalogue & typeof publishing
type Arguments<Id extends keyof TwoWay> = NonNullable<Parameters<Service[Id]>[0]>
type Success<Id extends keyof TwoWay> = { success: Awaited<ReturnType<Service[Id]>> }
/** A header's parameter by the header's own name. */
type IfNoneMatch<T extends { ifNoneMatch?: string }> = { 'If-None-Match'?: NonNullable<T['ifNoneMatch']> }
type IfMatch<T extends { ifMatch?: string }> = { 'If-Match'?: NonNullable<T['ifMatch']> }

type Given = {
  listApps: {
    query: Omit<Arguments<'listApps'>, 'ifNoneMatch'>
    header: IfNoneMatch<Arguments<'listApps'>>
  } & Success<'listApps'>
  createApp: { body: Arguments<'createApp'>['requestBody'] } & Success<'createApp'>
  getApp: {
    path: Pick<Arguments<'getApp'>, 'id'>
    header: IfNoneMatch<Arguments<'getApp'>>
  } & Success<'getApp'>
  updateApp: {
    path: Pick<Arguments<'updateApp'>, 'id'>
    header: IfMatch<Arguments<'updateApp'>>
    body: Arguments<'updateApp'>['requestBody']
  } & Success<'updateApp'>
  deleteApp: {
    path: Pick<Arguments<'deleteApp'>, 'id'>
    header: IfMatch<Arguments<'deleteApp'>>
  } & Success<'deleteApp'>
}
const thrown = 'Errors are thrown, and their bodies are any.'
const eitherWay = 'Of true alone it makes a boolean.'
export const losses: Record<Losses<Given, TwoWay>, string> = {
  'listApps.answers': thrown,
  'listApps.error': thrown,
  'listApps.success.success': eitherWay,
  'createApp.answers': thrown,
  'createApp.error': thrown,
  'createApp.success.success': eitherWay,
  'getApp.answers': thrown,
  'getApp.error': thrown,
  'getApp.success.success': eitherWay,
  'updateApp.answers': thrown,
  'updateApp.error': thrown,
  'updateApp.success.success': eitherWay,
  'deleteApp.answers': thrown,
  'deleteApp.error': thrown,
  'deleteApp.success.success': eitherWay,
}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
// @ts-expect-error there is no such order
catalogue.listApps({ sort: 'newest' })
// @ts-expect-error the id is missing
catalogue.getApp({})
// @ts-expect-error the description is missing
publishing.createApp({ requestBody: { name: app.name, category_id: 1 } })
// @ts-expect-error there is no such field
publishing.createApp({ requestBody: { ...app, colour: 'red' } })
