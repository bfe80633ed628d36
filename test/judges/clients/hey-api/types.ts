import type { OperationId, TwoWay } from '../contract.ts'
import type { AllLosses, DataOrError, DropNever } from '../losses.ts'
import * as api from './apps-api/index.js'
import type { Lookups } from './apps-api.lookups.ts'

/** Compiled, never run. */
type Generated = {
  [Id in OperationId]: DropNever<Places<Lookups[Id]['data']>> & {
    answers: Lookups[Id]['answers']
  } & DataOrError<Awaited<ReturnType<Lookups[Id]['call']>>>
}
type Places<Data> = {
  [Key in keyof Data as Key extends 'headers' ? 'header' : Exclude<Key, 'url'>]: Data[Key]
}

export const losses: Record<AllLosses<Generated, TwoWay>, string> = {
  'answers.304': 'A 304, which has no body, is not among the answers.',
}

const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
api.listApps({ query: { sort: 'popular' } })
// @ts-expect-error no such order
api.listApps({ query: { sort: 'newest' } })
// @ts-expect-error no such parameter
api.listApps({ query: { page: 1, colour: 'red' } })
// @ts-expect-error the id is missing
api.getApp({})
api.updateApp({ path: { id: 1 }, body: {}, headers: { 'If-Match': '"x"' } })
// @ts-expect-error an ETag is text
api.updateApp({ path: { id: 1 }, body: {}, headers: { 'If-Match': 1 } })
// @ts-expect-error the description is missing
api.createApp({ body: { name: app.name, category_id: 1 } })
// @ts-expect-error no such field
api.createApp({ body: { ...app, colour: 'red' } })
