import document from '../../generated/openapi.json' with { type: 'json' }
import type { AppSummary, Input, SearchInfo, Sort } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import type { QueryRunner } from '../db/engine.ts'
import { listedCondition, nearestSlice, orderKeys, type Slice } from '../db/listed-apps.ts'
import type { AppRow, Nullable } from '../db/rows.ts'
import { cutNote, maxMatches, type SortOrder, toQuery } from '../search/best-matches.ts'
import { correctedTerm, type SearchResult, search, type Word } from '../search/search.ts'
import { isFunctionWord } from '../search/terms.ts'
import { required } from '../util/helpers.ts'
import { packageKey } from './policy.ts'

/** The public list: pages of the listed apps, sorted or searched. */

type ListQuery = Input<'listApps'>['query']

type SummaryRow = Nullable<AppSummary>

/** A page, the number of apps on all pages, and how a search found them, also in sentences. */
export type AppPage = {
  apps: SummaryRow[]
  total: number
  search?: SearchInfo
  notes?: string[]
  isUnknownCategory?: true
  /** Parameters whose values are empty, although they must equal a value of an app. */
  emptyParameters?: string[]
}

const unknownCategory: AppPage = { apps: [], total: 0, isUnknownCategory: true }

/** Each order has an index, which is read backwards. */
const orders = {
  latest: ['approved_at', 'id'],
  popular: ['total_downloads', 'id'],
  rating: ['weighted_rating', 'rating_count', 'id'],
} satisfies Record<Sort, (keyof AppRow)[]>

/**
 * Up to this offset a page is found from the front: skipping so few ids costs less than another
 * statement.
 */
const maxShallowOffset = 1000

/** A page of the list. Its apps and its total are from one snapshot. */
export function findAppPage(
  database: Database,
  query: ListQuery,
  signal?: AbortSignal,
): Promise<AppPage> {
  const { page, limit, category, slug, package_name, search: text, sort } = query
  const offset = (page - 1) * limit
  const expensive = { isExpensive: true, signal }
  const emptyParameters = Object.entries({ slug, package_name }).flatMap(([name, value]) =>
    value?.trim() === '' ? [name] : [],
  )
  if (emptyParameters.length > 0) return Promise.resolve({ apps: [], total: 0, emptyParameters })
  if (text?.trim())
    return database.snapshot((runner) => searchPage(runner, text, query, offset), expensive)
  if (slug || package_name)
    return database.snapshot((runner) => exactPage(runner, query, offset), { signal })
  const order = orders[sort ?? 'latest']
  const fromFront: Slice = { direction: 'desc', skip: offset, take: limit }
  return offset <= maxShallowOffset
    ? database.read((runner) => readSlice(runner, category, order, fromFront), { signal })
    : database.snapshot((runner) => deepPage(runner, category, order, limit, offset), expensive)
}

/**
 * The stored number of listed apps in a category, or in all; no row if the category does not exist.
 */
const scopeQuery = (category: string | undefined) =>
  category
    ? 'select id, listed_apps as total from categories where slug = ?'
    : 'select null as id, coalesce(sum(listed_apps), 0) as total from categories'

async function findScope({ rows }: QueryRunner, category: string | undefined) {
  const [scope] = await rows<{ id: number | null; total: number }>(
    scopeQuery(category),
    category ? [category] : [],
  )
  return scope
}

/** The fields of an app in the list, and their columns. */
const fields = Object.keys(document.components.schemas.AppSummary.properties)
const joinedColumns: Record<string, string> = {
  developer_name: 'developers.name',
  category_name: 'categories.name',
}
const columns = fields.map((field) => `${joinedColumns[field] ?? `apps.${field}`} as ${field}`)

const nameJoins = `
  join developers on developers.id = apps.developer_id
  join categories on categories.id = apps.category_id`

/**
 * The apps of a slice and the total, by one statement. The driver reads one JSON text faster than
 * many rows.
 */
async function readSlice(
  { rows, jsonRows }: QueryRunner,
  category: string | undefined,
  order: SortOrder,
  { direction, skip, take }: Slice,
): Promise<AppPage> {
  const inCategory = category
    ? 'and apps.category_id = (select id from categories where slug = ?)'
    : ''
  // Names are joined to the rows of the page only: skipping joined rows makes late pages slow.
  const ids = `select apps.id from apps where ${listedCondition} ${inCategory} order by ${orderKeys(order, direction)} limit ? offset ?`
  const keys = order.filter((column) => !fields.includes(column)).map((column) => `apps.${column}`)
  const page = `(select ${[...columns, ...keys]} from (${ids}) as page join apps on apps.id = page.id ${nameJoins}) as apps`
  const [found] = await rows<{ apps: string; total: number }>(
    `select ${jsonRows(page, fields, orderKeys(order, 'desc'))} as apps, scope.total
     from (${scopeQuery(category)}) as scope`,
    category ? [category, take, skip, category] : [take, skip],
  )
  return found ? { apps: JSON.parse(found.apps), total: found.total } : unknownCategory
}

/** Reads the page from the end of the list if that is nearer. */
async function deepPage(
  runner: QueryRunner,
  category: string | undefined,
  order: SortOrder,
  limit: number,
  offset: number,
): Promise<AppPage> {
  const scope = await findScope(runner, category)
  if (!scope) return unknownCategory
  if (offset >= scope.total) return { apps: [], total: scope.total }
  return readSlice(runner, category, order, nearestSlice(scope.total, limit, offset))
}

