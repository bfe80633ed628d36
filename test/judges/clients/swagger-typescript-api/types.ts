import type { Contract, OperationId, TwoWay } from '../contract.ts'
import type { AllLosses, ByPosition, DataOrError, Grouped, Shared } from '../losses.ts'
import type { Lookups } from './apps-api.lookups.ts'
import { Api, type Apps } from './apps-api.ts'

/** Compiled, never run. */
type Call<Id> = Grouped<Api<unknown>, Id>
type Generated = {
  [Id in OperationId]: ByPosition<Parameters<Call<Id>>, Omit<TwoWay[Id], 'header'>> &
    DataOrError<Awaited<ReturnType<Call<Id>>>>
}
export const losses: Record<AllLosses<Generated, TwoWay>, string> = {
  header:
    'A call takes any headers, as fetch does; see Headers for the types of the declared ones.',
  answers: 'Errors are one union; no status has a type of its own.',
}

/** The types of --route-types, for callers' `satisfies`. */
type Headers = { [Id in OperationId]: Shared<{ header: Lookups[Id] }, Contract[Id]> }
type ExpectedHeaders = { [Id in OperationId]: Pick<Contract[Id], keyof Contract[Id] & 'header'> }
export const lossesOfHeaders: Record<AllLosses<Headers, ExpectedHeaders>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
const { apps } = new Api()
apps.listApps({ sort: 'popular' })
// @ts-expect-error no such order
apps.listApps({ sort: 'newest' })
// @ts-expect-error no such parameter
apps.listApps({ page: 1, colour: 'red' })
// @ts-expect-error the id is missing
apps.getApp()
apps.updateApp(1, app, { headers: { 'If-Match': '"x"' } satisfies Apps.UpdateApp.RequestHeaders })
apps.updateApp(1, app, {
  // @ts-expect-error no such header
  headers: { 'If-None-Match': '"x"' } satisfies Apps.UpdateApp.RequestHeaders,
})
// @ts-expect-error the description is missing
apps.createApp({ name: app.name, category_id: 1 })
// @ts-expect-error no such field
apps.createApp({ ...app, colour: 'red' })
