import { deepStrictEqual } from 'node:assert'
import { accountStore } from '../../src/accounts/store.ts'
import { categoryStore } from '../../src/apps/categories.ts'
import { ratingColumns } from '../../src/apps/ratings.ts'
import type { Connection } from '../../src/db/dialect.ts'
import type { Database } from '../../src/db/open.ts'
import type { AppRow } from '../../src/db/tables.ts'
import { searchDocument } from '../../src/search/document.ts'

/** A synthetic catalogue of listed apps: for each size the same every time. */

/** Words of a known share. No made word begins with one, so that no search for one finds more. */
export const words = { common: 'simple', rare: 'zymurgy', japanese: '天気' }
const commonShare = 0.6
const rareEvery = 5000
const japaneseShare = 0.03
const japaneseWords = [words.japanese, '時計', '写真', '音楽', '地図', '辞書', '料理', '旅行', '日記', '手帳', '翻訳']

const vocabularySize = 20_000
const developers = Array.from({ length: 1000 }, (_, index) => `Developer ${index + 1}`)
const year = 365 * 24 * 60 * 60 * 1000
const newest = Date.parse('2026-01-01T00:00:00.000Z')

/** Slugs, the largest category first. */
export const categories = Array.from({ length: 20 }, (_, index) => `category-${index + 1}`)

/** Made words, the most frequent first. */
export const vocabulary = makeVocabulary()

/** How many apps go into one insert: SQLite takes 32,766 values in a statement. */
const batchSize = 500

/**
 * Fills a fresh database. Not through `appStore().insert`, which takes minutes for 200,000 apps: the rows go in by
 * batches, and what the store keeps beside them, but for the audit, which no list reads, is kept here and then checked.
 */
export async function fill(database: Database, size: number) {
  await database.write(async (connection) => {
    const developerIds = await addDevelopers(connection)
    const categoryIds = await addCategories(connection)
    const makeApp = appMaker(size, developerIds, categoryIds)
    for (let first = 1; first <= size; first += batchSize) {
      const length = Math.min(batchSize, size - first + 1)
      await addApps(
        connection,
        Array.from({ length }, (_, index) => makeApp(first + index)),
      )
    }
    await check(connection, size)
  })
}

async function addDevelopers(connection: Connection): Promise<number[]> {
  const ids: number[] = []
  for (const name of developers) ids.push((await accountStore(connection).findOrAddDeveloper(name)).id)
  return ids
}

async function addCategories(connection: Connection): Promise<number[]> {
  const ids: number[] = []
  for (const slug of categories) ids.push((await categoryStore(connection).add(slug, slug, { operator: 'bench' })).id)
  return ids
}

/** The rows, and what `follow` in apps/store.ts does for each. */
async function addApps({ sql, search }: Connection, apps: AppRow[]) {
  await sql('apps').insert(apps)
  await search.put(
    apps.map((app) => ({
      id: app.id,
      categoryId: app.category_id,
      ...searchDocument(app, developers[app.developer_id - 1] ?? ''),
    })),
  )
  for (const [id, added] of Map.groupBy(apps, (app) => app.category_id)) {
    await sql('categories').where({ id }).increment('listed_apps', added.length)
  }
}

async function check({ sql }: Connection, size: number) {
  const isListed = `status = 'approved' and deleted_at is null`
  const [counts] = await sql.raw(
    `select (select count(*) from apps where ${isListed}) as listed, (select count(*) from app_search) as indexed`,
  )
  deepStrictEqual(counts, { listed: size, indexed: size })
  const wrong = await sql('categories')
    .whereRaw(`listed_apps <> (select count(*) from apps where category_id = categories.id and ${isListed})`)
    .select()
  deepStrictEqual(wrong, [])
}

function appMaker(seed: number, developerIds: number[], categoryIds: number[]) {
  const { next, pick, pickZipf } = randomFrom(seed)

  return (id: number): AppRow => {
    const approved_at = new Date(newest - Math.floor(next() * 5 * year)).toISOString()
    const count = Math.floor(skewed(20_000)) - 1
    const sum = Math.round((5 - 4 * next() ** 2) * 100) * count
    const package_name = `org.example.app${id}`
    return {
      id,
      developer_id: pickZipf(developerIds),
      category_id: pickZipf(categoryIds),
      status: 'approved',
      deleted_at: null,
      approved_at,
      unreviewed_since: null,
      unreviewed_changes: null,
      created_at: approved_at,
      updated_at: approved_at,
      changed_at: approved_at,
      total_downloads: Math.floor(skewed(100_000_000)),
      review_count: 0,
      other_rating_sum: sum,
      other_rating_count: count,
      ...ratingColumns({ sum, count }),
      slug: `app-${id}`,
      package_name,
      package_key: package_name,
      version: '1.0.0',
      name: makeName(),
      short_description: sentence(6),
      rejection_reason: null,
      description: makeDescription(id),
    }
  }

  /** From 1 to the maximum, each order of magnitude as often as the next. */
  function skewed(maximum: number) {
    return maximum ** next()
  }

  function makeName() {
    if (next() < japaneseShare) return pick(japaneseWords) + pick(japaneseWords)
    const length = next() < 0.5 ? 2 : 3
    return Array.from({ length }, () => capitalized(pick(vocabulary))).join(' ')
  }

  function makeDescription(id: number) {
    const common = next() < commonShare ? [words.common] : []
    const rare = id % rareEvery === 1 ? [words.rare] : []
    return [sentence(60), ...common, ...rare].join(' ')
  }

  function sentence(length: number) {
    return Array.from({ length }, () => pickZipf(vocabulary)).join(' ')
  }
}

function makeVocabulary(): string[] {
  const { next, pick } = randomFrom(0)
  const made = new Set<string>()
  while (made.size < vocabularySize) {
    const length = 2 + Math.floor(next() * 3)
    made.add(Array.from({ length }, () => pick([...'bdfghjklmnprstvw']) + pick([...'aeiou'])).join(''))
  }
  return [...made]
}

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** Random numbers that are the same for the same seed (mulberry32). */
function randomFrom(seed: number) {
  let state = seed

  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  function at<T>(list: readonly T[], index: number): T {
    const item = list[index]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }

  return {
    next,
    pick: <T>(list: readonly T[]) => at(list, Math.floor(next() * list.length)),
    /** The nth about n times less often than the first, as Zipf has it. */
    pickZipf: <T>(list: readonly T[]) => at(list, Math.floor((list.length + 1) ** next()) - 1),
  }
}