/** A page of the one listed app that has the slug and the package name, if there is one. */
async function exactPage(runner: QueryRunner, query: ListQuery, offset: number): Promise<AppPage> {
  const scope = await findScope(runner, query.category)
  if (!scope) return unknownCategory
  const ids = await findExact(runner, query, scope.id ?? undefined)
  const apps = await findSummaries(runner, ids.slice(offset, offset + query.limit))
  return { apps, total: ids.length }
}

/** The id of the listed app that has the slug and the package name, of those that are given. */
async function findExact(
  { rows }: QueryRunner,
  { slug, package_name }: ListQuery,
  categoryId: number | undefined,
): Promise<number[]> {
  const wanted = {
    ...(slug && { slug: slug.toLowerCase() }),
    ...(package_name && { package_key: packageKey(package_name) }),
    ...(categoryId !== undefined && { category_id: categoryId }),
  }
  const conditions = Object.keys(wanted).map((column) => `and apps.${column} = ?`)
  const found = await rows<{ id: number }>(
    `select id from apps where ${listedCondition} ${conditions.join(' ')}`,
    Object.values(wanted),
  )
  return found.map(({ id }) => id)
}

/** A page of the apps that a search finds. Without `sort`, the best matches come first. */
async function searchPage(
  runner: QueryRunner,
  text: string,
  filter: ListQuery,
  offset: number,
): Promise<AppPage> {
  const { category, slug, package_name, sort, limit } = filter
  const scope = category ? await findScope(runner, category) : undefined
  if (category && !scope) return unknownCategory
  const query = toQuery(text, scope?.id ?? undefined)
  // Most searches need no numbers of apps.
  const countApps = async () => {
    const { total } = required(await findScope(runner, undefined), 'the count')
    return { all: total, inScope: scope?.total ?? total }
  }
  const found = await search(runner.search, query, countApps, sort && orders[sort])
  const result =
    slug || package_name ? onlyOf(found, await findExact(runner, filter, query.categoryId)) : found
  const ids = result.ids.slice(0, maxMatches)
  const apps = await findSummaries(runner, ids.slice(offset, offset + limit))
  const info = toSearchInfo(result)
  return { apps, total: ids.length, notes: notesOn(result, sort), ...(info && { search: info }) }
}

/** The result of a search, with only these of its apps. */
function onlyOf(result: SearchResult, chosen: number[]): SearchResult {
  const isChosen = (id: number) => chosen.includes(id)
  const { ids, fullMatches } = result
  return {
    ...result,
    ids: ids.filter(isChosen),
    fullMatches: ids.slice(0, fullMatches).filter(isChosen).length,
  }
}

/** Undefined if all apps match all words as they were written, or if there are none. */
function toSearchInfo({ ids, fullMatches, words }: SearchResult): SearchInfo | undefined {
  const isCorrected = words.some(({ corrections }) => corrections.length > 0)
  const corrected = words.flatMap(({ term, isKnown, corrections }) =>
    isKnown ? (corrections[0] ?? term.text) : corrections.slice(0, 1),
  )
  const dropped = words.filter(isDropped)
  const named = namedWords(dropped)
  if (ids.length === 0 || (fullMatches === ids.length && !isCorrected && dropped.length === 0))
    return undefined
  return {
    full_matches: dropped.length > 0 ? 0 : Math.min(fullMatches, maxMatches),
    ...(isCorrected && { corrected: [...new Set(corrected)].join(' ') }),
    ...(named.length > 0 && { dropped: named }),
  }
}

const isDropped = (word: Word) => correctedTerm(word).length === 0

/** The words without how and the like: that no app has them says nothing about the apps. */
const namedWords = (words: Word[]) =>
  words.flatMap(({ term }) => (isFunctionWord(term.text) ? [] : [term.typed]))

/** Corrections of one word that a note lists, to keep it short. */
const maxNamedWords = 3

const quoted = (words: string[]) => words.map((word) => `"${word}"`).join(', ')

/** Sentences about what a search found. */
function notesOn({ ids, fullMatches, words }: SearchResult, sort: Sort | undefined): string[] {
  const notes = words.flatMap(({ term, isKnown, corrections }) => {
    if (corrections.length === 0) return []
    const more = corrections.length > maxNamedWords ? ' and others' : ''
    const shown = `${quoted(corrections.slice(0, maxNamedWords))}${more}`
    return isKnown
      ? `Few results for "${term.typed}"; also showing ${shown}.`
      : `No results for "${term.typed}"; showing ${shown}.`
  })
  const dropped = words.filter(isDropped)
  const named = namedWords(dropped)
  if (named.length > 0) notes.push(`No app has ${quoted(named)}.`)
  else if (fullMatches === 0 || dropped.length > 0)
    notes.push('No app matches all words; these match some of them.')
  else if (fullMatches < ids.length) {
    const first = fullMatches === 1 ? 'app' : `${fullMatches} apps`
    notes.push(`After the first ${first}, only some words match.`)
  }
  if (fullMatches > maxMatches) notes.push(cutNote(sort ? 'first' : 'best'))
  return notes
}

/** The apps with these ids, in this order. */
async function findSummaries(
  { rows, jsonRows }: QueryRunner,
  ids: number[],
): Promise<SummaryRow[]> {
  if (ids.length === 0) return []
  const page = `(select ${columns} from apps ${nameJoins} where apps.id in (${ids.map(() => '?')})) as apps`
  const [found] = await rows<{ apps: string }>(
    `select ${jsonRows(page, fields, 'id')} as apps`,
    ids,
  )
  const summaries: SummaryRow[] = JSON.parse(required(found, 'the apps').apps)
  const apps = new Map(summaries.map((app) => [app.id, app]))
  return ids.flatMap((id) => apps.get(id) ?? [])
}
