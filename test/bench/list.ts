import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import type { Knex } from 'knex'
import { type AppFilter, findApps } from '../../src/apps/catalogue.ts'
import { type Database, openDatabase } from '../../src/db/open.ts'
import { categories, fill, vocabulary, words } from './catalogue.ts'

/**
 * How long the list takes, by the size of the catalogue: `npm run bench [size...]`, by default 2000 200000.
 * Then the plan of each statement it used, at the largest size.
 */

type Query = { name: string; filter: AppFilter }
type Measured = Query & { milliseconds: number; total: number }
type Statement = { sql: string; bindings: Knex.RawBinding[]; queries: string[] }

const sorts = ['latest', 'popular', 'rating'] as const
const limit = 20
const warmUps = 3
const runs = 21

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [2000, 200_000]
if (!sizes.every((size) => Number.isInteger(size) && size > 0)) throw new Error('a size is a number of apps')

const results: Measured[][] = []
let plans: string[] = []
for (const size of sizes) {
  await withCatalogue(size, async (database) => {
    const queries = queriesOf(size)
    // Node compiles what runs often: without this the first size would pay for the others.
    if (results.length === 0) await measureAll(database, queries)
    results.push(await measureAll(database, queries))
    if (size === Math.max(...sizes)) plans = await explainAll(database, queries)
  })
}
print(timesTable(results))
for (const plan of plans) print(plan)

/** A catalogue in a folder of its own, which goes when the work is done. */
async function withCatalogue(size: number, work: (database: Database) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'apps-bench-'))
  const filename = join(folder, 'apps.sqlite')
  try {
    await withDatabase(filename, async (database) => {
      await database.migrate()
      const started = performance.now()
      await fill(database, size)
      print(`${size} apps made in ${((performance.now() - started) / 1000).toFixed(0)} s`)
    })
    // Opened again: closing has written the log, all of the catalogue, back into the file.
    await withDatabase(filename, work)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function withDatabase(filename: string, work: (database: Database) => Promise<void>) {
  const database = openDatabase(`sqlite:${filename}`)
  try {
    await work(database)
  } finally {
    await database.close()
  }
}

function queriesOf(size: number): Query[] {
  const pages = Math.ceil(size / limit)
  const middle = Math.ceil(pages / 2)
  const [largest, smallest] = [categories[0], categories.at(-1)]
  const searches = {
    'rare word': words.rare,
    'middling word': vocabulary[400],
    'common word': words.common,
    'one letter': 's',
    'two words': `${vocabulary[100]} ${vocabulary[200]}`,
    'two words, one of them common': `${words.common} ${vocabulary[0]}`,
    'two Japanese characters': words.japanese,
    'package name': 'org.example.app77',
    typo: `${words.rare}y`,
  }
  const query = (name: string, filter: Partial<AppFilter>): Query => ({ name, filter: { page: 1, limit, ...filter } })
  const common = (name: string, filter: Partial<AppFilter>) =>
    query(`common word, ${name}`, { search: words.common, ...filter })
  return [
    ...sorts.map((sort) => query(`${sort}, first page`, { sort })),
    ...sorts.map((sort) => query(`${sort}, middle page`, { sort, page: middle })),
    ...sorts.map((sort) => query(`${sort}, last page`, { sort, page: pages })),
    ...sorts.map((sort) => query(`${sort} in the largest category`, { sort, category: largest })),
    ...sorts.map((sort) => query(`${sort} in the smallest category`, { sort, category: smallest })),
    ...Object.entries(searches).map(([name, search]) => query(`${name}, best match`, { search })),
    common('popular', { sort: 'popular' }),
    // The middle of all apps is near the end of those that have the word.
    common('best match, late page', { page: middle }),
    common('popular, late page', { sort: 'popular', page: middle }),
    common('best match in the largest category', { category: largest }),
    common('best match in the smallest category', { category: smallest }),
    common('popular in the largest category', { sort: 'popular', category: largest }),
    common('popular in the smallest category', { sort: 'popular', category: smallest }),
  ]
}

async function measureAll(database: Database, queries: Query[]): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const query of queries) measured.push(await measure(database, query))
  return measured
}

async function measure(database: Database, query: Query): Promise<Measured> {
  const times: number[] = []
  let total = 0
  for (let run = 0; run < warmUps + runs; run++) {
    const started = performance.now()
    const found = await findApps(database, query.filter)
    if (run >= warmUps) times.push(performance.now() - started)
    total = found.total
  }
  return { ...query, milliseconds: median(times), total }
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

function timesTable(results: Measured[][]): string {
  const head = ['', ...sizes.map((size) => `${size} apps, ms`), 'ratio', 'matches']
  const colAligns = head.map((_, column) => (column === 0 ? ('left' as const) : ('right' as const)))
  const table = new Table({ head, colAligns, style: { head: [], border: [], compact: true } })
  for (const [row, last] of (results.at(-1) ?? []).entries()) {
    const times = results.map((column) => column[row]?.milliseconds ?? Number.NaN)
    const ratio = (times.at(-1) ?? Number.NaN) / (times[0] ?? Number.NaN)
    table.push([last.name, ...times.map((time) => time.toFixed(2)), ratio.toFixed(1), last.total])
  }
  return table.toString()
}

/** What SQLite does for each statement of the queries. */
async function explainAll(database: Database, queries: Query[]): Promise<string[]> {
  const statements = await collect(database, queries)
  const explained: string[] = []
  for (const { sql, bindings, queries } of statements) {
    const plan = await database.read((connection) => explain(connection.sql, sql, bindings))
    explained.push(['', `-- ${some(queries)}`, readable(sql), ...plan.map((step) => `    ${step}`)].join('\n'))
  }
  return explained
}

async function collect(database: Database, queries: Query[]): Promise<Statement[]> {
  const statements = new Map<string, Statement>()
  for (const query of queries) {
    for (const { sql, bindings } of await statementsOf(database, query)) {
      const known = statements.get(sql) ?? { sql, bindings, queries: [] }
      if (!known.queries.includes(query.name)) known.queries.push(query.name)
      statements.set(sql, known)
    }
  }
  return [...statements.values()]
}

function statementsOf(database: Database, { filter }: Query): Promise<Pick<Statement, 'sql' | 'bindings'>[]> {
  return database.read(async (connection) => {
    const seen: Pick<Statement, 'sql' | 'bindings'>[] = []
    const note = ({ sql, bindings }: Statement) => seen.push({ sql, bindings })
    connection.sql.on('query', note)
    await findApps(database, filter)
    connection.sql.removeListener('query', note)
    return seen
  })
}

/** The steps of a plan, each indented by how deep it is (https://sqlite.org/eqp.html). */
async function explain(sql: Knex, statement: string, bindings: Knex.RawBinding[]): Promise<string[]> {
  const steps: { id: number; parent: number; detail: string }[] = await sql.raw(
    `explain query plan ${statement}`,
    bindings,
  )
  const depths = new Map<number, number>()
  return steps.map(({ id, parent, detail }) => {
    const depth = (depths.get(parent) ?? 0) + 1
    depths.set(id, depth)
    return '  '.repeat(depth - 1) + detail
  })
}

function some(names: string[]): string {
  const more = names.length - 3
  return names.slice(0, 3).join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** A statement without quotes, broken where its clauses begin. */
function readable(sql: string): string {
  return sql.replaceAll('`', '').replace(/ (?=(?:from|inner join|where|order by|limit) )/g, '\n  ')
}

function print(text: string) {
  process.stdout.write(`${text}\n`)
}
