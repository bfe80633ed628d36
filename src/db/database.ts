import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { Bulkhead } from './bulkhead.ts'
import {
  type Connection,
  type Dialect,
  type Engine,
  notMigrated,
  type SchemaHelpers,
  type ServerOptions,
} from './dialect.ts'
import { postgres } from './postgres/dialect.ts'
import { sqlite } from './sqlite/dialect.ts'

/** A new engine is a line here. */
const dialects: readonly Dialect[] = [sqlite, postgres]

/** How DATABASE_URL can name a database, in words. */
export const urlFormats = dialects.map(({ urlFormat }) => urlFormat).join(', or ')

const dialectOf = (url: string) => dialects.find(({ acceptsUrl }) => acceptsUrl(url))

export const isDatabaseUrl = (text: string) => dialectOf(text) !== undefined

/** Whether one may lead past a pooler to what the other names. */
export function isDirectUrl(text: string, of: string): boolean {
  const dialect = dialectOf(text)
  return dialect?.supportsPooler === true && dialect === dialectOf(of)
}

/** How DATABASE_DIRECT_URL can name a database, in words. */
export const directUrlFormats = dialects
  .filter(({ supportsPooler }) => supportsPooler)
  .map(({ urlFormat }) => urlFormat)
  .join(', or ')

/** What may be said of work with the database. */
export type WorkOptions = Readonly<{
  /** It can take long: searches, and pages that are reached by passing many apps. Only so much of that is done at once. */
  isExpensive?: boolean
  /** Aborted when nobody waits for it any more: what has not begun then does not. */
  signal?: AbortSignal | undefined
}>

/** The ways in throw `unavailable` where the database cannot be reached or is overloaded. */
export type Database = Readonly<{
  /** For one statement, which sees one moment of the data. Cannot write. */
  read: <T>(work: (connection: Connection) => Promise<T>, options?: WorkOptions) => Promise<T>
  /** For several statements that must agree: all see the same moment. Cannot write. */
  snapshot: <T>(work: (connection: Connection) => Promise<T>, options?: WorkOptions) => Promise<T>
  /**
   * One transaction: all of the work happens or none. When it resolves, it survives a crash. An engine may have the work run
   * again from its beginning, so it has no effects but through its connection. What it reads in order to change it, it locks
   * (`lock`): another transaction may be at the same.
   */
  write: <T>(work: (connection: Connection) => Promise<T>, options?: Omit<WorkOptions, 'isExpensive'>) => Promise<T>
  /** Whether it may have such work run again, so that what the work needs for it has to be kept. */
  retriesTransactions: boolean
  /** Brings the schema up to date; returns the names of the migrations it ran. */
  migrate: () => Promise<string[]>
  /** How the schema compares with this program's. Rejects where the database cannot be read. */
  schemaAge: () => Promise<SchemaAge>
  /** Why it cannot be worked with now, as "is damaged"; undefined where nothing is known against it. Waits for no statement. */
  checkHealth: () => Promise<string | undefined>
  /** Runs the seeds of a folder, each in a transaction. */
  seed: (directory: string) => Promise<void>
  /** A time: whatever was written before it is there for all who read from now on. The clocks of others may differ. */
  committedBefore: () => Promise<Date>
  /** What version the data has: another text after every commit, by whatever process. */
  dataVersion: () => Promise<string>
  /**
   * Writes the database as it is now into a new file while others go on writing, and checks what it wrote: a database
   * complete in itself. Where it throws, what it left under that name is the caller's to remove.
   */
  copyTo: (file: string) => Promise<{ apps: number }>
  /**
   * Gives work a database that begins as this one is now. Others go on writing to this one; nobody sees what is done in the
   * other, and nothing of it remains.
   */
  dryRun: <T>(work: (database: Database) => Promise<T>) => Promise<T>
  usage: () => Usage
  /** For between turns in which much is written: what a commit would else have to wait for. */
  checkpoint: () => Promise<void>
  /** For after much was written. */
  optimize: () => Promise<void>
  /** Keeps reading quick, by a process of its own where that takes long. For a server to call from time to time. */
  maintain: (signal?: AbortSignal) => Promise<void>
  close: () => Promise<void>
}>

/** How busy a database is. */
export type Usage = Readonly<{
  pools: readonly Readonly<{ name: string; used: number; idle: number; waiting: number }>[]
  /** Transactions that were written since it was opened. */
  writes: number
  /** How much was sent away since then, by bulkhead: too much waited, or it waited too long. */
  shed: Readonly<Record<string, number>>
}>

