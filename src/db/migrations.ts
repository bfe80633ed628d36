import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { OperatorError } from '../contract/errors.ts'
import { required } from '../util/helpers.ts'
import { type Engine, notCreated, notMigrated, type SchemaHelpers } from './engine.ts'

/** Compares the schema of a database with migrations/, and runs the migrations that are missing. */

/**
 * The schema of a database, compared with the one that this program needs. `tooOld`: it was migrated
 * by a version before 3.1, whose migrations this program no longer has.
 */
export type SchemaAge = 'tooOld' | 'older' | 'current' | 'newer'

/** A module in migrations/. */
type Migration = { up: (sql: Knex, schema: SchemaHelpers) => Promise<void> }

const migrationsDirectory = `${import.meta.dirname}/migrations`

/** Why a database of this age cannot be migrated. */
export const migrationErrors = {
  tooOld: 'was migrated by a version before 3.1; upgrade to 3.1.1 first',
  older: undefined,
  current: undefined,
  newer: 'was migrated by a newer version of this program; run that version',
}

/** Why a database of this age cannot be used, such as "is not migrated to this version; …". */
const schemaErrors = { ...migrationErrors, older: notMigrated }

/**
 * The names of all migrations, in the order in which they run. They include `.ts`, as existing
 * databases have them.
 */
export const knownMigrations = async (): Promise<string[]> =>
  (await readdir(migrationsDirectory)).toSorted()

/** The name of the schema that this program needs. */
export async function newestMigration(): Promise<string> {
  return required((await knownMigrations()).at(-1), 'a migration').replace(/\.ts$/, '')
}

/** Milliseconds. Most locks are held for less. */
const waitNotice = 5000

/** See `Database.migrate`. Calls `onChange` in the transaction if it has run any migration. */
export async function migrate(
  engine: Engine,
  onWait: () => void,
  onChange: (sql: Knex) => Promise<void>,
): Promise<string[]> {
  const notice = setTimeout(onWait, waitNotice)
  try {
    return await engine.migrate(async (sql, schema) => {
      clearTimeout(notice)
      const names = await runMigrations(sql, schema)
      if (names.length > 0) await onChange(sql)
      return names
    })
  } catch (error) {
    const reason = error instanceof OperatorError ? error.message : engine.explain(error).reason
    throw reason
      ? new OperatorError(`the database ${engine.name} cannot be migrated: ${reason}`)
      : error
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
  // knex's lock outlives a killed process, and `engine.migrate` admits one process at a time.
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
  getMigrations: knownMigrations,
  getMigrationName: (name) => name,
  async getMigration(name) {
    const { up }: Migration = await import(join(migrationsDirectory, name))
    // knex requires a `down`, but the way back is a backup.
    return {
      up: (sql) => up(sql, schema),
      down: () => Promise.reject(new Error('restore a backup')),
    }
  },
})

/** See `Database.pendingMigrations`. */
export async function findPendingMigrations(engine: Engine): Promise<string[]> {
  const { name } = engine
  const healthError = await engine.checkHealth()
  if (healthError === notCreated || healthError === notMigrated) return knownMigrations()
  if (healthError !== undefined) throw new OperatorError(`the database ${name} ${healthError}`)
  return readPendingMigrations(engine.reader, name)
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

/** Compares the schema with the one that this program needs. */
export const readSchemaAge = async (sql: Knex): Promise<SchemaAge> =>
  (await compareMigrations(sql)).age

/**
 * Why this program cannot use the schema, such as "is not migrated to this version; …"; undefined
 * if it can.
 */
export const findSchemaError = (sql: Knex): Promise<string | undefined> =>
  readSchemaAge(sql).then(
    (age) => schemaErrors[age],
    () => 'cannot be read',
  )

type Comparison = {
  age: SchemaAge
  /** The migrations that the database lacks, in their order. */
  pending: string[]
  /** The migrations of versions before 4.0, whose result the first one creates now. */
  former: string[]
}

async function compareMigrations(sql: Knex): Promise<Comparison> {
  const hasAny = await sql.schema.hasTable('knex_migrations')
  const completed: string[] = hasAny ? await sql('knex_migrations').pluck('name') : []
  const known = await knownMigrations()
  const [first = ''] = known
  const pending = known.filter((name) => !completed.includes(name))
  const former = completed.filter((name) => name < first)
  return { age: findAge(), pending, former }

  function findAge(): SchemaAge {
    if (completed.some((name) => name > first && !known.includes(name))) return 'newer'
    if (former.length > 0 && pending.includes(first)) return 'tooOld'
    return pending.length > 0 ? 'older' : 'current'
  }
}
