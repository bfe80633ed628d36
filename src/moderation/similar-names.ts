import type { Connection } from '../db/engine.ts'
import { listed } from '../db/listed-apps.ts'
import type { AppRow } from '../db/tables.ts'
import { foldLookAlikes, idOfRank, lookAlikePhrases, skeletonsOf } from '../search/terms.ts'
import { similarWords } from '../search/typos.ts'
import { chunk } from '../util/helpers.ts'

/** Finds listed apps, and developers, with similar names: possible imitations. */

export type SimilarApp = Pick<AppRow, 'id' | 'name' | 'total_downloads'> & {
  developer_name: string
}

/** Similar apps returned, at most. */
const maxSimilar = 3

/**
 * Characters. Shorter names have too many neighbours at distance one; those of longer ones cost too
 * much to look up.
 */
const editedLength = { min: 6, max: 50 }

/** Many ordinary names are at distance one of each other. Only popular apps are worth imitating. */
const minImitatedDownloads = 10_000

/** Names or apps per statement. */
const batchSize = 1000

/**
 * Migration 0013 has an index on this expression. `lower` changes only ASCII, on PostgreSQL because
 * of the collation C.
 */
const compactName = "replace(lower(name), ' ', '')"
const toCompactName = (name: string) =>
  name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replaceAll(' ', '')

/**
 * The most downloaded listed apps of other developers whose names or package names look like the
 * name, and well-known ones with names at distance one.
 */
export async function findSimilarApps(
  { sql, search }: Connection,
  { name, developer_id }: Pick<AppRow, 'name' | 'developer_id'>,
): Promise<SimilarApp[]> {
  const ids = (await search.firstRanks(lookAlikePhrases(name), batchSize)).map(idOfRank)
  for (const names of chunk(compactNamesAtDistanceOne(name), batchSize)) {
    const known = sql('apps').whereRaw(listed).where('total_downloads', '>=', minImitatedDownloads)
    ids.push(
      ...(await known.whereRaw(`${compactName} in (${names.map(() => '?')})`, names).pluck('id')),
    )
  }
  return sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .whereIn('apps.id', ids)
    .whereNot({ developer_id })
    .orderBy([{ column: 'total_downloads', order: 'desc' }, { column: 'apps.id' }])
    .limit(maxSimilar)
    .select('apps.id', 'apps.name', 'developers.name as developer_name', 'total_downloads')
}

/** Names of developers that look the same or are at distance one. Reads all developers. */
export async function findSimilarDevelopers({ sql }: Connection, name: string): Promise<string[]> {
  const skeletons = new Set(skeletonsOf(name))
  const edited = new Set(compactNamesAtDistanceOne(name))
  const others: string[] = await sql('developers').whereNot({ name: name.trim() }).pluck('name')
  return others.filter(
    (other) =>
      edited.has(toCompactName(other)) ||
      skeletonsOf(other).some((skeleton) => skeletons.has(skeleton)),
  )
}

/**
 * In the form of the index: names at distance one from the name, and from the name in Latin letters
 * that look the same.
 */
function compactNamesAtDistanceOne(name: string): string[] {
  const latin = foldLookAlikes(name)
  const plain = latin
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll('0', 'o')
    .replace(/[1|]/g, 'l')
  const compact = new Set([name, latin, plain].map(toCompactName))
  const editable = [...compact].filter(
    ({ length }) => length >= editedLength.min && length <= editedLength.max,
  )
  return [...new Set(editable.flatMap(similarWords))]
}
