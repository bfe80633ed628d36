import type { Connection } from '../db/dialect.ts'
import { numberedSlug, toSlug } from './slug.ts'

/** A slug for each name, shared by no app, not even a deleted one, nor by one of `reserved` or another of the names. */
export async function uniqueSlugs(
  connection: Connection,
  names: string[],
  reserved: Iterable<string>,
): Promise<string[]> {
  const wanted = names.map(toSlug)
  const taken = new Set([...reserved, ...(await existingSlugs(connection, wanted))])
  const slugs = wanted.map((slug) => {
    if (taken.has(slug)) return undefined
    taken.add(slug)
    return slug
  })
  const conflicting = wanted.filter((_, index) => slugs[index] === undefined)
  const free = await numberedSlugs(connection, conflicting, taken)
  return slugs.map((slug) => slug ?? free.shift() ?? '')
}

async function existingSlugs({ sql }: Connection, slugs: string[]): Promise<string[]> {
  return slugs.length === 0 ? [] : sql('apps').whereIn('slug', slugs).pluck('slug')
}

async function numberedSlugs(connection: Connection, conflicting: string[], taken: Set<string>): Promise<string[]> {
  if (conflicting.length === 0) return []
  const next = await reserveNumbers(connection, conflicting)
  const candidates = conflicting.map((slug) => {
    const number = next.get(slug) ?? 0
    next.set(slug, number + 1)
    return numberedSlug(slug, number)
  })
  // A name may itself end in a number, so one that is next may be an app's.
  const used = new Set([...taken, ...(await existingSlugs(connection, candidates))])
  const slugs: string[] = []
  for (const [index, candidate] of candidates.entries()) {
    const [free] = used.has(candidate) ? await numberedSlugs(connection, [conflicting[index] ?? ''], used) : [candidate]
    used.add(free ?? '')
    slugs.push(free ?? '')
  }
  return slugs
}

/** The first of the numbers, one for each time that a slug is there, which are given to nobody else from now on. */
async function reserveNumbers({ sql }: Connection, slugs: string[]): Promise<Map<string, number>> {
  // In one order, so that of two who reserve the same none waits for the other in a circle.
  const groups = [...Map.groupBy(slugs.toSorted(), (slug) => slug)]
  const rows: { slug: string; last: number }[] = await sql('slug_numbers')
    .insert(groups.map(([slug, all]) => ({ slug, last: 1 + all.length })))
    .onConflict('slug')
    .merge({ last: sql.raw('slug_numbers.last + excluded.last - 1') })
    .returning(['slug', 'last'])
  const last = new Map(rows.map((row) => [row.slug, row.last]))
  return new Map(groups.map(([slug, all]) => [slug, (last.get(slug) ?? 0) - all.length + 1]))
}
