import { expect } from 'vitest'
import { listApps } from '../../src/apps/catalogue.ts'
import { type Database, openDatabase } from '../../src/db/open.ts'

/** Holds what is kept beside the apps against them: each category's counter, and which apps search knows. */
export async function expectConsistent(database: Database) {
  const { kept, counted, listed, indexed } = await database.snapshot(async ({ sql }) => {
    const shown = () => sql('apps').where({ status: 'approved' }).whereNull('deleted_at')
    const counts: { id: number; count: number }[] = await shown()
      .groupBy('category_id')
      .select('category_id as id')
      .count({ count: '*' })
    return {
      kept: await sql('categories').orderBy('id').select('id', 'listed_apps'),
      counted: new Map(counts.map(({ id, count }) => [id, count])),
      listed: await shown().orderBy('id').pluck('id'),
      indexed: await sql('app_search').orderBy('rowid').pluck('rowid'),
    }
  })
  expect(kept).toEqual(kept.map(({ id }) => ({ id, listed_apps: counted.get(id) ?? 0 })))
  expect(indexed).toEqual(listed)
}

/** The same of a file that others have open too. */
export async function expectConsistentFile(filename: string) {
  const database = openDatabase(`sqlite:${filename}`)
  await expectConsistent(database).finally(() => database.close())
}

/** Names of what a search finds, in the order of their names. */
export const found = async (database: Database, search: string): Promise<string[]> =>
  (await listApps(database, { page: 1, limit: 100, search })).apps.map(({ name }) => name).toSorted()
