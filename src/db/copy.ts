import type { Knex } from 'knex'
import { OperatorError } from '../contract/errors.ts'
import { toSearchDocument } from '../search/document.ts'
import { assertCanOpen, assertSchemaCurrent, openEngine, openMigrated, readSchemaAge } from './database.ts'
import type { Connection, NewRow, Statement } from './dialect.ts'
import { type AppRow, isListed } from './tables.ts'

/** All that there is, each table after those that it refers to, and the column by which it is walked through. */
const keyColumns = {
  developers: 'id',
  api_keys: 'id',
  categories: 'id',
  apps: 'id',
  slug_numbers: 'slug',
  reviews: 'id',
  audit: 'id',
} as const

type Table = keyof typeof keyColumns
const tableNames = Object.keys(keyColumns) as Table[]

/** Those whose ids the engine gives. */
const tablesWithIds: readonly Table[] = ['developers', 'categories', 'apps', 'reviews', 'audit']

/** How many rows there are of each table. */
export type RowCounts = Record<Table, number>

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
): Promise<{ name: string; counts: RowCounts }> {
  const [source, other] = [openEngine(from), openEngine(to)]
  const { name } = other
  if (source.name === name) throw new OperatorError(`${name} is the database itself; --to has to name another`)
  const target = await openMigrated(other)
  try {
    await assertCanOpen(source)
    const counts = await source.withExclusiveLock(async (sql) => {
      assertSchemaCurrent(source, await readSchemaAge(sql))
      return target.write((connection) => copyRows(source.connectionOf(sql), connection, onProgress))
    })
    await target.optimize()
    return { name, counts }
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

async function copyRows(source: Connection, target: Connection, onProgress: (done: number, total: number) => void) {
  const counts = await countsOf(source.sql)
  const existing = await countsOf(target.sql)
  const nonEmpty = tableNames.filter((table) => existing[table] > 0)
  if (nonEmpty.length > 0) throw new OperatorError(`what it is copied to is not empty: it has ${nonEmpty.join(', ')}`)
  const total = sumOf(counts)
  let done = 0
  await target.bulkLoad(async () => {
    for (const table of tableNames) {
      // Each batch is read, and made ready, while the one before it is written.
      let written = Promise.resolve()
      for await (const rows of batchesOf(source.sql, table)) {
        const statements = [prepareRows(target, table, rows)]
        if (table === 'apps') statements.push(await prepareIndexing(source, target, rows as AppRow[]))
        await written
        written = write(statements, rows.length)
        // Awaited above and below: until then a failure is nobody's.
        written.catch(() => {})
      }
      await written
      if (tablesWithIds.includes(table)) await target.advanceIdsTo(table, await source.lastId(table))
    }
  })
  const arrived = await countsOf(target.sql)
  const incomplete = tableNames.filter((table) => arrived[table] !== counts[table])
  if (incomplete.length > 0) throw new Error(`not all rows have arrived of ${incomplete.join(', ')}`)
  return counts

  async function write(statements: Statement[], rows: number) {
    for (const statement of statements) await statement()
    done += rows
    onProgress(done, total)
  }
}

async function countsOf(sql: Knex): Promise<RowCounts> {
  const counts: Partial<RowCounts> = {}
  for (const table of tableNames) {
    const [row] = await sql(table as string).count({ count: '*' })
    counts[table] = Number(row?.count)
  }
  return counts as RowCounts
}

const sumOf = (counts: RowCounts) => Object.values(counts).reduce((sum, count) => sum + count, 0)

async function* batchesOf(sql: Knex, table: Table): AsyncGenerator<Row[]> {
  const key = keyColumns[table]
  let last: string | number | undefined
  do {
    const rest = last === undefined ? sql<Row>(table) : sql<Row>(table).where(key, '>', last)
    const rows: Row[] = await rest.orderBy(key).limit(batchSize)
    if (rows.length > 0) yield rows
    last = rows.length < batchSize ? undefined : (rows.at(-1)?.[key] ?? undefined)
  } while (last !== undefined)
}

function prepareRows({ sql, prepareInsert }: Connection, table: Table, rows: Row[]): Statement {
  if (tablesWithIds.includes(table)) return prepareInsert(table, rows as NewRow[])
  return async () => {
    for (const row of rows) await sql<Row>(table).insert(row)
  }
}

/** As the store of apps tells search. */
async function prepareIndexing({ sql }: Connection, { search }: Connection, apps: AppRow[]): Promise<Statement> {
  const listedApps = apps.filter(isListed)
  const developers = await sql('developers')
    .whereIn('id', [...new Set(listedApps.map(({ developer_id }) => developer_id))])
    .select('id', 'name')
  const names = new Map(developers.map(({ id, name }) => [id, name]))
  return search.prepareUpsert(
    listedApps.map((app) => ({
      id: app.id,
      categoryId: app.category_id,
      ...toSearchDocument(app, names.get(app.developer_id) ?? ''),
    })),
  )
}
