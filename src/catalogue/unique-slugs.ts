import type { Connection } from '../db/dialect.ts'
import { required } from '../util/helpers.ts'
import { numberedSlug, toSlug } from './slug.ts'

/** A slug for each name that no app has, not even a deleted one, and that is not among `reserved`. No two are equal. */
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
  const numbered = (await numberedSlugs(connection, conflicting, taken)).values()
  return slugs.map((slug) => slug ?? required(numbered.next().value, 'a numbered slug'))
}

async function existingSlugs({ sql }: Connection, slugs: string[]): Promise<string[]> {
  return slugs.length === 0 ? [] : sql('apps').whereIn('slug', slugs).pluck('slug')
}

async function numberedSlugs(connection: Connection, conflicting: string[], taken: Set<string>): Promise<string[]> {
  if (conflicting.length === 0) return []
  const numbers = await reserveNumbers(connection, conflicting)
  const candidates = conflicting.map((slug) => ({
    slug,
    candidate: numberedSlug(slug, required(numbers.get(slug)?.shift(), 'a number')),
  }))
  // A name may itself end in a number, so a candidate may be taken.
  const existing = await existingSlugs(
    connection,
    candidates.map(({ candidate }) => candidate),
  )
  const used = new Set([...taken, ...existing])
  const slugs: string[] = []
  for (const { slug, candidate } of candidates) {
    const [free] = used.has(candidate) ? await numberedSlugs(connection, [slug], used) : [candidate]
    const found = required(free, 'a numbered slug')
    used.add(found)
    slugs.push(found)
  }
  return slugs
}

/** As many numbers for each slug as it occurs. No later call gets them again. */
async function reserveNumbers({ sql }: Connection, slugs: string[]): Promise<Map<string, number[]>> {
  // In one order, so that two transactions cannot deadlock.
  const counts = [...Map.groupBy(slugs.toSorted(), (slug) => slug)].map(([slug, all]) => ({ slug, count: all.length }))
  const rows: { slug: string; last: number }[] = await sql('slug_numbers')
    .insert(counts.map(({ slug, count }) => ({ slug, last: 1 + count })))
    .onConflict('slug')
    .merge({ last: sql.raw('slug_numbers.last + excluded.last - 1') })
    .returning(['slug', 'last'])
  const last = new Map(rows.map((row) => [row.slug, row.last]))
  return new Map(
    counts.map(({ slug, count }) => {
      const first = required(last.get(slug), 'the last number') - count + 1
      return [slug, Array.from({ length: count }, (_, index) => first + index)]
    }),
  )
}