export type SchemaAge = 'older' | 'current' | 'newer'

/** A file of migrations/. Unlike knex's own, it is given what each engine does in words of its own. */
type Migration = { up: (sql: Knex, schema: SchemaHelpers) => Promise<void>; down: () => Promise<void> }

/** A file of a folder of seeds. */
type Seed = { seed: (connection: Connection) => Promise<void> }

/** Takes an address that `isDatabaseUrl` lets through. Touches nothing: the first read or write does. */
export const openDatabase = (url: string, options?: ServerOptions): Database => databaseFor(openEngine(url, options))

/** What is beneath a database, for work on two of them. Touches nothing, either. */
export function openEngine(url: string, options?: ServerOptions): Engine {
  const dialect = dialectOf(url)
  if (!dialect) throw new Error('no engine has such an address')
  return dialect.open(url, options)
}

/**
 * How much may wait, and how long. What is cheap waits only while very much comes at once. Of what is dear much may wait,
 * but not for long: who is sent away at once comes back at once. Docs: docs/operating.md, decision 19.
 */
const queueLimits = {
  cheap: { queueLimit: 2000, queueTimeout: 2000 },
  expensive: { queueLimit: 500, queueTimeout: 500 },
  write: { queueLimit: 500, queueTimeout: 5000 },
}

export function databaseFor(engine: Engine): Database {
  const { name, reader, writer, connectionOf } = engine
  const cheap = new Bulkhead({ ...queueLimits.cheap, concurrency: engine.concurrency.cheap })
  const expensive = new Bulkhead({ ...queueLimits.expensive, concurrency: engine.concurrency.expensive })
  const writing = new Bulkhead({ ...queueLimits.write, concurrency: engine.concurrency.write })

  const runRead = <T>(work: () => Promise<T>, { isExpensive = false, signal }: WorkOptions = {}) =>
    (isExpensive ? expensive : cheap).run(work, signal).catch(rethrowUnavailable)

  const readConnection = connectionOf(reader)

  function rethrowUnavailable(error: unknown): never {
    if (!engine.isUnavailable(error)) throw error
    const message = 'The service is temporarily unavailable; try again shortly.'
    throw new ServiceError('unavailable', message, {}, { cause: error })
  }

  function rethrowCopyError(error: unknown): never {
    const reason = engine.describeError(error)
    throw reason ? new ServiceError('unavailable', `the database cannot be copied: ${reason}`) : error
  }

  let writes = 0

  async function transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        const result = await writer.transaction((sql) => work(connectionOf(sql)))
        engine.assertInPlace()
        writes++
        return result
      } catch (error) {
        if (attempts === maxAttempts || !engine.isConflict?.(error)) throw error
      }
    }
  }

  return {
    read: (work, options) => runRead(() => work(readConnection), options),
    snapshot: (work, options) =>
      runRead(() => reader.transaction((sql) => work(connectionOf(sql)), engine.snapshot), options),
    write: (work, { signal } = {}) => writing.run(() => transaction(work), signal).catch(rethrowUnavailable),
    retriesTransactions: engine.isConflict !== undefined,

    async migrate() {
      try {
        await engine.prepareStorage()
        return await engine.migration(async (sql) => {
          if ((await readSchemaAge(sql)) === 'newer') throw new OperatorError(schemaMessages.newer)
          await releaseMigrationsLock(sql)
          const [, names] = await sql.migrate.latest({ migrationSource: migrationsIn(engine) })
          return names
        })
      } catch (error) {
        const reason = error instanceof OperatorError ? error.message : engine.describeError(error)
        throw reason ? new OperatorError(`the database ${name} cannot be migrated: ${reason}`) : error
      }
    },

    schemaAge: () => cheap.run(() => readSchemaAge(reader)),
    checkHealth: engine.checkHealth,

    async seed(directory) {
      await writer.seed.run({ seedSource: seedsIn(directory, connectionOf) })
    },

    committedBefore: () => engine.committedBefore().catch(rethrowUnavailable),
    dataVersion: () => engine.dataVersion().catch(rethrowUnavailable),

    copyTo: (file) => engine.copyTo(file, inspectCopy).catch(rethrowCopyError),
    dryRun: (work) => engine.dryRun((copy) => work(databaseFor(copy))).catch(rethrowCopyError),

    usage: () => ({
      pools: [poolUsage('reader', reader, [cheap, expensive]), poolUsage('writer', writer, [writing])],
      writes,
      shed: { cheap: cheap.rejected, dear: expensive.rejected, write: writing.rejected },
    }),

    checkpoint: () => engine.checkpoint().catch(rethrowUnavailable),
    optimize: () => engine.optimize().catch(rethrowUnavailable),
    maintain: (signal) => engine.maintain(signal).catch(rethrowUnavailable),
    close: engine.close,
  }
}

