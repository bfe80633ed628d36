import type { Contract, OperationId } from '../contract.ts'
import type { AllLosses, ByPosition, ByStatus, CamelCased } from '../losses.ts'
import * as api from './apps-api.ts'

/** Compiled, never run. */
type Generated = {
  [Id in OperationId]: ByPosition<Parameters<(typeof api)[Id]>, Expected[Id]> &
    ByStatus<(typeof api)[Id]>
}
/** Query parameters and headers are in one object. */
type Expected = {
  [Id in OperationId]: Omit<Contract[Id], 'query' | 'header'> & Named<Contract[Id]>
}
type Named<Arguments> = Arguments extends { header: infer Header }
  ? { query: CamelCased<Header & (Arguments extends { query: infer Query } ? Query : unknown)> }
  : Pick<Arguments, keyof Arguments & 'query'>

export const losses: Record<AllLosses<Generated, Expected>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
api.listApps({ sort: 'popular' })
// @ts-expect-error no such order
api.listApps({ sort: 'newest' })
// @ts-expect-error no such parameter
api.listApps({ page: 1, colour: 'red' })
// @ts-expect-error the id is missing
api.getApp()
api.updateApp(1, app, { ifMatch: '"x"' })
// @ts-expect-error no such header
api.updateApp(1, app, { ifNoneMatch: '"x"' })
// @ts-expect-error the description is missing
api.createApp({ name: app.name, category_id: 1 })
// @ts-expect-error no such field
api.createApp({ ...app, colour: 'red' })
