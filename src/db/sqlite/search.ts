import { hash } from 'node:crypto'
import type { Knex } from 'knex'
import type { Order, SearchIndex, SearchQuestion } from '../dialect.ts'
import { orderBy, type Slice, sliceOf } from '../page.ts'
import { listed } from '../tables.ts'

/** Passing an app on the way costs about a sixteenth of fetching and sorting a match: measured by the benchmark in test/bench. */
const walkedForFetched = 16

/** The index in FTS5 (https://sqlite.org/fts5.html): a row an app, whose rowid is the app's id. */
export const searchIndex = (sql: Knex): SearchIndex => {
  async function counts(matches: string[]): Promise<number[]> {
    const columns = matches.map((_, rank) => `(select count(*) from app_search where app_search match ?) as "${rank}"`)
    const [row] = await sql.raw(`select ${columns.join(', ')}`, matches)
    return matches.map((_, rank) => row[rank])
  }

  /**
   * A slice of the listed apps that match. Where many do, the order's own index is walked and each app looked up among the
   * matches; where few do, the matches are fetched and sorted. The unary plus and the cross join keep the planner to that
   * (https://sqlite.org/optoverview.html).
   */
  async function idsOf(match: string, categoryId: number | undefined, many: boolean, order: Order, slice: Slice) {
    const matches = '(select rowid from app_search where app_search match ?)'
    const from = many ? 'apps' : `${matches} as matched cross join apps on apps.id = matched.rowid`
    const inCategory = categoryId === undefined ? '' : 'and apps.category_id = ?'
    const isMatch = many ? `and +apps.id in ${matches}` : ''
    const found: { id: number }[] = await sql.raw(
      `select apps.id from ${from} where ${listed} ${inCategory} ${isMatch}
       ${orderBy(order, slice.direction)} limit ? offset ?`,
      [
        ...(many ? [] : [match]),
        ...(categoryId === undefined ? [] : [categoryId]),
        ...(many ? [match] : []),
        slice.take,
        slice.skip,
      ],
    )
    const ids = found.map(({ id }) => id)
    return slice.direction === 'asc' ? ids.reverse() : ids
  }

  return {
    async put(documents) {
      if (documents.length === 0) return
      const rows = documents.map(({ id, name, text, nameKey, categoryId }) => [
        id,
        name,
        text,
        exactToken(nameKey),
        categoryToken(categoryId),
      ])
      await sql.raw(
        `insert or replace into app_search (rowid, name, text, exact, category)
         select value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?)`,
        [JSON.stringify(rows)],
      )
    },

    async remove(ids) {
      if (ids.length > 0) await sql('app_search').whereIn('rowid', ids).delete()
    },

    async page(question, order, isRanked, limit, offset) {
      const { categoryId, listed: all } = question
      const ids: number[] = []
      let total = 0
      const ranks = ranksOf(question, isRanked)
      const sums = await counts(ranks.map(({ upTo }) => upTo))
      for (const [rank, { match }] of ranks.entries()) {
        const matches = (sums[rank] ?? 0) - total
        const skipped = Math.max(0, offset - total)
        if (ids.length < limit && skipped < matches) {
          const slice = sliceOf(matches, limit - ids.length, skipped)
          const walked = ((slice.skip + slice.take) * all) / matches
          const many = walked < matches * walkedForFetched
          ids.push(...(await idsOf(match, categoryId, many, order, slice)))
        }
        total += matches
      }
      return { ids, total }
    },
  }
}

/**
 * FTS5 expressions for what a question asks, best rank first; one where rank does not matter. `match` is a rank's own,
 * sharing no app with the others; `upTo` is the same with all better ones, and quicker to count.
 */
function ranksOf({ terms, nameKey, categoryId }: SearchQuestion, isRanked: boolean): { match: string; upTo: string }[] {
  const category = categoryId === undefined ? '' : `({category} : "${categoryToken(categoryId)}") AND `
  const all = terms.map((term) => `"${term.join(' ')}" *`).join(' AND ')
  const exact = `${category}({exact} : "${exactToken(nameKey)}")`
  const inName = `${category}({name} : (${all}))`
  const anywhere = `${category}({name text} : (${all}))`
  if (!isRanked) return [{ match: anywhere, upTo: anywhere }]
  return [
    { match: exact, upTo: exact },
    { match: `(${inName}) NOT (${exact})`, upTo: inName },
    { match: `(${anywhere}) NOT (${inName})`, upTo: anywhere },
  ]
}

// A whole name and a category become one word each, so that the index itself can ask for them.
const exactToken = (nameKey: string) => hash('sha256', nameKey).slice(0, 16)
const categoryToken = (categoryId: number) => `c${categoryId}`
