import { deepStrictEqual } from 'node:assert'
import { setImmediate } from 'node:timers/promises'
import { findOrAddDeveloper } from '../../../src/accounts/account-store.ts'
import { addCategory } from '../../../src/catalogue/category-store.ts'
import { addRatings, ratingColumns, ratingsOf } from '../../../src/catalogue/ratings.ts'
import type { QueryRunner } from '../../../src/db/engine.ts'
import { type AppRow, appDefaults, type ReviewRow } from '../../../src/db/rows.ts'
import type { DatabaseWithTools } from '../../../src/db/tools.ts'
import { type SearchDocument, toSearchDocument } from '../../../src/search/terms.ts'
import { randomFrom } from '../../support/random.ts'

/**
 * A synthetic catalogue of listed apps with reviews. The same size always gives the same catalogue.
 */

/** Words that a known share of the apps has. No word of the vocabulary begins with one of them. */
export const words = { common: 'simple', rare: 'zymurgy', japanese: '天気' }
const commonShare = 0.6
const rareEvery = 5000
const japaneseShare = 0.03
const japaneseWords = [
  words.japanese,
  '時計',
  '写真',
  '音楽',
  '地図',
  '辞書',
  '料理',
  '旅行',
  '日記',
  '手帳',
  '翻訳',
]

const vocabularySize = 20_000
const developers = Array.from({ length: 1000 }, (_, index) => `Developer ${index + 1}`)
const day = 24 * 60 * 60 * 1000
const year = 365 * day
const newest = Date.parse('2026-01-01T00:00:00.000Z')

/** Slugs, the largest category first. */
export const categories = Array.from({ length: 20 }, (_, index) => `category-${index + 1}`)

/** Made-up words, the most frequent first. */
export const vocabulary = makeVocabulary()

/** Apps per insert. */
const batchSize = 500
/**
 * Apps per transaction. One transaction for everything would fill SQLite's log with the whole
 * catalogue.
 */
const transactionSize = 20_000

type App = { app: AppRow; reviews: Review[]; document: SearchDocument }
type Review = Omit<ReviewRow, 'id'>

/**
 * Fills an empty database. `insertApp` would take minutes for 200,000 apps, so this inserts
 * batches and creates the indexes at the end. It updates the search index and counters itself and
 * checks them, and writes no audit log.
 */
export async function fill(database: DatabaseWithTools, size: number) {
  const [developerIds, categoryIds] = await database.write(async (runner) => [
    await addDevelopers(runner),
    await addCategories(runner),
  ])
  const makeApp = appMaker(size, developerIds, categoryIds)
  const indexes = await database.write(dropIndexes)
  for (let first = 1; first <= size; first += transactionSize) {
    const last = Math.min(first + transactionSize - 1, size)
    await database.write((runner) => addRange(runner, makeApp, first, last))
  }
  for (const index of indexes) await database.write(({ sql }) => sql.raw(index))
  await database.write((runner) => assertComplete(runner, size))
  await database.optimize({ isLast: true })
}

/** Drops the indexes of the large tables. Returns the statements that create them again. */
async function dropIndexes({ sql }: QueryRunner): Promise<string[]> {
  const indexes: { name: string; sql: string }[] = await sql('sqlite_master')
    .where({ type: 'index' })
    .whereIn('tbl_name', ['apps', 'reviews'])
    .whereNotNull('sql')
    .select('name', 'sql')
  for (const { name } of indexes) await sql.raw('drop index ??', [name])
  return indexes.map((index) => index.sql)
}

/** Makes the next batch of apps while the previous one is being written. */
async function addRange(
  runner: QueryRunner,
  makeApp: (id: number) => App,
  first: number,
  last: number,
) {
  let written = Promise.resolve()
  let batch: App[] = []
  for (let id = first; id <= last; id++) {
    batch.push(makeApp(id))
    // Without this, the pending statement would wait until the whole batch is made.
    if (id % 16 === 0) await setImmediate()
    if (batch.length < batchSize && id < last) continue
    await written
    written = addApps(runner, batch)
    batch = []
  }
  await written
}

