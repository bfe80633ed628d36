import { slugify } from 'transliteration'
import { maxAppSlugLength } from '../contract/field-rules.ts'
import type { QueryRunner } from '../db/engine.ts'
import { required } from '../util/helpers.ts'

/** Makes the slugs of new apps, for creates and imports. No slug is used for another app again. */

/**
 * A slug that matches `[a-z0-9]+(-[a-z0-9]+)*` and has the document's length; `app` if nothing can
 * be transliterated.
 */
export const toSlug = (name: string): string =>
  shorten(transliterate(name), maxAppSlugLength) || 'app'

/** Most names are ASCII and need no transliteration, which takes ten times as long. */
const transliterate = (name: string) =>
  /^[ -~]*$/.test(name)
    ? (name.toLowerCase().match(/[a-z0-9]+/g) ?? []).join('-')
    : slugify(name.normalize('NFKC').replaceAll('ẞ', 'SS'), { allowedChars: 'a-zA-Z0-9' })

/** The slug with a number appended, shortened so that both fit. */
export function numberedSlug(slug: string, number: number): string {
  const suffix = `-${number}`
  return shorten(slug, maxAppSlugLength - suffix.length) + suffix
}

const shorten = (slug: string, length: number) => slug.slice(0, length).replace(/-$/, '')

/** The slug of a name, which is `base` or `base` with a number. */
type Candidate = { base: string; slug: string }

/**
 * A slug for each name that no app has, not even a deleted one, and that is not among `reserved`.
 * No two are equal.
 */
export async function uniqueSlugs(
  runner: QueryRunner,
  names: string[],
  reserved: string[],
): Promise<string[]> {
  const taken = new Set(reserved)
  const all = names.map(toSlug).map((base) => ({ base, slug: base }))
  let unchecked: Candidate[] = all
  while (unchecked.length > 0) {
    const slugs = unchecked.map(({ slug }) => slug)
    const existing: string[] = await runner.sql('apps').whereIn('slug', slugs).pluck('slug')
    for (const slug of existing) taken.add(slug)
    const clashing: Candidate[] = []
    for (const group of Map.groupBy(unchecked, ({ base }) => base).values()) {
      // The first names get the free slugs, as if each were inserted before the next.
      const free = [...new Set(group.map(({ slug }) => slug)).difference(taken)]
      for (const [index, candidate] of group.entries()) {
        const slug = free[index]
        if (slug === undefined) clashing.push(candidate)
        else {
          candidate.slug = slug
          taken.add(slug)
        }
      }
    }
    if (clashing.length > 0) await addNumbers(runner, clashing)
    // A name may itself end in a number, so a numbered slug may be taken, too.
    unchecked = clashing
  }
  return all.map(({ slug }) => slug)
}

/** Gives each candidate a number that no other call gives to its base. */
async function addNumbers({ insert }: QueryRunner, candidates: Candidate[]) {
  const groups = Map.groupBy(candidates, ({ base }) => base)
  // In one order, so that two transactions cannot deadlock.
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const rows = await insert<{ slug: string; last: number }>(
    'slug_numbers',
    sorted.map(([slug, { length }]) => ({ slug, last: 1 + length })),
    // Without WHERE, SQLite takes ON for a part of a join.
    `where true on conflict (slug) do update set last = slug_numbers.last + excluded.last - 1
     returning slug, last`,
  )
  for (const { slug, last } of rows) {
    const group = required(groups.get(slug), `the candidates of the slug ${slug}`)
    const first = last - group.length + 1
    for (const [position, candidate] of group.entries())
      candidate.slug = numberedSlug(slug, first + position)
  }
}
