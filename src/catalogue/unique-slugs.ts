import type { Connection } from '../db/engine.ts'
import { required } from '../util/helpers.ts'
import { numberedSlug, toSlug } from './slug.ts'

/** A slug for the name at `index`: `base`, or `base` with a number. */
type Candidate = { index: number; base: string; slug: string }

/**
 * A slug for each name that no app has, not even a deleted one, and that is not among `reserved`.
 * No two are equal.
 */
export async function uniqueSlugs(
  connection: Connection,
  names: string[],
  reserved: Iterable<string>,
): Promise<string[]> {
  const taken = new Set(reserved)
  const slugs: string[] = []
  let candidates = names.map(toSlug).map((slug, index) => ({ index, base: slug, slug }))
  while (candidates.length > 0) {
    const wanted = candidates.map(({ slug }) => slug)
    const existing: string[] = await connection.sql('apps').whereIn('slug', wanted).pluck('slug')
    for (const slug of existing) taken.add(slug)
    const conflicting: Candidate[] = []
    for (const candidate of candidates) {
      if (taken.has(candidate.slug)) conflicting.push(candidate)
      else slugs[candidate.index] = candidate.slug
      taken.add(candidate.slug)
    }
    // A name may itself end in a number, so a numbered slug may be taken, too.
    candidates = await withNumbers(connection, conflicting)
  }
  return slugs
}

/** Gives each candidate a number that no other call gives to its base. */
async function withNumbers({ sql }: Connection, candidates: Candidate[]): Promise<Candidate[]> {
  if (candidates.length === 0) return []
  const groups = Map.groupBy(candidates, ({ base }) => base)
  // In one order, so that two transactions cannot deadlock.
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const rows: { slug: string; last: number }[] = await sql('slug_numbers')
    .insert(sorted.map(([slug, { length }]) => ({ slug, last: 1 + length })))
    .onConflict('slug')
    .merge({ last: sql.raw('slug_numbers.last + excluded.last - 1') })
    .returning(['slug', 'last'])
  return rows.flatMap(({ slug: base, last }) => {
    const group = required(groups.get(base), `the candidates of the slug ${base}`)
    const first = last - group.length + 1
    return group.map(({ index }, position) => ({
      index,
      base,
      slug: numberedSlug(base, first + position),
    }))
  })
}
