import type { QueryRunner } from '../db/engine.ts'
import { listed } from '../db/listed-apps.ts'
import type { AppRow } from '../db/rows.ts'
import { foldLookAlikes, idOfRank, lookAlikePhrases, skeletonsOf } from '../search/terms.ts'
import { isWithinOneEdit, withoutSymbols } from '../search/typos.ts'
import { yieldBetween } from '../util/helpers.ts'

/** Finds listed apps, and developers, with similar names: possible imitations. */

export type SimilarApp = Pick<AppRow, 'id' | 'name' | 'total_downloads'> & {
  developer_name: string
}

/** Similar apps returned for a name, at most. */
const maxSimilar = 3

/** Apps whose names look the same that are considered, at most. */
const maxLookAlikes = 1000

/** Characters. Very many shorter names are at distance one of each other. */
const minEditedLength = 6

/**
 * Many ordinary names are at distance one of each other. Only popular apps are worth imitating: the
 * most downloaded ones, at most so many.
 */
const popular = { minDownloads: 10_000, maxApps: 20_000 }

/** Popular apps, or developers, per statement. */
const batchSize = 2000

type PopularApp = Pick<AppRow, 'id' | 'developer_id' | 'total_downloads'> & {
  compactName: string
}

/**
 * For each app in turn, the most downloaded listed apps of other developers whose names or package
 * names look like its name, and popular ones with names at distance one.
 */
export async function findSimilarApps(
  runner: QueryRunner,
  apps: Pick<AppRow, 'name' | 'developer_id'>[],
): Promise<SimilarApp[][]> {
  if (apps.length === 0) return []
  const { search, signal } = runner
  const popularApps = await findPopularApps(runner)
  const similar = []
  for await (const { name, developer_id } of yieldBetween(apps, signal)) {
    const lookAlikes = await search.firstRanks(lookAlikePhrases(name), maxLookAlikes)
    const isEdit = editMatcher(name)
    const edits = popularApps
      .values()
      .filter((other) => other.developer_id !== developer_id && isEdit(other.compactName))
      .take(maxSimilar)
    const ids = [...lookAlikes.map(idOfRank), ...edits.map(({ id }) => id)]
    similar.push(ids.length === 0 ? [] : await findFirstApps(runner, ids, developer_id))
  }
  return similar
}

/** The most downloaded listed apps, in the order of `findFirstApps`. */
async function findPopularApps({ sql, signal }: QueryRunner): Promise<PopularApp[]> {
  const found: PopularApp[] = []
  let last: Pick<AppRow, 'id' | 'total_downloads'> | undefined
  do {
    signal?.throwIfAborted()
    const batch = sql('apps')
      .whereRaw(listed)
      .where('total_downloads', '>=', popular.minDownloads)
      .orderBy(['total_downloads', 'id'].map((column) => ({ column, order: 'desc' })))
      .limit(batchSize)
      .select('id', 'name', 'developer_id', 'total_downloads')
    if (last) batch.whereRaw('(total_downloads, id) < (?, ?)', [last.total_downloads, last.id])
    const rows = await batch
    for (const { name, ...app } of rows) found.push({ ...app, compactName: compact(name) })
    last = rows.length < batchSize ? undefined : rows.at(-1)
  } while (last && found.length < popular.maxApps)
  return found.sort((a, b) => b.total_downloads - a.total_downloads || a.id - b.id)
}

/** Of the apps with these ids, the most downloaded ones of other developers. */
const findFirstApps = (
  { sql }: QueryRunner,
  ids: number[],
  developer_id: number,
): Promise<SimilarApp[]> =>
  sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .whereIn('apps.id', ids)
    .whereNot({ developer_id })
    .orderBy([{ column: 'total_downloads', order: 'desc' }, { column: 'apps.id' }])
    .limit(maxSimilar)
    .select('apps.id', 'apps.name', 'developers.name as developer_name', 'total_downloads')

/**
 * Names of developers that look the same or are at distance one, in their order. Reads all
 * developers.
 */
export async function findSimilarDevelopers(
  { sql, signal }: QueryRunner,
  name: string,
): Promise<string[]> {
  const skeletons = new Set(skeletonsOf(name))
  const isEdit = editMatcher(name)
  const similar: string[] = []
  let last: string | undefined = ''
  do {
    const batch: string[] = await sql('developers')
      .where('name', '>', last)
      .orderBy('name')
      .limit(batchSize)
      .pluck('name')
    for await (const other of yieldBetween(batch, signal)) {
      if (other === name.trim()) continue
      const isSimilar =
        isEdit(compact(other)) || skeletonsOf(other).some((skeleton) => skeletons.has(skeleton))
      if (isSimilar) similar.push(other)
    }
    last = batch.length < batchSize ? undefined : batch.at(-1)
  } while (last !== undefined)
  return similar
}

/**
 * Whether the name, or the name in Latin letters that look the same, is at distance one from a
 * compact name, or is that name and some symbols.
 */
function editMatcher(name: string): (compactName: string) => boolean {
  const latin = foldLookAlikes(name)
  const plain = latin
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll('0', 'o')
    .replace(/[1|]/g, 'l')
  const names = [...new Set([name, latin, plain].map(compact))].filter(
    ({ length }) => length >= minEditedLength,
  )
  const bare = names.map(withoutSymbols)
  return (other) => names.some((one) => isWithinOneEdit(one, other)) || bare.includes(other)
}

/** Without case and spaces. */
const compact = (name: string) => name.toLowerCase().replaceAll(' ', '').normalize('NFC')
