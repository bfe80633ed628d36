import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import { type AppPage, findAppPage } from '../../src/catalogue/app-list.ts'
import { changeApps, type NewAppRow } from '../../src/catalogue/app-store.ts'
import { addCategory } from '../../src/catalogue/category-store.ts'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { required } from '../../src/util/helpers.ts'
import { openEmptyCatalogue } from './database.ts'

/** An approved app of Ada's in the category "empty", unless it says otherwise. */
export type ListedApp = Partial<NewAppRow> & { name: string; developer?: string; category?: string }

const actor = { operator: 'test' }

export const addListed = (database: Database, apps: ListedApp[]): Promise<void> =>
  database.write((runner) => insertListed(runner, apps))

/** Adds apps that are approved one second after each other. */
export async function insertListed(runner: QueryRunner, apps: ListedApp[]): Promise<void> {
  const developers = new Map<string, number>()
  const categories = new Map(
    (await runner.sql('categories')).map(({ slug, id }) => [slug, id] as const),
  )
  for (const { developer = 'Ada', category = 'empty' } of apps) {
    developers.set(developer, (await findOrAddDeveloper(runner, developer)).id)
    if (!categories.has(category))
      categories.set(category, (await addCategory(runner, category, category, actor)).id)
  }

  const inserts = apps.map(({ developer = 'Ada', category = 'empty', ...app }, index) => {
    const at = new Date(Date.UTC(2030, 0, 1, 0, 0, index)).toISOString()
    const row: NewAppRow = {
      developer_id: required(developers.get(developer), 'the developer'),
      category_id: required(categories.get(category), 'the category'),
      status: 'approved',
      approved_at: at,
      created_at: at,
      updated_at: at,
      total_downloads: 0,
      package_name: null,
      version: '1.0.0',
      short_description: null,
      rejection_reason: null,
      description: 'Text.',
      ...app,
    }
    return { app: row, at }
  })
  await changeApps(runner, 'app create', { inserts }, actor)
}

/** A new catalogue of these apps alone. */
export async function openListed(apps: ListedApp[]): Promise<Database> {
  const database = await openEmptyCatalogue()
  await addListed(database, apps)
  return database
}

/** As many apps, named after their numbers. */
export const numbered = (count: number, name: string, more: Partial<ListedApp> = {}): ListedApp[] =>
  Array.from({ length: count }, (_, index) => ({ ...more, name: `${name} ${index}` }))

type Query = Parameters<typeof findAppPage>[1]

export const findPage = (database: Database, query: Partial<Query>): Promise<AppPage> =>
  findAppPage(database, { page: 1, limit: 100, ...query })

export const namesOn = ({ apps }: Pick<AppPage, 'apps'>): string[] => apps.map(({ name }) => name)

/** The apps that have all words of the search. */
export const fullMatchesOn = (page: AppPage): string[] =>
  namesOn(page).slice(0, page.search?.full_matches)
