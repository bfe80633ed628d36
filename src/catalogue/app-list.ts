import type { AppSummary, Sort } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import type { Connection, SearchIndex, SortOrder } from '../db/dialect.ts'
import { nearestSlice, orderBy } from '../db/page-slice.ts'
import { listed } from '../db/tables.ts'
import { nameKey, queryTerms, type Term } from '../search/terms.ts'
import { isCorrectable, similarWords } from '../search/typos.ts'

/** The public list: pages of the listed apps, sorted or searched. */

export type AppListQuery = Readonly<{
  page: number
  limit: number
  /** Slug of a category. */
  category?: string | undefined
  search?: string | undefined
  sort?: Sort | undefined
}>

/** A page, and the number of apps on all pages. */
export type AppPage = { apps: AppSummary[]; total: number; correction?: Correction }

/** A word of the search that no listed app has, and the words that replaced it, ordered by code point. */
export type Correction = { word: string; replacements: string[] }

/** Each has an index, which is read backwards. */
const orders: Record<Sort, SortOrder> = {
  latest: ['approved_at', 'id'],
  popular: ['total_downloads', 'id'],
  rating: ['weighted_rating', 'rating_count', 'id'],
}

/** Up to this offset a page is found from the front: skipping so few ids costs less than another statement. */
const maxShallowOffset = 1000

/** A page of the list. Its apps and its total are of one moment. */
export function findApps(
  database: Database,
  { page, limit, category, search, sort }: AppListQuery,
  signal?: AbortSignal,
): Promise<AppPage> {
  const offset = (page - 1) * limit
  const expensive = { isExpensive: true, signal }
  if (search)
    return database.snapshot((connection) => searchPage(connection, search, category, sort, limit, offset), expensive)
  const order = orders[sort ?? 'latest']
  return offset <= maxShallowOffset
    ? database.read((connection) => shallowPage(connection, category, order, limit, offset), { signal })
    : database.snapshot((connection) => deepPage(connection, category, order, limit, offset), expensive)
}

/** The stored number of listed apps in a category, or in all; no row if the category does not exist. */
const scopeQuery = (category: string | undefined) =>
  category
    ? 'select id, listed_apps as listed from categories where slug = ?'
    : 'select null as id, coalesce(sum(listed_apps), 0) as listed from categories'

type Scope = { id: number | null; listed: number }

async function findScope({ select }: Connection, category: string | undefined) {
  const [scope] = await select<Scope>(scopeQuery(category), category ? [category] : [])
  return scope && { categoryId: scope.id ?? undefined, listed: scope.listed }
}

/** The fields of an app in the list, and their columns. */
const summaryColumns: Record<keyof AppSummary, string> = {
  id: 'apps.id',
  name: 'apps.name',
  slug: 'apps.slug',
  description: 'apps.description',
  developer_name: 'developers.name',
  category_name: 'categories.name',
  total_downloads: 'apps.total_downloads',
  average_rating: 'apps.average_rating',
}
const columns = Object.entries(summaryColumns).map(([field, column]) => `${column} as ${field}`)

/** Joins only the rows of the page, since skipping joined rows makes late pages slow. */
const nameJoins = `
  join developers on developers.id = apps.developer_id
  join categories on categories.id = apps.category_id`
const pageRows = (ids: string) => `(${ids}) as page join apps on apps.id = page.id ${nameJoins}`

/** The page and the total by one statement. A page past the end is one row that has the total alone. */
async function shallowPage(
  { select }: Connection,
  category: string | undefined,
  order: SortOrder,
  limit: number,
  offset: number,
): Promise<AppPage> {
  const inCategory = category ? 'and apps.category_id = (select id from categories where slug = ?)' : ''
  const ids = `select apps.id from apps where ${listed} ${inCategory} ${orderBy(order, 'desc')} limit ? offset ?`
  const rows = await select<(AppSummary | { id: null }) & { listed: number }>(
    `select scope.listed, ${columns}
     from (${scopeQuery(category)}) as scope
     left join (${ids}) as page on true
     left join apps on apps.id = page.id
     left join developers on developers.id = apps.developer_id
     left join categories on categories.id = apps.category_id
     ${orderBy(order, 'desc')}`,
    category ? [category, category, limit, offset] : [limit, offset],
  )
  const apps = rows.flatMap(({ listed, ...app }) => (app.id === null ? [] : [app]))
  return { apps, total: rows[0]?.listed ?? 0 }
}

