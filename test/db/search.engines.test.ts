import { expect, inject, test } from 'vitest'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { type MatchFinder, type SortOrder, toQuery } from '../../src/search/best-matches.ts'
import { search } from '../../src/search/search.ts'
import { idOfRank, phrasesOf, type Tier, toSearchDocument } from '../../src/search/terms.ts'
import { openEmptyCatalogue } from '../support/database.ts'

/** Apps by popularity: the first has the fewest downloads and the least id. */
const apps = Array.from({ length: 3000 }, (_, index) => {
  const words = [
    'common',
    index % 2 === 0 ? 'even' : 'odd',
    index < 1000 ? 'unpopular' : 'popular',
    index % 500 === 7 ? 'rare' : 'usual',
    // The pairs of 天気予報, once in their order and once in another.
    index % 3 === 0 ? '天気予報' : '予報の天気と気予',
    `serial${index}`,
  ]
  return {
    name: `App ${words[1]}`,
    description: words.join(' '),
    total_downloads: Math.floor(1.005 ** index),
  }
})

async function openCatalogue(): Promise<DatabaseWithTools> {
  const database = await openEmptyCatalogue()
  await database.write(async ({ sql, insertRows, search }) => {
    const times = { created_at: '', changed_at: '' }
    await insertRows('developers', [{ name: 'Ada', ...times }])
    await insertRows('categories', [{ slug: 'tools', name: 'Tools', ...times }])
    const rows = apps.map((app, index) => ({
      ...app,
      id: index + 1,
      slug: `app-${index}`,
      developer_id: 1,
      category_id: 1,
      status: 'approved',
      approved_at: '2030',
      version: '1',
      updated_at: '',
      ...times,
    }))
    await insertRows('apps', rows)
    await search.index(
      rows.map(({ id, slug, ...app }) => ({
        id,
        slug,
        categoryId: 1,
        ...toSearchDocument(app, 'Ada'),
      })),
    )
    expect(await sql('apps').count({ apps: '*' })).toEqual([{ apps: 3000 }])
  })
  return database
}

/** The ids of the first apps that match, the most popular first. */
const expectedIds = (matches: (description: string, index: number) => boolean, limit: number) =>
  apps
    .flatMap(({ description }, index) => (matches(description, index) ? [index + 1] : []))
    .toReversed()
    .slice(0, limit)

test('the first matches are the same however many apps match, and whether or not the statistics are current', async () => {
  const database = await openCatalogue()
  const searches: [
    search: string,
    tier: Tier,
    matches: (description: string, index: number) => boolean,
  ][] = [
    ['common', 'whole', () => true],
    ['comm', 'prefix', () => true],
    ['c', 'prefix', () => true],
    ['app', 'name', () => true],
    ['o', 'name', (_, index) => index % 2 === 1],
    ['app odd', 'key', (_, index) => index % 2 === 1],
    ['even popular', 'whole', (_, index) => index % 2 === 0 && index >= 1000],
    // The beginning of more words than a search looks up.
    ['serial', 'prefix', () => true],
    // Common ones that no app has both of, and one that no popular app has.
    ['even odd', 'whole', () => false],
    ['unpopular', 'whole', (_, index) => index < 1000],
    ['rare', 'whole', (_, index) => index % 500 === 7],
    ['rare common', 'prefix', (_, index) => index % 500 === 7],
    ['天気予報', 'whole', (_, index) => index % 3 === 0],
    ['天気予報 common', 'prefix', (_, index) => index % 3 === 0],
    // Two pairs, of which one ends where the other begins.
    ['天気予', 'whole', (_, index) => index % 3 === 0],
    // Two runs, of which every app has the first one.
    ['天気 天気予', 'whole', (_, index) => index % 3 === 0],
    ['missing', 'prefix', () => false],
    // The id of their category.
    ['1', 'whole', () => false],
  ]
  for (const statistics of ['none', 'current']) {
    if (statistics === 'current') await database.optimize({ isLast: true })
    for (const [search, tier, matches] of searches) {
      for (const limit of [1, 4, 1001]) {
        const found = await database.snapshot(async ({ search: index }) => {
          const phrases = (categoryId?: number) => phrasesOf(toQuery(search, categoryId), tier)
          const { names, ranks } = await index.firstMatches(
            { names: [phrases()], ranks: [phrases(), phrases(1), phrases(2)] },
            limit,
          )
          return {
            named: names.map((matches) => matches.map(({ rank }) => idOfRank(rank))),
            ranked: ranks.map((matches) => matches.map(idOfRank)),
            sorted: await index.firstIds(phrases(1), limit, ['total_downloads', 'id']),
          }
        })
        const expected = expectedIds(matches, limit)
        expect(found, `${search}, ${tier}, ${limit}, statistics: ${statistics}`).toEqual({
          named: [expected],
          // Of all categories, of theirs, and of another one.
          ranked: [expected, expected, []],
          sorted: expected,
        })
      }
    }
  }
})

test.runIf(inject('engine') === 'postgres')(
  'each frequency of a word is no further prepared statement',
  async () => {
    const database = await openCatalogue()
    const countAfter = (text: string) =>
      database.snapshot(async ({ search, rows }) => {
        await search.firstIds(phrasesOf(toQuery(text, undefined), 'prefix'), 1001, [
          'total_downloads',
          'id',
        ])
        return rows('select count(*) as count from pg_prepared_statements', [])
      })
    expect(await countAfter('common')).toEqual(await countAfter('even'))
  },
)

