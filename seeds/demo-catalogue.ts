import { readFile } from 'node:fs/promises'
import { findOrAddDeveloper } from '../src/accounts/account-store.ts'
import { insertApp } from '../src/catalogue/app-store.ts'
import { addCategory } from '../src/catalogue/category-store.ts'
import { storedKeywords } from '../src/catalogue/keywords.ts'
import { ratingColumns, ratingsOf } from '../src/catalogue/ratings.ts'
import { insertReviews } from '../src/catalogue/reviews.ts'
import type { QueryRunner } from '../src/db/engine.ts'
import type { AppStatus } from '../src/db/rows.ts'

type DemoApp = {
  name: string
  short_description?: string
  description: string
  version: string
  package_name?: string
  website_url?: string
  source_code_url?: string
  license?: string
  keywords?: string[]
  category: string
  developer_name: string
  status: AppStatus
  rejection_reason?: string
  total_downloads: number
  created_at: string
  approved_at?: string
  reviews: { reviewer_name: string; rating: number; comment: string; created_at: string }[]
}
type DemoCatalogue = { categories: { slug: string; name: string }[]; apps: DemoApp[] }

const seeder = { operator: 'seed' }

/** Puts the demo catalogue into an empty database: all of it, or nothing. The same every time. */
export async function addDemoCatalogue(runner: QueryRunner) {
  const catalogue: DemoCatalogue = JSON.parse(
    await readFile(`${import.meta.dirname}/demo-catalogue.json`, 'utf8'),
  )
  const categories = new Map<string, number>()
  for (const { slug, name } of catalogue.categories) {
    categories.set(slug, (await addCategory(runner, slug, name, seeder)).id)
  }
  for (const app of catalogue.apps) await insert(app)

  async function insert({ category, developer_name, reviews, ...app }: DemoApp) {
    const developer = await findOrAddDeveloper(runner, developer_name)
    const category_id = categories.get(category)
    if (category_id === undefined) throw new Error(`the demo catalogue has no category ${category}`)
    const row = {
      ...app,
      developer_id: developer.id,
      category_id,
      short_description: app.short_description ?? null,
      package_name: app.package_name ?? null,
      website_url: app.website_url ?? null,
      source_code_url: app.source_code_url ?? null,
      license: app.license ?? null,
      keywords: storedKeywords(app.keywords ?? []),
      rejection_reason: app.rejection_reason ?? null,
      approved_at: app.approved_at ?? null,
      updated_at: app.approved_at ?? app.created_at,
    }
    const ratings = { review_count: reviews.length, ...ratingColumns(ratingsOf(reviews)) }
    const inserted = await insertApp(runner, { ...row, ...ratings }, seeder)
    await insertReviews(
      runner,
      reviews.map((review) => ({ ...review, app: inserted })),
    )
  }
}