/** knex's own pool is tarn's. What waits does so in the bulkheads before it, but for what is not of the bulkheads. */
function poolUsage(name: string, { client }: Knex, bulkheads: Bulkhead[]) {
  const pool: { numUsed: () => number; numFree: () => number; numPendingAcquires: () => number } = client.pool
  const waiting = bulkheads.reduce((sum, bulkhead) => sum + bulkhead.queued, pool.numPendingAcquires())
  return { name, used: pool.numUsed(), idle: pool.numFree(), waiting }
}

/** How often work that loses against other transactions is begun, before its caller is told to try again. */
const maxAttempts = 10

const migrationsDirectory = `${import.meta.dirname}/migrations`

/** The name of the schema that this program needs. */
export const newestMigration = async (): Promise<string> =>
  (await readdir(migrationsDirectory)).toSorted().at(-1)?.replace(/\.ts$/, '') ?? ''

/** Names hold the file's ending, as the databases that are there know them. */
const migrationsIn = ({ schema }: Engine): Knex.MigrationSource<string> => ({
  getMigrations: async () => (await readdir(migrationsDirectory)).toSorted(),
  getMigrationName: (name) => name,
  async getMigration(name) {
    const { up, down }: Migration = await import(join(migrationsDirectory, name))
    return { up: (sql) => up(sql, schema), down }
  },
})

const seedsIn = (directory: string, connectionOf: Engine['connectionOf']): Knex.SeedSource<string> => ({
  getSeeds: async () => (await readdir(directory)).filter((name) => name.endsWith('.ts')).toSorted(),
  async getSeed(name) {
    const { seed }: Seed = await import(join(directory, name))
    return { seed: (writer) => writer.transaction((sql) => seed(connectionOf(sql))) }
  },
})

/** knex's own, which outlives a process that is killed. Here it guards nothing. */
async function releaseMigrationsLock(sql: Knex) {
  if (!(await sql.schema.hasTable('knex_migrations_lock'))) return
  await sql('knex_migrations_lock').where({ is_locked: 1 }).update({ is_locked: 0 })
}

export async function readSchemaAge(sql: Knex): Promise<SchemaAge> {
  if (!(await sql.schema.hasTable('knex_migrations'))) return 'older'
  const completed = new Set<string>(await sql('knex_migrations').pluck('name'))
  const known = new Set(await readdir(migrationsDirectory))
  if (!completed.isSubsetOf(known)) return 'newer'
  return known.isSubsetOf(completed) ? 'current' : 'older'
}

async function inspectCopy(copy: Knex): Promise<{ apps: number }> {
  if ((await readSchemaAge(copy)) !== 'current') {
    throw new OperatorError('the copy is not sound, and the database itself may not be: migrations are missing')
  }
  const counted = await copy('apps').count({ apps: '*' }).first()
  return { apps: Number(counted?.apps) }
}

/** The database as a running service needs it: there already, and migrated. Throws `unavailable` with what to do. */
export const openMigratedDatabase = (url: string, options?: ServerOptions): Promise<Database> =>
  openMigrated(openEngine(url, options))

/** The same of an engine, which it closes where it throws. */
export async function openMigrated(engine: Engine): Promise<Database> {
  const database = databaseFor(engine)
  try {
    await assertCanOpen(engine)
    assertSchemaCurrent(engine, await database.schemaAge().catch(() => undefined))
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Throws `unavailable` where something is known against a database before it is touched. */
export async function assertCanOpen(engine: Engine) {
  const openError = await engine.findOpenError()
  if (openError !== undefined) throw openFailure(engine, openError)
}

/** The same where its schema is not this program's, or could not be read. */
export function assertSchemaCurrent(engine: Engine, age: SchemaAge | undefined) {
  if (age !== 'current') throw openFailure(engine, age === undefined ? engine.unreadableMessage : schemaMessages[age])
}

const openFailure = ({ name }: Engine, openError: string) =>
  new ServiceError('unavailable', `the database ${name} ${openError}`)

const schemaMessages = {
  older: notMigrated,
  newer: 'was migrated by a newer version of this program; run that one',
}