async function addDevelopers(runner: QueryRunner): Promise<number[]> {
  const ids: number[] = []
  for (const name of developers) ids.push((await findOrAddDeveloper(runner, name)).id)
  return ids
}

async function addCategories(runner: QueryRunner): Promise<number[]> {
  const ids: number[] = []
  for (const slug of categories)
    ids.push((await addCategory(runner, slug, slug, { operator: 'bench' })).id)
  return ids
}

/**
 * Inserts the rows, and updates the search index and counters as `applySideEffects` in
 * catalogue/app-side-effects.ts does.
 */
async function addApps(runner: QueryRunner, made: App[]) {
  const { sql, search } = runner
  const apps = made.map(({ app }) => app)
  await runner.insertRows('apps', apps)
  await runner.insertRows(
    'reviews',
    made.flatMap(({ reviews }) => reviews),
  )
  await search.index(
    made.map(({ app, document }) => ({
      id: app.id,
      slug: app.slug,
      categoryId: app.category_id,
      ...document,
    })),
  )
  for (const [id, added] of Map.groupBy(apps, (app) => app.category_id)) {
    await sql('categories').where({ id }).increment('listed_apps', added.length)
  }
}

async function assertComplete({ sql }: QueryRunner, size: number) {
  const isListed = `status = 'approved' and deleted_at is null`
  const [counts] = await sql.raw(
    `select (select count(*) from apps where ${isListed}) as listed, (select count(*) from app_search) as indexed`,
  )
  deepStrictEqual(counts, { listed: size, indexed: size })
  const wrong = await sql('categories')
    .whereRaw(
      `listed_apps <> (select count(*) from apps where category_id = categories.id and ${isListed})`,
    )
    .select()
  deepStrictEqual(wrong, [])
}

function appMaker(seed: number, developerIds: number[], categoryIds: number[]) {
  const { next, pick, pickZipf } = randomFrom(seed)

  return (id: number): App => {
    const approved_at = new Date(newest - Math.floor(next() * 5 * year)).toISOString()
    const count = Math.floor(skewed(20_000)) - 1
    const others = { sum: Math.round((5 - 4 * next() ** 2) * 100) * count, count }
    const reviews = Array.from({ length: Math.floor(next() * 7) }, (_, index) =>
      makeReview(id, approved_at, index),
    )
    const package_name = `org.example.app${id}`
    const app: AppRow = {
      ...appDefaults,
      id,
      developer_id: pickZipf(developerIds),
      category_id: pickZipf(categoryIds),
      status: 'approved',
      approved_at,
      created_at: approved_at,
      updated_at: approved_at,
      changed_at: approved_at,
      total_downloads: Math.floor(skewed(100_000_000)),
      review_count: reviews.length,
      other_rating_sum: others.sum,
      other_rating_count: others.count,
      ...ratingColumns(addRatings(ratingsOf(reviews), others)),
      slug: `app-${id}`,
      package_name,
      package_key: package_name,
      version: '1.0.0',
      name: makeName(),
      short_description: sentence(6),
      description: makeDescription(id),
      revision: 'first',
    }
    return { app, reviews, document: toSearchDocument(app, developers[app.developer_id - 1] ?? '') }
  }

  function makeReview(app_id: number, approved_at: string, index: number): Review {
    return {
      app_id,
      rating: 1 + Math.floor(next() * 5),
      created_at: new Date(Date.parse(approved_at) + (index + 1) * day).toISOString(),
      reviewer_name: `Reviewer ${1 + Math.floor(next() * 10_000)}`,
      comment: sentence(10),
    }
  }

  /** A number from 1 to the maximum; each order of magnitude is equally likely. */
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
    made.add(
      Array.from({ length }, () => pick([...'bdfghjklmnprstvw']) + pick([...'aeiou'])).join(''),
    )
  }
  return [...made]
}

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
