import type { Knex } from 'knex'
import { Refusal } from '../contract/errors.ts'
import { searchDocument, searchedName } from '../search/document.ts'
import { ageOf, demandCurrent, demandUsable, engineOf, openMigrated } from './database.ts'
import type { Connection, NewRow, Statement } from './dialect.ts'
import { type AppRow, isListed } from './tables.ts'

/** All that there is, each table after those that it refers to, and the column by which it is walked through. */
const tables = {
  developers: 'id',
  api_keys: 'id',
  categories: 'id',
  apps: 'id',
  slug_numbers: 'slug',
  reviews: 'id',
  audit: 'id',
} as const

type Table = keyof typeof tables
const tableNames = Object.keys(tables) as Table[]

/** Those whose ids the engine gives. */
const numbered: readonly Table[] = ['developers', 'categories', 'apps', 'reviews', 'audit']

/** How many rows there are of each table. */
export type Counts = Record<Table, number>

type Row = Record<string, string | number | null>

/** How many rows are read and written at a time: some megabytes. */
const batchSize = 500

/**
 * Copies all of a database, ids, keys and audit too, into another one, of whatever engine, that is migrated and empty. Nobody
 * writes to the first meanwhile; all that goes into the other does so in one transaction, so that a copy which is stopped
 * leaves nothing there, and can be begun again. Throws where either of them is not so.
 */
export async function copyDatabase(
  from: string,
  to: string,
  onProgress: (done: number, total: number) => void,
): Promise<{ name: string; counts: Counts }> {
  const [source, other] = [engineOf(from), engineOf(to)]
  const { name } = other
  if (source.name === name) throw new Refusal(`${name} is the database itself; --to has to name another`)
  const target = await openMigrated(other)
  try {
    await demandUsable(source)
    const counts = await source.still(async (sql) => {
      demandCurrent(source, await ageOf(sql))
      return target.write((connection) => copyRows(source.connectionOf(sql), connection, onProgress))
    })
    await target.settle()
    return { name, counts }
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

async function copyRows(source: Connection, target: Connection, onProgress: (done: number, total: number) => void) {
  const counts = await countsOf(source.sql)
  const there = await countsOf(target.sql)
  const taken = tableNames.filter((table) => there[table] > 0)
  if (taken.length > 0) throw new Refusal(`what it is copied to is not empty: it has ${taken.join(', ')}`)
  const total = sumOf(counts)
  let done = 0
  await target.filling(async () => {
    for (const table of tableNames) {
      // Each batch is read, and made ready, while the one before it is written.
      let written = Promise.resolve()
      for await (const rows of batchesOf(source.sql, table)) {
        const statements = [insertion(target, table, rows)]
        if (table === 'apps') statements.push(await entry(source, target, rows as AppRow[]))
        await written
        written = write(statements, rows.length)
        // Awaited above and below: until then a failure is nobody's.
        written.catch(() => {})
      }
      await written
      if (numbered.includes(table)) await target.giveIdsBehind(table, await source.lastId(table))
    }
  })
  const arrived = await countsOf(target.sql)
  const short = tableNames.filter((table) => arrived[table] !== counts[table])
  if (short.length > 0) throw new Error(`not all rows have arrived of ${short.join(', ')}`)
  return counts

  async function write(statements: Statement[], rows: number) {
    for (const statement of statements) await statement()
    done += rows
    onProgress(done, total)
  }
}

async function countsOf(sql: Knex): Promise<Counts> {
  const counts: Partial<Counts> = {}
  for (const table of tableNames) {
    const [row] = await sql(table as string).count({ count: '*' })
    counts[table] = Number(row?.count)
  }
  return counts as Counts
}

const sumOf = (counts: Counts) => Object.values(counts).reduce((sum, count) => sum + count, 0)

async function* batchesOf(sql: Knex, table: Table): AsyncGenerator<Row[]> {
  const key = tables[table]
  let last: string | number | undefined
  do {
    const rest = last === undefined ? sql<Row>(table) : sql<Row>(table).where(key, '>', last)
    const rows: Row[] = await rest.orderBy(key).limit(batchSize)
    if (rows.length > 0) yield rows
    last = rows.length < batchSize ? undefined : (rows.at(-1)?.[key] ?? undefined)
  } while (last !== undefined)
}

function insertion({ sql, insertion }: Connection, table: Table, rows: Row[]): Statement {
  if (numbered.includes(table)) return insertion(table, rows as NewRow[])
  return async () => {
    for (const row of rows) await sql<Row>(table).insert(row)
  }
}

/** As the store of apps tells search. */
async function entry({ sql }: Connection, { search }: Connection, apps: AppRow[]): Promise<Statement> {
  const shown = apps.filter(isListed)
  const developers = await sql('developers')
    .whereIn('id', [...new Set(shown.map(({ developer_id }) => developer_id))])
    .select('id', 'name', 'next_name')
  const names = new Map(developers.map((developer) => [developer.id, searchedName(developer)]))
  return search.entry(
    shown.map((app) => ({
      id: app.id,
      categoryId: app.category_id,
      ...searchDocument(app, names.get(app.developer_id) ?? ''),
    })),
  )
}
