import unhomoglyph from 'unhomoglyph'
import type { Connection } from '../db/dialect.ts'
import { type AppRow, listed } from '../db/tables.ts'
import { toQuery } from '../search/best-matches.ts'
import { fold, phrasesOf } from '../search/terms.ts'
import { similarWords } from '../search/typos.ts'
import { chunk } from '../util/helpers.ts'

/** Finds listed apps, and developers, with similar names: possible imitations. */

export type SimilarApp = Pick<AppRow, 'id' | 'name' | 'total_downloads'> & { developer_name: string }

/** Similar apps returned, at most. */
const maxSimilar = 3

/** Characters. Shorter names have too many neighbours at distance one; those of longer ones cost too much to look up. */
const editedLength = { min: 6, max: 50 }

/** Many ordinary names are at distance one of each other. Only popular apps are worth imitating. */
const minImitatedDownloads = 10_000

/** Names per statement. */
const batchSize = 1000

/** Migration 0013 has an index on this expression. `lower` changes only ASCII, on PostgreSQL because of the collation C. */
const compactName = "replace(lower(name), ' ', '')"
const toCompactName = (name: string) => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replaceAll(' ', '')

const isNamed = (names: string[]) => [`${compactName} in (${names.map(() => '?')})`, names] as const

/**
 * The most downloaded listed apps of other developers whose names are the same when folded or when look-alike characters are
 * replaced, and well-known ones at distance one of that.
 */
export async function findSimilarApps(
  { sql, search }: Connection,
  { name, developer_id }: Pick<AppRow, 'name' | 'developer_id'>,
): Promise<SimilarApp[]> {
  const spellings = spellingsOf(name)
  const sameNames: number[] = []
  for (const text of spellings) {
    sameNames.push(...(await search.firstMatches(phrasesOf(toQuery(text, undefined), 'key'), maxSimilar)))
  }
  const { same, edited } = compactNames(spellings)
  const listedApps = sql('apps').whereRaw(listed)
  const ids = [
    ...sameNames,
    ...(await listedApps
      .clone()
      .whereRaw(...isNamed(same))
      .orderBy('total_downloads', 'desc')
      .limit(batchSize)
      .pluck('id')),
  ]
  for (const names of chunk(edited, batchSize)) {
    const known = listedApps.clone().where('total_downloads', '>=', minImitatedDownloads)
    ids.push(...(await known.whereRaw(...isNamed(names)).pluck('id')))
  }
  return sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .whereIn('apps.id', ids)
    .whereNot({ developer_id })
    .orderBy([{ column: 'total_downloads', order: 'desc' }, { column: 'apps.id' }])
    .limit(maxSimilar)
    .select('apps.id', 'apps.name', 'developers.name as developer_name', 'total_downloads')
}

/** Names of developers that look the same or are at distance one. Scans all developers. */
export async function findSimilarDevelopers({ sql }: Connection, name: string): Promise<string[]> {
  const { same, edited } = compactNames(spellingsOf(name))
  const found: string[] = []
  for (const names of chunk([...new Set([...same, ...edited])], batchSize)) {
    const others = sql('developers').whereNot({ name: name.trim() })
    found.push(...(await others.whereRaw(...isNamed(names)).pluck('name')))
  }
  return found
}

/** The name, and the names that it looks like. */
function spellingsOf(name: string): string[] {
  // Replaces look-alike characters (https://www.unicode.org/reports/tr39/#Confusable_Detection). Skips ASCII, where m would become rn.
  const latin = fold(name.normalize('NFD').replace(/\P{ASCII}+/gu, unhomoglyph))
  const plain = latin.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('0', 'o').replace(/[1|]/g, 'l')
  return [name, latin, plain]
}

/** The spellings in the form of the index (`same`), and all names at distance one from them (`edited`). */
function compactNames(spellings: string[]): { same: string[]; edited: string[] } {
  const same = [...new Set(spellings.map(toCompactName))]
  const editable = same.filter(({ length }) => length >= editedLength.min && length <= editedLength.max)
  return { same, edited: editable.flatMap(similarWords) }
}
