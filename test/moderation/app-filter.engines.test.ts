import { expect, inject, test } from 'vitest'
import { queues, states } from '../../src/catalogue/app-states.ts'
import type { Database } from '../../src/db/database.ts'
import { type AppFilter, findPage } from '../../src/moderation/app-filter.ts'
import { openWorld } from '../support/database.ts'
import { share } from '../support/lifetime.ts'

const { approved, pending, rejected, deleted, bobs, bobsPending } = inject('world').apps
const sets = {
  ...states,
  'queue of pending ones': queues.pending,
  'queue of changes': queues.changed,
}

let database: Database
share(async () => {
  database = await openWorld()
  await database.write(({ sql }) =>
    // A rejected app with changes, which waits for nothing, and two approved ones.
    sql('apps')
      .whereIn('id', [approved, bobs, rejected])
      .update({ unreviewed_since: '2026-01-01T00:00:00.000Z', unreviewed_changes: '{}' }),
  )
})

test.for<{ set: keyof typeof sets; filter: AppFilter; ids: number[] }>([
  { set: 'any', filter: {}, ids: [bobsPending, bobs, deleted, rejected, pending, approved] },
  { set: 'pending', filter: {}, ids: [bobsPending, pending] },
  { set: 'approved', filter: {}, ids: [bobs, approved] },
  { set: 'rejected', filter: {}, ids: [rejected] },
  { set: 'deleted', filter: {}, ids: [deleted] },
  { set: 'queue of pending ones', filter: {}, ids: [pending, bobsPending] },
  { set: 'queue of changes', filter: {}, ids: [approved, bobs] },
  { set: 'any', filter: { developer: 'Bob' }, ids: [bobsPending, bobs] },
  { set: 'any', filter: { developer: ' Bob ' }, ids: [bobsPending, bobs] },
  { set: 'any', filter: { category: 'games' }, ids: [bobs] },
  { set: 'any', filter: { category: 'empty' }, ids: [] },
  { set: 'any', filter: { developer: 'Ada', category: 'games' }, ids: [] },
  { set: 'rejected', filter: { developer: 'Ada', category: 'tools' }, ids: [rejected] },
  { set: 'approved', filter: { category: 'games' }, ids: [bobs] },
  { set: 'queue of pending ones', filter: { developer: 'Ada' }, ids: [pending] },
  { set: 'queue of pending ones', filter: { category: 'tools' }, ids: [pending, bobsPending] },
  { set: 'queue of pending ones', filter: { developer: 'Bob', category: 'games' }, ids: [] },
  { set: 'queue of changes', filter: { developer: 'Bob' }, ids: [bobs] },
  { set: 'queue of changes', filter: { category: 'tools' }, ids: [approved] },
])('$set, filtered by $filter, on pages of any size', async ({ set, filter, ids }) => {
  for (const size of [1, 2, 100]) {
    const found: number[] = []
    do {
      const page = await database.read((runner) =>
        findPage(runner, sets[set], filter, size, found.length),
      )
      expect(page.total).toBe(ids.length)
      expect(page.ids).toHaveLength(Math.min(size, ids.length - found.length))
      found.push(...page.ids)
    } while (found.length < ids.length)
    expect(found).toEqual(ids)
  }
})

test.for<AppFilter>([{ developer: 'Eve' }, { developer: '' }, { category: 'none' }])(
  'a filter by what does not exist, %j, is refused',
  async (filter) => {
    const page = database.read((runner) => findPage(runner, states.any, filter, 10, 0))
    await expect(page).rejects.toMatchObject({ name: 'OperatorError' })
  },
)