async function deepPage(
  connection: Connection,
  category: string | undefined,
  order: SortOrder,
  limit: number,
  offset: number,
): Promise<AppPage> {
  const scope = await findScope(connection, category)
  if (!scope || offset >= scope.listed) return { apps: [], total: scope?.listed ?? 0 }
  const { categoryId, listed: total } = scope
  const { direction, skip, take } = nearestSlice(total, limit, offset)
  const inCategory = categoryId === undefined ? '' : 'and apps.category_id = ?'
  const ids = `select apps.id from apps where ${listed} ${inCategory} ${orderBy(order, direction)} limit ? offset ?`
  const apps = await connection.select<AppSummary>(
    `select ${columns} from ${pageRows(ids)} ${orderBy(order, 'desc')}`,
    categoryId === undefined ? [take, skip] : [categoryId, take, skip],
  )
  return { apps, total }
}

/** The ids of a page of the matches, and the number of all matches. Without `sort`, the best matches come first. */
export async function findIds(
  connection: Connection,
  text: string,
  category: string | undefined,
  sort: Sort | undefined,
  limit: number,
  offset: number,
  { terms, keys }: ParsedSearch = parseSearch(text),
): Promise<{ ids: number[]; total: number }> {
  const scope = category ? await findScope(connection, category) : { categoryId: undefined }
  if (terms.length === 0 || !scope) return { ids: [], total: 0 }
  const { categoryId } = scope
  const order = orders[sort ?? 'popular']
  return connection.search.page({ terms, keys, categoryId }, order, sort === undefined, limit, offset)
}

type ParsedSearch = { terms: Term[]; keys: string[] }
const parseSearch = (text: string): ParsedSearch => ({ terms: queryTerms(text), keys: [nameKey(text)] })

/** If nothing matches, one word is corrected. */
async function searchPage(
  connection: Connection,
  text: string,
  category: string | undefined,
  sort: Sort | undefined,
  limit: number,
  offset: number,
): Promise<AppPage> {
  const { terms, keys } = parseSearch(text)
  const { ids, total } = await findIds(connection, text, category, sort, limit, offset, { terms, keys })
  if (total > 0) return { apps: await findSummaries(connection, ids), total }
  const correction = await correctTypos(connection, terms)
  if (!correction) return { apps: [], total }
  const { word, replacements: words } = correction
  const corrected = await findIds(connection, text, category, sort, limit, offset, {
    terms: terms.map((term) => (term.word === word ? anyOfWords(words) : term)),
    keys: keys.flatMap((key) => words.map((one) => key.replace(word, one))),
  })
  return { apps: await findSummaries(connection, corrected.ids), total: corrected.total, correction }
}

const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

const anyOfWords = (words: string[]): Term => ({ forms: words.map((word) => ({ tokens: [word], extent: 'whole' })) })

/** Corrects the first word that no listed app has, if listed apps have similar words. */
async function correctTypos({ search }: Connection, terms: Term[]): Promise<Correction | undefined> {
  const word = await firstUnknownWord(search, terms)
  if (word === undefined) return undefined
  const letters = [...word]
  const prefixes = letters.map((_, index) => letters.slice(0, index + 1).join(''))
  const had = await search.has(prefixes.map((text) => ({ text, isPrefix: true })))
  const words = similarWords(word, prefixes[had.indexOf(false)])
  const has = await search.has(words.map((text) => ({ text, isPrefix: false })))
  const existingWords = words.filter((_, index) => has[index]).toSorted(byCodePoint)
  return existingWords.length === 0 ? undefined : { word, replacements: existingWords }
}

async function firstUnknownWord(search: SearchIndex, terms: Term[]): Promise<string | undefined> {
  for (const { word, forms } of terms.filter(isCorrectable)) {
    const words = forms.flatMap(({ tokens, extent }) => tokens.map((text) => ({ text, isPrefix: extent !== 'whole' })))
    if (!(await search.has(words)).includes(true)) return word
  }
  return undefined
}

/** The apps with these ids, in this order. */
async function findSummaries({ select }: Connection, ids: number[]): Promise<AppSummary[]> {
  if (ids.length === 0) return []
  const found = await select<AppSummary>(
    `select ${columns} from apps ${nameJoins} where apps.id in (${ids.map(() => '?')})`,
    ids,
  )
  const apps = new Map(found.map((app) => [app.id, app]))
  return ids.flatMap((id) => apps.get(id) ?? [])
}
