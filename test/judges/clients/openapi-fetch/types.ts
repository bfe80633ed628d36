import createClient, { type FetchOptions, type FetchResponse } from 'openapi-fetch'
import type { OperationId, TwoWay } from '../contract.ts'
import type { AllLosses, DataOrError, DropNever } from '../losses.ts'
import type { components, operations, paths } from './apps-api.d.ts'

/** Compiled, never run. */
type Options<Id extends OperationId> = FetchOptions<operations[Id]>
type Responses<Id extends OperationId> = operations[Id]['responses']
type Generated = {
  [Id in OperationId]: DropNever<
    NonNullable<Options<Id>['params']> & { body: Options<Id>['body'] }
  > &
    DataOrError<FetchResponse<operations[Id], unknown, 'application/json'>> & {
      answers: { [Status in keyof Responses<Id>]: Content<Responses<Id>[Status]> }
    }
}
type Content<Response> = Response extends { content: { 'application/json': infer Json } }
  ? Json
  : undefined

export const losses: Record<AllLosses<Generated, TwoWay>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
const client = createClient<paths>()
client.GET('/apps', { params: { query: { sort: 'popular' } } })
// @ts-expect-error no such order
client.GET('/apps', { params: { query: { sort: 'newest' } } })
// @ts-expect-error the id is missing
client.GET('/apps/{id}')
client.PUT('/apps/{id}', { params: { path: { id: 1 }, header: { 'If-Match': '"x"' } }, body: app })
// @ts-expect-error the description is missing
client.POST('/apps', { body: { name: app.name, category_id: 1 } })
// @ts-expect-error no such field
client.POST('/apps', { body: { ...app, colour: 'red' } satisfies components['schemas']['NewApp'] })
// Without satisfies it compiles: https://github.com/openapi-ts/openapi-typescript/issues/1769
client.POST('/apps', { body: { ...app, colour: 'red' } })
