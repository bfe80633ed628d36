import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { Refusal, ServiceError } from '../contract/errors.ts'
import { batched } from './batch-select.ts'
import { Lane } from './bulkhead.ts'
import {
  type Connection,
  type Dialect,
  type Engine,
  type SchemaHelpers,
  type ServerOptions,
  unmigrated,
} from './dialect.ts'
import { postgres } from './postgres/dialect.ts'
import { sqlite } from './sqlite/dialect.ts'

/** A new engine is a line here. */
const dialects: readonly Dialect[] = [sqlite, postgres]

/** How DATABASE_URL can name a database, in words. */
export const addressForms = dialects.map(({ addressForm }) => addressForm).join(', or ')

const dialectOf = (address: string) => dialects.find(({ accepts }) => accepts(address))

export const isAddress = (text: string) => dialectOf(text) !== undefined

/** Whether one may lead past a pooler to what the other names. */
export function isDirectAddress(text: string, of: string): boolean {
  const dialect = dialectOf(text)
  return dialect?.hasPoolers === true && dialect === dialectOf(of)
}

/** How DATABASE_DIRECT_URL can name a database, in words. */
export const directAddressForms = dialects
  .filter(({ hasPoolers }) => hasPoolers)
  .map(({ addressForm }) => addressForm)
  .join(', or ')

/** What may be said of work with the database. */
export type Demand = Readonly<{
  /** It can take long: searches, and pages that are reached by passing many apps. Only so much of that is done at once. */
  isDear?: boolean
  /** Aborted when nobody waits for it any more: what has not begun then does not. */
  signal?: AbortSignal | undefined
}>

/**
 * A read that is a `select` of one row at most, and nothing else: what is asked for by the same statement in one turn of the
 * event loop goes to the database together, as nobody's in particular.
 */
type Batched = Readonly<{ isBatched: true }>

/** The ways in throw `unavailable` where the database cannot be reached or is overloaded. */
export type Database = Readonly<{
  /** For one statement, which sees one moment of the data. Cannot write. */
  read: <T>(work: (connection: Connection) => Promise<T>, demand?: Demand | Batched) => Promise<T>
  /** For several statements that must agree: all see the same moment. Cannot write. */
  snapshot: <T>(work: (connection: Connection) => Promise<T>, demand?: Demand) => Promise<T>
  /**
   * One transaction: all of the work happens or none. When it resolves, it survives a crash. An engine may have the work run
   * again from its beginning, so it has no effects but through its connection. What it reads in order to change it, it locks
   * (`lock`): another transaction may be at the same.
   */
  write: <T>(work: (connection: Connection) => Promise<T>, demand?: Omit<Demand, 'isDear'>) => Promise<T>
  /** Whether it may have such work run again, so that what the work needs for it has to be kept. */
  runsAgain: boolean
  /** Brings the schema up to date; returns the names of the migrations it ran. */
  migrate: () => Promise<string[]>
  /** How the schema compares with this program's. Rejects where the database cannot be read. */
  schemaAge: () => Promise<SchemaAge>
  /** Why it cannot be worked with now, as "is damaged"; undefined where nothing is known against it. Waits for no statement. */
  ailment: () => Promise<string | undefined>
  /** Runs the seeds of a folder, each in a transaction. */
  seed: (directory: string) => Promise<void>
  /** A time: whatever was written before it is there for all who read from now on. The clocks of others may differ. */
  horizon: () => Promise<Date>
  /** What version the data has: another text after every commit, by whatever process. */
  version: () => Promise<string>
  /**
   * Writes the database as it is now into a new file while others go on writing, and checks what it wrote: a database
   * complete in itself. Where it throws, what it left under that name is the caller's to remove.
   */
  copyTo: (file: string) => Promise<{ apps: number }>
  /**
   * Gives work a database that begins as this one is now. Others go on writing to this one; nobody sees what is done in the
   * other, and nothing of it remains.
   */
  rehearse: <T>(work: (database: Database) => Promise<T>) => Promise<T>
  usage: () => Usage
  /** For between turns in which much is written: what a commit would else have to wait for. */
  checkpoint: () => Promise<void>
  /** For after much was written. */
  settle: () => Promise<void>
  /** Keeps reading quick, by a process of its own where that takes long. For a server to call from time to time. */
  upkeep: (signal?: AbortSignal) => Promise<void>
  close: () => Promise<void>
}>

