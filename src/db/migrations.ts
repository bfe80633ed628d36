import type { Knex } from 'knex'
import { OperatorError } from '../contract/errors.ts'
import { type Database, renewVersion } from './database.ts'
import { notCreated, notMigrated } from './engine.ts'
import { compareMigrations, knownMigrations, migrationErrors } from './schema-age.ts'
import type { DatabaseWithTools, SchemaHelpers } from './tools.ts'

/** Runs the migrations that a database lacks. */

/** A module in migrations/. */
type Migration = { up: (sql: Knex, schema: SchemaHelpers) => Promise<void> }

/** Milliseconds. Most locks are held for less. */
const waitNotice = 5000

/**
 * Brings the schema up to date; returns the names of the migrations it ran. Calls `onWait` if it has
 * not begun after a while, because another process holds a lock.
 */
export async function migrate(
  { name, explain, withMigrationLock }: DatabaseWithTools,
  onWait: () => void = () => {},
): Promise<string[]> {
  const notice = setTimeout(onWait, waitNotice)
  try {
    return await withMigrationLock(async (sql, schema) => {
      clearTimeout(notice)
      const names = await runMigrations(sql, schema)
      if (names.length > 0) await renewVersion(sql)
      return names
    })
  } catch (error) {
    const reason = error instanceof OperatorError ? error.message : explain(error).reason
    throw reason ? new OperatorError(`the database ${name} cannot be migrated: ${reason}`) : error
  } finally {
    clearTimeout(notice)
  }
}

/** Returns the names of the migrations that it ran. */
async function runMigrations(sql: Knex, schema: SchemaHelpers): Promise<string[]> {
  const { age, former } = await compareMigrations(sql)
  const reason = migrationErrors[age]
  if (reason) throw new OperatorError(reason)
  // knex refuses names without a file.
  if (former.length > 0) await sql('knex_migrations').whereIn('name', former).delete()
  // knex's lock outlives a killed process, and `withMigrationLock` admits one process at a time.
  await sql.migrate.forceFreeMigrationsLock()
  const [, names] = await sql.migrate.latest({
    migrationSource: migrationSource(schema),
    // `sql` is a transaction already. Within a savepoint, SQLite keeps each page that a statement
    // changes in memory: 8 GB when 1,000,000 apps are indexed.
    disableTransactions: true,
  })
  return names
}

const migrationSource = (schema: SchemaHelpers): Knex.MigrationSource<string> => ({
  getMigrations: async () => knownMigrations,
  getMigrationName: (name) => name,
  async getMigration(name) {
    const { up }: Migration = await import(`${import.meta.dirname}/migrations/${name}`)
    // knex requires a `down`, but the way back is a backup.
    return {
      up: (sql) => up(sql, schema),
      down: () => Promise.reject(new Error('restore a backup')),
    }
  },
})

/**
 * The names of the migrations that `migrate` would run. Changes nothing. Throws an OperatorError if
 * the database is unusable, or if `migrate` would refuse its version.
 */
export async function findPendingMigrations(database: Database): Promise<string[]> {
  const { name } = database
  const healthError = await database.checkHealth()
  if (healthError === notCreated || healthError === notMigrated) return knownMigrations
  if (healthError !== undefined) throw new OperatorError(`the database ${name} ${healthError}`)
  return database.read(({ sql }) => readPendingMigrations(sql, name))
}

/**
 * The names of the migrations that the database lacks, in their order. Throws an OperatorError if
 * this program cannot migrate it.
 */
export async function readPendingMigrations(sql: Knex, name: string): Promise<string[]> {
  const { age, pending } = await compareMigrations(sql)
  const reason = migrationErrors[age]
  if (reason) throw new OperatorError(`the database ${name} ${reason}`)
  return pending
}