test('known tokens are whole words of the texts, and words of the name as one', async () => {
  const database = await openCatalogue()
  const known = await database.snapshot(({ search }) =>
    search.knownTokens(['common', 'commo', 'rare', "it's", 'tools', '+appodd', '+appeve']),
  )
  expect(known.toSorted()).toEqual(['+appodd', 'common', 'rare'])
})

test.runIf(inject('engine') === 'sqlite').for<[text: string, statements: number]>([
  ['rare', 1],
  ['missing', 1],
  // More matches than are sorted.
  ['common', 2],
])(
  'with a beginning of words, sorting the matches of %s takes %i statements',
  async ([text, expected]) => {
    const database = await openCatalogue()
    await database.snapshot(async ({ search, sql }) => {
      let statements = 0
      sql.on('query', () => statements++)
      await search.firstIds(phrasesOf(toQuery(text, undefined), 'prefix'), 1001, [
        'total_downloads',
        'id',
      ])
      expect(statements).toBe(expected)
    })
  },
)

/** Calls of an index for lists of apps, each with the number of lists and their limit. */
function recordCalls(index: MatchFinder) {
  const calls: string[] = []
  function record(lists: readonly unknown[][], limit: number, call: string) {
    for (const list of lists) expect(list.length).toBeLessThanOrEqual(limit)
    calls.push(`${call} * ${limit}`)
  }
  const recorded: MatchFinder = {
    ...index,
    async firstMatches(searches, limit) {
      const found = await index.firstMatches(searches, limit)
      const { names, ranks } = found
      record([...names, ...ranks], limit, `${names.length} names, ${ranks.length} ranks`)
      return found
    },
    async firstIds(phrases, limit, order) {
      const found = await index.firstIds(phrases, limit, order)
      record([found], limit, '1 ids')
      return found
    },
    async inOrder(ids, order) {
      const found = await index.inOrder(ids, order)
      record([found], 50, '1 ids')
      return found
    },
  }
  return { calls, index: recorded }
}

/** Of keys, names and whole words. */
const close = '1 names, 2 ranks * 1001'
/** Of keys and beginnings of words: of all matches. */
const all = '0 names, 2 ranks * 1001'
/** Of terms, and of the rare ones again. */
const lookUps = (terms: number, rare: number) => [
  `0 names, ${terms} ranks * 6`,
  `0 names, ${rare} ranks * 6`,
]
const counted = (words: number) => `0 names, ${words} ranks * 1000`
const parts = (terms: number) => `${terms} names, ${terms} ranks * 1000`

/** Statements of a call; of PostgreSQL, for each list. */
const maxStatements = { sqlite: 1, postgres: 5 }

test.for<[what: string, text: string, order: SortOrder | undefined, calls: string[]]>([
  ['a common word ends with the close matches', 'common', undefined, [close]],
  ['more than five matches are not looked up', 'rare common', undefined, [close, all, parts(2)]],
  [
    'few matches',
    'serial2999 common',
    undefined,
    [close, all, ...lookUps(2, 1), counted(30), parts(2)],
  ],
  [
    'more terms, which no app has',
    'serial2999 common odd rare unpopular app',
    undefined,
    [all, ...lookUps(6, 1), counted(30), parts(6)],
  ],
  [
    'more than eight terms, of which eight are looked up',
    'serial2999 common odd rare unpopular app usual popular even',
    undefined,
    [all, ...lookUps(8, 1), counted(30), all, parts(8)],
  ],
  [
    'a typo, and its corrections',
    'comon',
    undefined,
    [close, all, ...lookUps(1, 1), counted(1), close],
  ],
  [
    'a long word like no other, and the names that begin like it',
    'apqqqqqq',
    undefined,
    [close, all, ...lookUps(1, 1), '1 names, 0 ranks * 1000'],
  ],
  ['matches in an order', 'common', ['total_downloads', 'id'], ['1 ids * 1001']],
  [
    'no match in an order',
    'even odd',
    ['total_downloads', 'id'],
    // At last the apps that have all words are sorted with the rest.
    ['1 ids * 1001', '0 names, 1 ranks * 1000', '0 names, 2 ranks * 6', parts(2), '1 ids * 50'],
  ],
])('rows and statements of a search are bounded: %s', async ([, text, order, expected]) => {
  const database = await openCatalogue()
  const engine = inject('engine')
  await database.snapshot(async (runner) => {
    const { calls, index } = recordCalls(runner.search)
    let statements = 0
    runner.sql.on('query', () => statements++)
    const countApps = async () => ({ all: 3000, inScope: 3000 })
    await search(index, toQuery(text, undefined), countApps, order)
    expect(calls).toEqual(expected)
    const lists = calls.flatMap(
      (call) => call.match(/\d+(?= names| ranks| ids)/g)?.map(Number) ?? [],
    )
    // `rankAt` and `knownTokens` are a statement each.
    const units = engine === 'sqlite' ? calls.length : lists.reduce((sum, count) => sum + count, 0)
    expect(statements).toBeLessThanOrEqual(maxStatements[engine] * units + 2)
  })
})
