import { expect } from 'vitest'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import { addRatings, ratingColumns, ratingsOf } from '../../src/catalogue/ratings.ts'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { AppRow } from '../../src/db/rows.ts'
import {
  idLimit,
  toIndexedDeveloper,
  toIndexedName,
  toSearchDocument,
} from '../../src/search/terms.ts'

/**
 * Compares derived data with the apps: each category's counter, each app's number and mean of
 * reviews, the words of the names, and the search index.
 */
export async function expectConsistent(database: Database) {
  const { categories, counted, apps, reviews } = await database.snapshot(async ({ sql }) => {
    const counts: { id: number; count: number }[] = await sql('apps')
      .where({ status: 'approved' })
      .whereNull('deleted_at')
      .groupBy('category_id')
      .select('category_id as id')
      .count({ count: '*' })
    return {
      categories: await sql('categories').orderBy('id').select('id', 'listed_apps'),
      counted: new Map(counts.map(({ id, count }) => [id, Number(count)])),
      apps: await sql('apps'),
      reviews: Map.groupBy(await sql('reviews').select('app_id', 'rating'), ({ app_id }) => app_id),
    }
  })
  expect(categories).toEqual(
    categories.map(({ id }) => ({ id, listed_apps: counted.get(id) ?? 0 })),
  )
  for (const app of apps) {
    const appReviews = reviews.get(app.id) ?? []
    const others = { sum: app.other_rating_sum, count: app.other_rating_count }
    const ratings = ratingColumns(addRatings(ratingsOf(appReviews), others))
    expect(app).toMatchObject({ review_count: appReviews.length, ...ratings })
  }

  const { indexed, expected, names, expectedNames } = await indexedAndExpected(database)
  const stored = new Set(names.map(({ id }) => id))
  // Some tests add developers without their store.
  expect(names).toEqual(expectedNames.filter(({ id }) => id < idLimit || stored.has(id)))
  const ids = [...new Set([...indexed.keys(), ...expected.keys()])]
  const wrong = ids.filter((id) => expected.get(id) !== indexed.get(id))
  const firstWrong = (index: Map<number, string>) =>
    Object.fromEntries(wrong.slice(0, 10).map((id) => [id, index.get(id)]))
  expect(firstWrong(indexed), `apps with a wrong index entry: ${wrong.length}`).toEqual(
    firstWrong(expected),
  )
}

const rollback = new Error('rolls the transaction back')

/**
 * The index entries of each app, as stored and as they should be: removes all, indexes the apps
 * again, and rolls that back.
 */
async function indexedAndExpected(database: Database) {
  let indexed = new Map<number, string>()
  let expected = new Map<number, string>()
  let names: Indexed[] = []
  let expectedNames: Indexed[] = []
  const indexing = database.write(async (runner) => {
    const { sql, search } = runner
    const listed = await sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .where({ status: 'approved' })
      .whereNull('deleted_at')
      .select<(AppRow & { developer_name: string })[]>(
        'apps.*',
        'developers.name as developer_name',
      )
    indexed = await indexedTokens(runner)
    await search.remove([...indexed.keys()])
    await search.index(
      listed.map((app) => ({
        id: app.id,
        slug: app.slug,
        categoryId: app.category_id,
        ...toSearchDocument(app, app.developer_name),
      })),
    )
    expected = await indexedTokens(runner)
    names = await indexedNames(runner)
    await sql('app_names').delete()
    await runner.names.index(
      (await sql('apps').select('id', 'name', 'package_name')).map(toIndexedName),
    )
    await runner.names.index((await sql('developers').select('id', 'name')).map(toIndexedDeveloper))
    expectedNames = await indexedNames(runner)
    throw rollback
  })
  await indexing.catch((error: unknown) => {
    if (error !== rollback) throw error
  })
  return { indexed, expected, names, expectedNames }
}

/** The index entries of each app. */
async function indexedTokens(runner: QueryRunner): Promise<Map<number, string>> {
  const rows = await (isSqlite(runner) ? sqliteTokens(runner) : postgresTokens(runner))
  return new Map(rows.map(({ id, tokens }) => [id, tokens]))
}

const isSqlite = ({ sql }: QueryRunner) => sql.client.driverName === 'sqlite3'

type Indexed = { id: number; tokens: string }

/**
 * With the rank, and the position of each token
 * (https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module).
 */
async function sqliteTokens({ sql }: QueryRunner): Promise<Indexed[]> {
  await sql.raw(
    "create virtual table temp.indexed_tokens using fts5vocab('main', 'app_search', 'instance')",
  )
  const rows: Indexed[] = await sql.raw(
    `select apps.app_id as id,
       doc || ' ' || apps.rank || ' ' || apps.name_words || ' ' || group_concat(offset || ' ' || term, ', ' order by offset) as tokens
     from temp.indexed_tokens left join app_search_apps as apps on apps.app_id = doc % ${idLimit} group by doc`,
  )
  await sql.raw('drop table temp.indexed_tokens')
  return rows
}

/** The tokens of each app in the index of names. */
async function indexedNames(runner: QueryRunner): Promise<Indexed[]> {
  const { sql, rows } = runner
  if (!isSqlite(runner)) return rows('select id, tokens::text from app_names order by 1', [])
  await sql.raw(
    "create virtual table temp.name_tokens using fts5vocab('main', 'app_names', 'instance')",
  )
  const found: Indexed[] = await sql.raw(
    "select doc as id, group_concat(term, ' ' order by term) as tokens from temp.name_tokens group by doc order by doc",
  )
  await sql.raw('drop table temp.name_tokens')
  return found
}

const postgresTokens = ({ rows }: QueryRunner): Promise<Indexed[]> =>
  rows(
    "select app_id as id, concat_ws('|', rank, name_words, tokens, sequence) as tokens from app_search",
    [],
  )

/** The engine's own integrity check. PostgreSQL has none. */
export async function expectSound(database: Database) {
  await database.read(async (runner) => {
    if (!isSqlite(runner)) return
    const { sql } = runner
    expect(await sql.raw('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
    expect(await sql.raw('PRAGMA foreign_key_check')).toEqual([])
  })
}

/** Calls `expectConsistent` on a new connection. */
export async function expectConsistentAt(address: string) {
  const database = openDatabase(address)
  await expectConsistent(database).finally(() => database.close())
}

/** The names of the apps that a search finds, sorted. */
export const findNames = async (database: Database, search: string): Promise<string[]> =>
  (await findAppPage(database, { page: 1, limit: 100, search })).apps
    .map(({ name }) => name)
    .toSorted()
