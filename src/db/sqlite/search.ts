import { hash } from 'node:crypto'
import type { Knex } from 'knex'
import type { SearchDocument } from '../../search/document.ts'
import type { Form, Term } from '../../search/terms.ts'
import type { Order, SearchIndex, SearchQuestion } from '../dialect.ts'
import { orderBy, type Slice, sliceOf } from '../page.ts'
import { listed } from '../tables.ts'

/** Passing an app on the way costs about a sixteenth of fetching and sorting a match: measured by the benchmark in test/bench. */
const walkedForFetched = 16

/** The index in FTS5 (https://sqlite.org/fts5.html): a row an app, whose rowid is the app's id. */
export const searchIndex = (sql: Knex): SearchIndex => {
  /** How many apps match; no more than so many, where that is enough to know. */
  async function count(match: string, enough = -1): Promise<number> {
    const matches = 'select 1 from app_search where app_search match ? limit ?'
    const [row] = await sql.raw(`select count(*) as count from (${matches})`, [match, enough])
    return row.count
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

  /** A slice of few matches, fetched with their ranks and sorted, all ranks at once. */
  async function rankedIds(ranks: string[], order: Order, limit: number, offset: number): Promise<number[]> {
    const matches = ranks.map((_, rank) => `select rowid, ${rank} as rank from app_search where app_search match ?`)
    const found: { id: number }[] = await sql.raw(
      `select apps.id from (select rowid, min(rank) as rank from (${matches.join(' union all ')}) group by rowid) as matched
       cross join apps on apps.id = matched.rowid where ${listed}
       ${orderBy(order, 'desc', 'matched.rank')} limit ? offset ?`,
      [...ranks, limit, offset],
    )
    return found.map(({ id }) => id)
  }

  return {
    async put(documents) {
      if (documents.length === 0) return
      const rows = documents.map(({ id, ...document }) => [id, tokensOf(document)])
      await sql.raw('insert or replace into app_search (rowid, tokens) select value->>0, value->>1 from json_each(?)', [
        JSON.stringify(rows),
      ])
    },

    async remove(ids) {
      if (ids.length > 0) await sql('app_search').whereIn('rowid', ids).delete()
    },

    async page(question, order, isRanked, limit, offset) {
      const { categoryId, listed: all } = question
      const ranks = ranksOf(question, isRanked)
      const total = await count(ranks.at(-1) ?? '')
      if (offset >= total) return { ids: [], total }

      /** Whether walking to the end of a slice passes so few apps that it costs less than fetching all matches. */
      const isWalked = (matches: number, end: number) => end * all < matches * matches * walkedForFetched
      /** From how many matches on. */
      const enough = (end: number) => Math.ceil(Math.sqrt((end * all) / walkedForFetched)) + 1

      if (isRanked && !isWalked(total, offset + limit)) {
        return { ids: await rankedIds(ranks, order, limit, offset), total }
      }
      const ids: number[] = []
      const better: string[] = []
      let before = 0
      for (const match of ranks) {
        if (ids.length === limit || before === total) break
        const own = [match, ...better].map((one) => `(${one})`).join(' NOT ')
        const [take, skip] = [limit - ids.length, Math.max(0, offset - before)]
        // Of the last rank the number is known. Of another it is counted until the front is the nearer end.
        const isLast = match === ranks.at(-1)
        const matches = isLast ? total - before : await count(own, Math.max(2 * skip + take, enough(skip + take)))
        if (skip < matches) {
          const slice = sliceOf(matches, take, skip)
          ids.push(...(await idsOf(own, categoryId, isWalked(matches, slice.skip + slice.take), order, slice)))
        }
        before += matches
        if (matches > 0) better.push(match)
      }
      return { ids, total }
    },

    async has(terms) {
      const matches = terms.map((term) => {
        const [whole, beginning] = [true, false].map((isWhole) => matchOf([term], anywhere, isWhole))
        return whole === beginning ? [whole] : [whole, beginning]
      })
      // What is there whole is found at once, and its beginnings, which are dearer, not looked for.
      const exists = (index: number) =>
        `exists (select 1 from app_search where value->>${index} is not null and app_search match value->>${index})`
      const found: { key: number }[] = await sql.raw(
        `select key from json_each(?) where ${exists(0)} or ${exists(1)}`,
        [JSON.stringify(matches)],
      )
      const keys = new Set(found.map(({ key }) => key))
      return terms.map((_, index) => keys.has(index))
    },
  }
}

/**
 * What begins a token that is not of the text: so each kind has lists of its own, which are as short as can be. Tokens of
 * names are among those of the text, too.
 */
const marks = { text: '', name: '~', package: '@', key: '=', category: '/' }

const marked = (tokens: string, mark: string) => (mark === '' ? tokens : tokens.replace(/\S+/g, `${mark}$&`))

// A whole key becomes one word, so that the index itself can ask for it.
const keyToken = (key: string) => `${marks.key}${hash('sha256', key).slice(0, 16)}`
const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

const tokensOf = (document: SearchDocument & { categoryId: number }) =>
  [
    document.name,
    marked(document.name, marks.name),
    document.text,
    marked(document.package, marks.package),
    ...document.keys.map(keyToken),
    categoryToken(document.categoryId),
  ].join(' ')

/** FTS5 expressions for what a question asks, best rank first; one where rank does not matter. The last is all that is found. */
function ranksOf({ terms, keys, categoryId }: SearchQuestion, isRanked: boolean): string[] {
  const all = matchOf(terms, anywhere, false)
  const ranks = [
    keys.map((key) => `"${keyToken(key)}"`).join(' OR '),
    matchOf(terms, [marks.name], true),
    matchOf(terms, [marks.name], false),
    matchOf(terms, [marks.text], true),
    all,
  ]
  const inCategory = categoryId === undefined ? '' : `"${categoryToken(categoryId)}" AND `
  return (isRanked ? ranks : [all]).map((match) => `${inCategory}(${match})`)
}

const anywhere = [marks.text, marks.package]

const matchOf = (terms: readonly Term[], marks: string[], isWhole: boolean) =>
  terms.map(({ forms }) => `(${marks.map((mark) => anyOf(forms, mark, isWhole)).join(' OR ')})`).join(' AND ')

function anyOf(forms: readonly Form[], mark: string, isWhole: boolean): string {
  const phrases = forms.map(({ tokens, extent }) => {
    const isBeginning = extent === 'beginning' || (extent === 'either' && !isWhole)
    return { text: marked(tokens.join(' '), mark), sign: isBeginning ? ' *' : '' }
  })
  // What begins with another beginning adds nothing to it.
  const needed = phrases.filter(
    ({ text }) => !phrases.some((other) => other.sign && other.text !== text && text.startsWith(other.text)),
  )
  return needed.map(({ text, sign }) => `"${text}"${sign}`).join(' OR ')
}
