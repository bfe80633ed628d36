import unhomoglyph from 'unhomoglyph'
import type { Connection } from '../db/dialect.ts'
import { type AppRow, listed } from '../db/tables.ts'
import { toQuery } from '../search/best-matches.ts'
import { fold, idOfRank } from '../search/terms.ts'
import { similarWords } from '../search/typos.ts'
import { chunk } from '../util/helpers.ts'

/** Finds listed apps that users could take an app for, because of its name. */

export type SimilarApp = Pick<AppRow, 'id' | 'name' | 'total_downloads'> & { developer_name: string }

/** How many are shown. */
const maxSimilar = 3

/** Characters. Shorter names have too many others at distance one; longer ones cost too much to look up. */
const minEditedLength = 6
const maxEditedLength = 60

/** Nobody imitates an app that few know, and many ordinary names are at distance one of another. */
const minImitatedDownloads = 10_000

/** Names that one statement looks up. */
const batchSize = 1000

/** SQL that has an index. On each engine here, `lower` only changes ASCII. */
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
  const ranks: number[] = []
  for (const text of spellings) {
    ranks.push(...(await search.firstMatches(toQuery(text, undefined), 'key', maxSimilar)))
  }
  const { same, edited } = compactNames(spellings)
  const listedApps = sql('apps').whereRaw(listed)
  const ids = [
    ...ranks.map(idOfRank),
    ...(await listedApps
      .clone()
      .whereRaw(...isNamed(same))
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

/** Developers whose names look the same as this one or are at distance one. Reads all names. */
export async function findSimilarDevelopers({ sql }: Connection, name: string): Promise<string[]> {
  const { same, edited } = compactNames(spellingsOf(name))
  const found: string[] = []
  for (const names of chunk([...same, ...edited], batchSize)) {
    const others = sql('developers').whereNot({ name: name.trim() })
    found.push(...(await others.whereRaw(...isNamed(names)).pluck('name')))
  }
  return found
}

/** The name, and what it may be meant to look like. */
function spellingsOf(name: string): string[] {
  // The prototypes of confusables (https://www.unicode.org/reports/tr39/#Confusable_Detection), except of ASCII: of m it is rn.
  const latin = fold(name.normalize('NFD').replace(/\P{ASCII}+/gu, unhomoglyph))
  const plain = latin.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('0', 'o').replace(/[1|]/g, 'l')
  return [name, latin, plain]
}

/** As in the index, with those at distance one. */
function compactNames(spellings: string[]): { same: string[]; edited: string[] } {
  const same = [...new Set(spellings.map(toCompactName))]
  const editable = same.filter(({ length }) => length >= minEditedLength && length <= maxEditedLength)
  return { same, edited: editable.flatMap(similarWords) }
}