/** How busy a database is. */
export type Usage = Readonly<{
  pools: readonly Readonly<{ name: string; used: number; idle: number; waiting: number }>[]
  /** Transactions that were written since it was opened. */
  writes: number
  /** How much was sent away since then, by lane: too much waited, or it waited too long. */
  shed: Readonly<Record<string, number>>
}>

export type SchemaAge = 'older' | 'current' | 'newer'

/** A file of migrations/. Unlike knex's own, it is given what each engine does in words of its own. */
type Migration = { up: (sql: Knex, schema: SchemaHelpers) => Promise<void>; down: () => Promise<void> }

/** A file of a folder of seeds. */
type Seed = { seed: (connection: Connection) => Promise<void> }

/** Takes an address that `isAddress` lets through. Touches nothing: the first read or write does. */
export const openDatabase = (address: string, options?: ServerOptions): Database =>
  databaseOf(engineOf(address, options))

/** What is beneath a database, for work on two of them. Touches nothing, either. */
export function engineOf(address: string, options?: ServerOptions): Engine {
  const dialect = dialectOf(address)
  if (!dialect) throw new Error('no engine has such an address')
  return dialect.open(address, options)
}

/**
 * How much may wait, and how long. What is cheap waits only while very much comes at once. Of what is dear much may wait,
 * but not for long: who is sent away at once comes back at once. Docs: docs/operating.md, decision 24.
 */
const bounds = {
  cheap: { length: 2000, patience: 2000 },
  dear: { length: 500, patience: 500 },
  write: { length: 500, patience: 5000 },
}

export function databaseOf(engine: Engine): Database {
  const { name, reader, writer, connectionOf } = engine
  const cheap = new Lane({ ...bounds.cheap, width: engine.widths.cheap })
  const dear = new Lane({ ...bounds.dear, width: engine.widths.dear })
  const writing = new Lane({ ...bounds.write, width: engine.widths.write })

  const reading = <T>(work: () => Promise<T>, { isDear = false, signal }: Demand = {}) =>
    (isDear ? dear : cheap).run(work, signal).catch(rethrow)

  const readers = connectionOf(reader)
  const batching = { ...readers, select: batched((...asked) => reading(() => readers.select(...asked))) }

  function rethrow(error: unknown): never {
    if (!engine.isUnavailable(error)) throw error
    const message = 'The service is not available just now; try again shortly.'
    throw new ServiceError('unavailable', message, {}, { cause: error })
  }

  function rethrowOfCopy(error: unknown): never {
    const reason = engine.reasonOf(error)
    throw reason ? new ServiceError('unavailable', `the database cannot be copied: ${reason}`) : error
  }

  let writes = 0

  async function transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        const result = await writer.transaction((sql) => work(connectionOf(sql)))
        engine.demandInPlace()
        writes++
        return result
      } catch (error) {
        if (attempts === mostAttempts || !engine.isConflict?.(error)) throw error
      }
    }
  }

  return {
    read: (work, demand = {}) => ('isBatched' in demand ? work(batching) : reading(() => work(readers), demand)),
    snapshot: (work, demand) =>
      reading(() => reader.transaction((sql) => work(connectionOf(sql)), engine.snapshot), demand),
    write: (work, { signal } = {}) => writing.run(() => transaction(work), signal).catch(rethrow),
    runsAgain: engine.isConflict !== undefined,

    async migrate() {
      try {
        await engine.makePlace()
        return await engine.migration(async (sql) => {
          if ((await ageOf(sql)) === 'newer') throw new Refusal(meaningOf.newer)
          await freeMigrationsLock(sql)
          const [, names] = await sql.migrate.latest({ migrationSource: migrationsIn(engine) })
          return names
        })
      } catch (error) {
        const reason = error instanceof Refusal ? error.message : engine.reasonOf(error)
        throw reason ? new Refusal(`the database ${name} cannot be migrated: ${reason}`) : error
      }
    },

    schemaAge: () => cheap.run(() => ageOf(reader)),
    ailment: engine.ailment,

    async seed(directory) {
      await writer.seed.run({ seedSource: seedsIn(directory, connectionOf) })
    },

    horizon: () => engine.horizon().catch(rethrow),
    version: () => engine.version().catch(rethrow),

    copyTo: (file) => engine.copyTo(file, inspect).catch(rethrowOfCopy),
    rehearse: (work) => engine.rehearse((rehearsed) => work(databaseOf(rehearsed))).catch(rethrowOfCopy),

    usage: () => ({
      pools: [poolOf('reader', reader, [cheap, dear]), poolOf('writer', writer, [writing])],
      writes,
      shed: { cheap: cheap.refused, dear: dear.refused, write: writing.refused },
    }),

    checkpoint: () => engine.checkpoint().catch(rethrow),
    settle: () => engine.settle().catch(rethrow),
    upkeep: (signal) => engine.upkeep(signal).catch(rethrow),
    close: engine.close,
  }
}

