import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { OperatorError } from '../contract/errors.ts'
import { toIndexedDeveloper } from '../search/terms.ts'
import { withTemporaryDirectory } from '../util/temporary-directory.ts'
import { countRows, type NewRow, type QueryRunner, readBatches } from './engine.ts'
import { indexApps } from './listed-apps.ts'
import { optimizeAtEnd } from './long-writes.ts'
import { migrate } from './migrations.ts'
import { assertUsable, openDatabase, openMigratedDatabase } from './open-database.ts'
import { findSchemaError } from './schema-age.ts'
import type { DatabaseWithTools } from './tools.ts'

/**
 * The tables to copy; a table comes after those that its foreign keys refer to. `catalogue_version`
 * is not copied, because the target has its own, and neither are sessions of moderators.
 */
const tables = [
  'developers',
  'api_keys',
  'categories',
  'apps',
  'slug_numbers',
  'reviews',
  'audit',
  'idempotency_keys',
  'operators',
] as const
type Table = (typeof tables)[number]

const primaryKeyOf = (table: Table) => (table === 'slug_numbers' ? 'slug' : 'id')
const hasGeneratedIds = (table: Table) => !['api_keys', 'operators', 'slug_numbers'].includes(table)

/** The number of rows in each table. */
type RowCounts = Record<Table, number>

type Row = Record<string, string | number | null>

/** Rows read at once. A batch takes a few megabytes of memory. */
const batchSize = 500

/**
 * Copies all rows of a database, with their ids, into another one that is migrated and empty, on
 * any engine. The source is locked meanwhile. The target is written in one transaction, so an
 * interrupted copy leaves it empty. Throws OperatorErrors.
 */
export async function copyDatabase(
  from: string,
  to: string,
  onProgress: (done: number, total: number) => void,
): Promise<{ name: string; counts: RowCounts; optimizeProblem: string | undefined }> {
  const source = openDatabase(from)
  // Opened for its name only; without a statement, it never connects.
  const { name } = openDatabase(to)
  if (source.name === name)
    throw new OperatorError(`${name} is the source; use another database for --to`)
  const target = await openMigratedDatabase(to)
  try {
    assertUsable(source.name, await source.checkHealth())
    const counts = await source.withExclusiveLock(async (sql) => {
      assertUsable(source.name, await findSchemaError(sql))
      return target.write((copy) => copyAndVerify(sql, copy, onProgress))
    })
    return { name, counts, optimizeProblem: await optimizeAtEnd(target) }
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

/**
 * Runs work on a temporary copy of a database, which is a SQLite file even if the source is
 * PostgreSQL. Does not block writers. The system's temporary directory needs enough space.
 */
export const withTemporaryCopy = <T>(
  source: DatabaseWithTools,
  work: (copy: DatabaseWithTools) => Promise<T>,
): Promise<T> =>
  withTemporaryDirectory(
    tmpdir(),
    'apps-copy',
    () => {},
    async (directory) => {
      const file = join(directory, 'copy.sqlite')
      // Only SQLite has this. It is much faster than copying rows.
      if (source.copyTo) await source.copyTo(file, { verify: false })
      const copy = openDatabase(`sqlite:${file}`)
      try {
        if (!source.copyTo) {
          await migrate(copy)
          await source.snapshot(({ sql }) => copy.write((to) => copyRows(sql, to)))
        }
        // Nobody searches the copy, so its index need not be merged at the end.
        return await work({ ...copy, optimize: () => copy.optimize({ isLast: false }) })
      } finally {
        await copy.close()
      }
    },
  )

/** Throws an OperatorError if the target is not empty, and an Error if its copy lacks rows. */
async function copyAndVerify(
  source: Knex,
  target: QueryRunner,
  onProgress: (done: number, total: number) => void,
): Promise<RowCounts> {
  const counts = await countTables(source)
  const existing = await countTables(target.sql)
  const nonEmpty = tables.filter((table) => existing[table] > 0)
  if (nonEmpty.length > 0)
    throw new OperatorError(`the target is not empty: it has rows in ${nonEmpty.join(', ')}`)
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  let done = 0
  await copyRows(source, target, (count) => {
    done += count
    onProgress(done, total)
  })
  const copied = await countTables(target.sql)
  const incomplete = tables.filter((table) => copied[table] !== counts[table])
  if (incomplete.length > 0)
    throw new Error(`rows are missing in the copy of ${incomplete.join(', ')}`)
  return counts
}

async function copyRows(
  source: Knex,
  target: QueryRunner,
  onCopied: (count: number) => void = () => {},
) {
  target.markPublicChange()
  await reserveAuditedIds(source, target)
  for (const table of tables) {
    for await (const rows of readBatches<Row>(source(table), primaryKeyOf(table), batchSize)) {
      // insertRows ensures that the target generates only greater ids later.
      if (hasGeneratedIds(table)) await target.insertRows(table, rows as NewRow[])
      else for (const row of rows) await target.sql<Row>(table).insert(row)
      if (table === 'developers')
        await target.names.index(
          rows.map(({ id, name }) => toIndexedDeveloper({ id: Number(id), name: String(name) })),
        )
      if (table === 'apps')
        await indexApps(
          target,
          rows.map(({ id }) => Number(id)),
        )
      onCopied(rows.length)
    }
  }
}

/**
 * Prevents the target from giving the ids of removed developers and categories to new ones, because
 * the audit log still refers to them. Inserts the greatest id and deletes it again: every
 * engine generates only ids greater than all earlier ones.
 */
async function reserveAuditedIds(source: Knex, { sql, insertRows }: QueryRunner) {
  const [audited] = await source('audit').max({
    developers: 'developer_id',
    categories: 'category_id',
  })
  const row = { name: '', created_at: '', changed_at: '' }
  if (audited?.developers)
    await insertRows('developers', [{ ...row, id: Number(audited.developers) }])
  if (audited?.categories)
    await insertRows('categories', [{ ...row, slug: '', id: Number(audited.categories) }])
  for (const table of ['developers', 'categories']) await sql(table).delete()
}

async function countTables(sql: Knex): Promise<RowCounts> {
  const counts: Partial<RowCounts> = {}
  for (const table of tables) counts[table] = await countRows(sql(table))
  return counts as RowCounts
}
