import { describe, expect, test } from 'vitest'
import { batchSelect } from '../../src/db/batch-select.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import type { CheckedResponse } from '../support/check.ts'
import { copyWorld } from '../support/database.ts'
import { startService } from '../support/service.ts'

/** The slugs of categories, and how many statements it took. */
async function slugsOf(
  database: Database,
  asked: (number | string)[],
  statement = 'select slug from categories where id = ?',
) {
  return database.read(async (connection) => {
    const statements: string[] = []
    const select = batchSelect((text, values) => {
      statements.push(text)
      return connection.select(text, values)
    })
    const found = await Promise.allSettled(asked.map((value) => select<{ slug: string }>(statement, [value])))
    const rows = found.map((one) => (one.status === 'fulfilled' ? one.value.map(({ slug }) => slug) : 'refused'))
    return { rows, statements: statements.length }
  })
}

describe('what is asked for in one turn', () => {
  test('goes together, up to eight, and each has what it asked for', async () => {
    const database = openDatabase(await copyWorld())
    const all = await database.read(({ sql }) => sql('categories').select('id', 'slug').orderBy('id'))
    const slugOf = new Map(all.map(({ id, slug }) => [id, slug]))
    const ids = Array.from({ length: 19 }, (_, index) => index % 7)

    const { rows, statements } = await slugsOf(database, ids)

    expect(rows).toEqual(ids.map((id) => (slugOf.has(id) ? [slugOf.get(id)] : [])))
    expect(statements).toBe(3)
    await database.close()
  })

  test('finds nothing for a text that a database cannot have, and the rest for the others', async () => {
    const database = openDatabase(await copyWorld())
    const { rows, statements } = await slugsOf(
      database,
      ['games', 'ga\0mes', 'tools'],
      'select slug from categories where slug = ?',
    )
    expect(rows).toEqual([['games'], [], ['tools']])
    expect(statements).toBe(1)
    await database.close()
  })

  test('fails for all of them alike, and the next is asked for anew', async () => {
    const database = openDatabase(await copyWorld())
    const wrong = await slugsOf(database, [1, 2, 3], 'select slug from nowhere where id = ?')
    expect(wrong).toEqual({ rows: ['refused', 'refused', 'refused'], statements: 1 })
    expect(await slugsOf(database, ['games'], 'select slug from categories where slug = ?')).toEqual({
      rows: [['games']],
      statements: 1,
    })
    await database.close()
  })
})

test('requests that come together are answered as each is alone', async () => {
  const { get, world } = await startService({ cacheSize: 0 })
  const { approved, pending, rejected, deleted } = world.apps
  const pages = ['page=2&limit=1', 'limit=3', 'sort=rating', 'sort=rating&category=games']
  const categories = ['games', 'none', '%00', 'tools'].flatMap((slug) => [
    `category=${slug}`,
    `sort=popular&category=${slug}`,
  ])
  const targets = [
    ...[approved, pending, rejected, deleted, 0, 999_999, approved].map((id) => `/apps/${id}`),
    ...['', ...pages, ...categories].map((query) => `/apps?${query}`),
  ]
  const alone: CheckedResponse[] = []
  for (const target of targets) alone.push(await get(target))

  const together = await Promise.all(targets.map((target) => get(target)))

  const told = ({ status, body }: { status: number; body: unknown }) => ({ status, body })
  expect(together.map(told)).toEqual(alone.map(told))
})