/** knex's own pool is tarn's. What waits does so in the lanes before it, but for what is not of the lanes. */
function poolOf(name: string, { client }: Knex, lanes: Lane[]) {
  const pool: { numUsed: () => number; numFree: () => number; numPendingAcquires: () => number } = client.pool
  const waiting = lanes.reduce((sum, lane) => sum + lane.waiting, pool.numPendingAcquires())
  return { name, used: pool.numUsed(), idle: pool.numFree(), waiting }
}

/** How often work that loses against other transactions is begun, before its caller is told to try again. */
const mostAttempts = 10

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
async function freeMigrationsLock(sql: Knex) {
  if (!(await sql.schema.hasTable('knex_migrations_lock'))) return
  await sql('knex_migrations_lock').where({ is_locked: 1 }).update({ is_locked: 0 })
}

export async function ageOf(sql: Knex): Promise<SchemaAge> {
  if (!(await sql.schema.hasTable('knex_migrations'))) return 'older'
  const completed = new Set<string>(await sql('knex_migrations').pluck('name'))
  const known = new Set(await readdir(migrationsDirectory))
  if (!completed.isSubsetOf(known)) return 'newer'
  return known.isSubsetOf(completed) ? 'current' : 'older'
}

async function inspect(copy: Knex): Promise<{ apps: number }> {
  if ((await ageOf(copy)) !== 'current') {
    throw new Refusal('the copy is not sound, and the database itself may not be: migrations are missing')
  }
  const counted = await copy('apps').count({ apps: '*' }).first()
  return { apps: Number(counted?.apps) }
}

/** The database as a running service needs it: there already, and migrated. Throws `unavailable` with what to do. */
export const openMigratedDatabase = (address: string, options?: ServerOptions): Promise<Database> =>
  openMigrated(engineOf(address, options))

/** The same of an engine, which it closes where it throws. */
export async function openMigrated(engine: Engine): Promise<Database> {
  const database = databaseOf(engine)
  try {
    await demandUsable(engine)
    demandCurrent(engine, await database.schemaAge().catch(() => undefined))
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Throws `unavailable` where something is known against a database before it is touched. */
export async function demandUsable(engine: Engine) {
  const hindrance = await engine.hindrance()
  if (hindrance !== undefined) throw hindered(engine, hindrance)
}

/** The same where its schema is not this program's, or could not be read. */
export function demandCurrent(engine: Engine, age: SchemaAge | undefined) {
  if (age !== 'current') throw hindered(engine, age === undefined ? engine.unreadable : meaningOf[age])
}

const hindered = ({ name }: Engine, hindrance: string) =>
  new ServiceError('unavailable', `the database ${name} ${hindrance}`)

const meaningOf = {
  older: unmigrated,
  newer: 'was migrated by a newer version of this program; run that one',
}
