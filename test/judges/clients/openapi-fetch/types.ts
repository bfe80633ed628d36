import createClient, { type FetchOptions } from 'openapi-fetch'
import type { TwoWay } from '../contract.ts'
import type { DataOrError, Losses } from '../losses.ts'
import type { paths } from './apps-api.d.ts'

/** Never run: tsc reads it. */
const client = createClient<paths>()

const calls = {
  listApps: () => client.GET('/apps'),
  createApp: (body: Body<paths['/apps']['post']>) => client.POST('/apps', { body }),
  getApp: (id: number) => client.GET('/apps/{id}', { params: { path: { id } } }),
  updateApp: (id: number, body: Body<paths['/apps/{id}']['put']>) =>
    client.PUT('/apps/{id}', { params: { path: { id } }, body }),
  deleteApp: (id: number) => client.DELETE('/apps/{id}', { params: { path: { id } } }),
}

type Body<Operation> = FetchOptions<Operation>['body']
type Part<Operation, Name extends 'query' | 'header' | 'path'> = {
  [N in Name]: NonNullable<NonNullable<FetchOptions<Operation>['params']>[N]>
}

type Given = {
  listApps: Part<paths['/apps']['get'], 'query' | 'header'> & DataOrError<typeof calls.listApps>
  createApp: { body: Body<paths['/apps']['post']> } & DataOrError<typeof calls.createApp>
  getApp: Part<paths['/apps/{id}']['get'], 'path' | 'header'> & DataOrError<typeof calls.getApp>
  updateApp: Part<paths['/apps/{id}']['put'], 'path' | 'header'> & {
    body: Body<paths['/apps/{id}']['put']>
  } & DataOrError<typeof calls.updateApp>
  deleteApp: Part<paths['/apps/{id}']['delete'], 'path' | 'header'> & DataOrError<typeof calls.deleteApp>
}
export const losses: Record<Losses<Given, TwoWay>, string> = {}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
// @ts-expect-error there is no such order
client.GET('/apps', { params: { query: { sort: 'newest' } } })
// @ts-expect-error the id is missing
client.GET('/apps/{id}')
// @ts-expect-error the description is missing
client.POST('/apps', { body: { name: app.name, category_id: 1 } })
// @ts-expect-error there is no such field
client.POST('/apps', { body: { ...app, colour: 'red' } satisfies Body<paths['/apps']['post']> })
// Without satisfies it compiles: https://github.com/openapi-ts/openapi-typescript/issues/1769
client.POST('/apps', { body: { ...app, colour: 'red' } })
