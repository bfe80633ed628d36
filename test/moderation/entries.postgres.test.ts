import { expect, inject, test } from 'vitest'
import { issueKey, renameDeveloper, revokeKey } from '../../src/accounts/account-store.ts'
import { addModerator } from '../../src/accounts/moderator-store.ts'
import { removeCategory } from '../../src/catalogue/category-store.ts'
import { removeReview } from '../../src/catalogue/reviews.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { decideApp, transferApp } from '../../src/moderation/decisions.ts'
import { findEntriesAfter } from '../../src/moderation/entries.ts'
import { openWorld } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'

/** On SQLite there is one writer at a time, so ids are committed in order. */

const { apps, keys } = inject('world')
const actor = { operator: 'test' }

test.for<[action: string, write: (runner: QueryRunner) => Promise<unknown>]>([
  ['app approve', (runner) => decideApp(runner, 'approve', apps.pending, actor)],
  ['app transfer', (runner) => transferApp(runner, 1, 'Bob', actor)],
  ['key issue', (runner) => issueKey(runner, { id: 1, name: 'Ada' }, actor)],
  ['key revoke', (runner) => revokeKey(runner, keys.bob.slice(5, 17), actor)],
  ['moderator add', (runner) => addModerator(runner, 'Eve', actor)],
  ['developer rename', (runner) => renameDeveloper(runner, 'Bob', 'Rob', actor)],
  ['category remove', (runner) => removeCategory(runner, 'empty', actor)],
  ['review remove', (runner) => removeReview(runner, 1, 'Spam.', actor)],
])(
  'the entry of a running %s is waited for if another with a greater id is there',
  async ([action, write]) => {
    const database = await openWorld()
    const last = await database.read(({ sql }) => sql('audit').max({ id: 'id' }).first())
    const release = await holdWrite(database, write)
    await database.write((runner) => addModerator(runner, 'Fay', actor))
    const found = findEntriesAfter(database, Number(last?.id), 50)
    let polls = 0
    const polled = Promise.withResolvers<void>()
    database.onStatement((statement) => {
      if (statement.includes('pg_locks') && ++polls === 3) polled.resolve()
    })
    await Promise.race([found, polled.promise])
    await release()
    const { entries } = await found
    expect(entries.map((entry) => entry.action)).toEqual([action, 'moderator add'])
    expect(polls).toBeGreaterThanOrEqual(3)
  },
)

test('an entry after a running write that began after the call is left to the next call', async () => {
  const database = await openWorld()
  const add = (name: string) => (runner: QueryRunner) => addModerator(runner, name, actor)
  const write = (name: string) => database.write(add(name))
  const last = await database.read(({ sql }) => sql('audit').max({ id: 'id' }).first())
  await write('Eve')
  let release = async () => {}
  const racing: DatabaseWithTools = {
    ...database,
    async waitForSmallerIds() {
      const isCommitted = await database.waitForSmallerIds()
      // Gets an id, and is committed after the next one.
      release = await holdWrite(database, add('Fay'))
      await write('Gus')
      return isCommitted
    },
  }
  const namesAfter = async (of: DatabaseWithTools, id: number) =>
    (await findEntriesAfter(of, id, 50)).entries.map((entry) => entry.after.name)
  const seen = Number(last?.id)
  expect(await namesAfter(racing, seen)).toEqual(['Eve'])
  await release()
  expect(await namesAfter(database, seen + 1)).toEqual(['Fay', 'Gus'])
})
