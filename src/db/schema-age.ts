import { readdirSync } from 'node:fs'
import type { Knex } from 'knex'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { required } from '../util/helpers.ts'
import { notMigrated } from './engine.ts'

/** Compares the schema of a database with migrations/. */

/**
 * The schema of a database, compared with the one that this program needs. `tooOld`: it was migrated
 * by a version before 3.1, whose migrations this program no longer has.
 */
export type SchemaAge = 'tooOld' | 'older' | 'current' | 'newer'

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
 * databases have them. Read at the start: an upgrade may replace the files while this program runs.
 */
export const knownMigrations: string[] = readdirSync(`${import.meta.dirname}/migrations`).toSorted()

/** The name of the schema that this program needs. */
export const newestMigration: string = required(knownMigrations.at(-1), 'a migration')

/** A column for the statements that find keys and sessions, without which nobody writes. */
export const schemaColumn = '(select max(name) from knex_migrations) as schema'
export type SchemaColumn = { schema: string }

/** Throws `unavailable` if the database was migrated or replaced while this program runs. */
export function assertSchema({ schema }: SchemaColumn): void {
  if (schema === newestMigration) return
  const cause = new OperatorError(`the database was migrated to ${schema}; restart this program`)
  throw new ServiceError(
    'unavailable',
    'The service is being upgraded; try again shortly.',
    {},
    { cause },
  )
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

export async function compareMigrations(sql: Knex): Promise<Comparison> {
  const hasAny = await sql.schema.hasTable('knex_migrations')
  const completed: string[] = hasAny ? await sql('knex_migrations').pluck('name') : []
  const [first = ''] = knownMigrations
  const pending = knownMigrations.filter((name) => !completed.includes(name))
  const former = completed.filter((name) => name < first)
  return { age: findAge(), pending, former }

  function findAge(): SchemaAge {
    if (completed.some((name) => name > first && !knownMigrations.includes(name))) return 'newer'
    if (former.length > 0 && pending.includes(first)) return 'tooOld'
    return pending.length > 0 ? 'older' : 'current'
  }
}
