import { randomUUID } from 'node:crypto'
import DataLoader from 'dataloader'
import type { Knex } from 'knex'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { Bulkhead } from '../util/bulkhead.ts'
import { required } from '../util/helpers.ts'
import { parseFileUrl, parseServerUrl } from './database-url.ts'
import {
  type Engine,
  type EngineQueryRunner,
  type NewRow,
  notCreated,
  notMigrated,
  type QueryRunner,
  type ServerOptions,
} from './engine.ts'
import { Conflict } from './errors.ts'
import {
  compareMigrations,
  findSchemaError,
  knownMigrations,
  migrate,
  readSchemaAge,
  schemaErrors,
} from './migrations.ts'
import { openPostgres } from './postgres/engine.ts'
import { openSqlite } from './sqlite/engine.ts'

type WorkOptions = Readonly<{
  /** May take long: searches, and pages far behind the first. Fewer of these run at once. */
  isExpensive?: boolean
  /**
   * Aborted when the caller disconnects: work that is still queued then never starts, and reads
   * get it with their connection.
   */
  signal?: AbortSignal | undefined
  /** Milliseconds that the work may wait, instead of those of `queueLimits`. */
  queueTimeout?: number
}>

type WriteOptions = Pick<WorkOptions, 'signal'> & {
  /**
   * The app that the work locks first. Other writes of it wait in the queue: if each waited for the
   * lock, they would keep all connections from the writes of other apps.
   */
  app?: number
}

/** An open database. Methods throw `unavailable` if it cannot be reached or is overloaded. */
export type Database = Readonly<ReturnType<typeof databaseFor>>

type Work<T> = (runner: QueryRunner) => Promise<T>

export type Usage = Readonly<{
  pools: readonly Readonly<{ name: string; used: number; idle: number; waiting: number }>[]
  /** Writes committed since the database was opened. */
  writes: number
  /** Operations rejected since then, by kind: its queue was full, or they waited too long. */
  shed: Readonly<Record<string, number>>
}>

/** Opens a database whose URL `isDatabaseUrl` accepts. Connects when the first statement runs. */
export const openDatabase = (url: string, options?: ServerOptions): Database =>
  databaseFor(openEngine(url, options))

/** Only tests need an engine without the queues of its `Database`. */
export function openEngine(url: string, options?: ServerOptions): Engine {
  const filename = parseFileUrl(url)
  return filename === undefined
    ? openPostgres(required(parseServerUrl(url), 'a DATABASE_URL'), options)
    : openSqlite(filename)
}

/**
 * Cheap work queues only in bursts. Much expensive work may queue, but not for long: callers that
 * are rejected at once retry at once. Docs: docs/running.md, decision 19.
 */
export const queueLimits = {
  cheap: { queueLimit: 2000, queueTimeout: 2000 },
  expensive: { queueLimit: 500, queueTimeout: 500 },
  write: { queueLimit: 500, queueTimeout: 5000 },
}

/** Milliseconds. Most locks are held for less. */
const waitNotice = 5000

/** Attempts of a transaction that conflicts with others. */
const maxAttempts = 10

/** For engines whose default isolation gives each statement its own snapshot. */
const snapshotMode: Knex.TransactionConfig = { isolationLevel: 'repeatable read', readOnly: true }

export function databaseFor(engine: Engine) {
  const { name, reader, writer, versionReader, concurrency } = engine
  const readRunnerOf = (sql: Knex) =>
    toQueryRunner(engine.queryRunnerOf(sql), () => {
      throw new Error('only a write can change public data')
    })
  const cheap = new Bulkhead({ ...queueLimits.cheap, concurrency: concurrency.cheap })
  const expensive = new Bulkhead({ ...queueLimits.expensive, concurrency: concurrency.expensive })
  const writing = new Bulkhead({
    ...queueLimits.write,
    concurrency: concurrency.write,
    groupSize: engine.groupCommitSize,
    // The write in front may log nothing, such as one that records a key's use.
    findCause: () => {
      const advice = engine.findLock?.()
      return advice === undefined ? undefined : new OperatorError(advice)
    },
  })
  const readRunner = readRunnerOf(reader)
  const versionRunner = readRunnerOf(versionReader)
  /** Transactions that have renewed the version: writes that share one need it once. */
  const renewed = new WeakSet<Knex>()
  let writes = 0

  const runRead = <T>(work: () => Promise<T>, { isExpensive, ...options }: WorkOptions = {}) =>
    (isExpensive ? expensive : cheap).run(work, options).catch(rethrowUnavailable)

  function rethrowUnavailable(error: unknown): never {
    const { isUnavailable, advice } = engine.explain(error)
    if (!isUnavailable) throw error
    const message = 'The service is temporarily unavailable; try again shortly.'
    // The log and the command line have the cause.
    throw new ServiceError(
      'unavailable',
      message,
      {},
      { cause: advice ? new OperatorError(advice) : error },
    )
  }

  async function transaction<T>(work: Work<T>, writeCount = 1): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await engine.transaction(async (sql) => {
          let hasPublicChange = false
          const markPublicChange = () => {
            hasPublicChange = true
          }
          const result = await work(toQueryRunner(engine.queryRunnerOf(sql), markPublicChange))
          if (hasPublicChange && !renewed.has(sql)) {
            await renewVersion(sql)
            renewed.add(sql)
          }
          return result
        })
        writes += writeCount
        return result
      } catch (error) {
        const isConflict = error instanceof Conflict || engine.explain(error).isConflict
        if (attempt === maxAttempts || !isConflict) throw error
      }
    }
  }

  return {
    name,
    checkHealth: engine.checkHealth,
    explain: engine.explain,
    copyTo: engine.copyTo,
    restoreFrom: engine.restoreFrom,

    /** Runs work of one statement. Cannot write. */
    read: <T>(work: Work<T>, options?: WorkOptions): Promise<T> =>
      runRead(() => work({ ...readRunner, signal: options?.signal }), options),

    /** Runs work whose statements share one snapshot. Cannot write. */
    snapshot: <T>(work: Work<T>, options?: WorkOptions): Promise<T> =>
      runRead(
        () =>
          reader.transaction(
            (sql) => work({ ...readRunnerOf(sql), signal: options?.signal }),
            snapshotMode,
          ),
        options,
      ),

    /**
     * Runs work in a transaction that survives a crash once this resolves. The work may run several
     * times, so it must have no effects outside its connection. It locks the rows that it reads in
     * order to change them, in the order of decision 15.
     */
    write: <T>(work: Work<T>, { signal, app }: WriteOptions = {}): Promise<T> =>
      writing
        // Writes that run one after the other wait for no lock, and can share a transaction.
        .run(() => transaction(work), { signal, key: concurrency.write > 1 ? app : undefined })
        .catch(rethrowUnavailable),

    /**
     * Returns a function that writes an input as `write` does. Inputs that wait for one transaction
     * are passed to the work together, so that they share its statements. If that fails, each is
     * written alone, so that it fails alone.
     */
    batchedWrite<Input, Result>(
      work: (runner: QueryRunner, inputs: readonly Input[]) => Promise<Result[]>,
    ) {
      const writeAll = (inputs: readonly Input[]) =>
        transaction((runner) => work(runner, inputs), inputs.length)
      const writeAlone = async (input: Input) => {
        const [result] = await writeAll([input])
        return required(result, 'the result')
      }
      const loader = new DataLoader<Input, Result>(
        (inputs) =>
          writeAll(inputs).catch((error) => {
            if (inputs.length === 1 || engine.explain(error).isUnavailable) throw error
            return Promise.all(inputs.map((input) => writeAlone(input).catch((own: Error) => own)))
          }),
        { cache: false, maxBatchSize: engine.groupCommitSize },
      )
      return (input: Input, { signal }: Pick<WorkOptions, 'signal'> = {}): Promise<Result> =>
        writing.run(() => loader.load(input), { signal }).catch(rethrowUnavailable)
    },

    /** See `Engine.withExclusiveLock`. */
    withExclusiveLock: <T>(work: Work<T>): Promise<T> =>
      engine.withExclusiveLock((sql) => work(readRunnerOf(sql))),

    /**
     * Brings the schema up to date; returns the names of the migrations it ran. Calls `onWait` if it
     * has not begun after a while, because another process holds a lock.
     */
    async migrate(onWait: () => void = () => {}): Promise<string[]> {
      const notice = setTimeout(onWait, waitNotice)
      try {
        return await engine.migrate(async (sql, schema) => {
          clearTimeout(notice)
          const names = await migrate(sql, schema)
          if (names.length > 0) await renewVersion(sql)
          return names
        })
      } catch (error) {
        const reason = error instanceof OperatorError ? error.message : engine.explain(error).reason
        throw reason
          ? new OperatorError(`the database ${name} cannot be migrated: ${reason}`)
          : error
      } finally {
        clearTimeout(notice)
      }
    },

    /**
     * The names of the migrations that `migrate` would run. Changes nothing. Throws an
     * OperatorError if the database is unusable, or was migrated by a newer version.
     */
    async pendingMigrations(): Promise<string[]> {
      const healthError = await engine.checkHealth()
      if (healthError === notCreated || healthError === notMigrated) return knownMigrations()
      if (healthError !== undefined) throw new OperatorError(`the database ${name} ${healthError}`)
      const { pending, unknown } = await compareMigrations(reader).catch(rethrowUnavailable)
      if (unknown.size > 0) throw new OperatorError(`the database ${name} ${schemaErrors.newer}`)
      return [...pending]
    },

    /**
     * Compares the schema with this program's. Rejects if the database cannot be read. Waits
     * for a slot that reads use, so that a server whose reads hang is not ready; but not in their
     * queue.
     */
    schemaAge: () => cheap.run(() => readSchemaAge(reader), { isFirst: true }),

    /** See `Engine.committedBefore`. */
    committedBefore: () => engine.committedBefore().catch(rethrowUnavailable),

    /** See `Engine.waitForSmallerIds`. */
    waitForSmallerIds: () => engine.waitForSmallerIds().catch(rethrowUnavailable),

    /**
     * A value that changes with every commit, by any process, that may have changed public data. It
     * never repeats.
     */
    dataVersion: () => readVersion(versionRunner).catch(rethrowUnavailable),

    usage: (): Usage => ({
      pools: [
        poolUsage('reader', reader, [cheap, expensive]),
        poolUsage('writer', writer, [writing]),
      ],
      writes,
      shed: { cheap: cheap.rejected, expensive: expensive.rejected, write: writing.rejected },
    }),

    /** See `Engine.optimize`. */
    optimize: (options: { isLast: boolean }) => engine.optimize(options).catch(rethrowUnavailable),

    /**
     * Calls the listener with the text of each statement before it runs. Bound values are not in
     * it.
     */
    onStatement(listener: (statement: string) => void) {
      for (const knex of [reader, writer, versionReader])
        knex.on('query', ({ sql }: Knex.Sql) => listener(sql))
    },

    async close() {
      await Promise.all([reader.destroy(), versionReader.destroy()])
      // SQLite's last connection to close writes the log into the file. If two close at once, each
      // may see the other open.
      await writer.destroy()
    },
  }
}

function toQueryRunner(runner: EngineQueryRunner, markPublicChange: () => void): QueryRunner {
  const insert = async (table: string, rows: NewRow[], condition = '') => {
    const inserted = await runner.insert<{ id: number }>(table, rows, `${condition} returning id`)
    return inserted.map(({ id }) => id)
  }
  return {
    ...runner,
    markPublicChange,

    async insertRows(table, rows) {
      // Rows with an id come first, so that the table gives greater ids to the others
      // (https://sqlite.org/autoinc.html). It gives them in ascending order.
      await insert(
        table,
        rows.filter(({ id }) => id !== undefined),
      )
      const others = rows.filter(({ id }) => id === undefined).map(({ id, ...row }) => row)
      const ids = (await insert(table, others)).toSorted((a, b) => a - b).values()
      return rows.map((row) => ({ ...row, id: row.id ?? required(ids.next().value, 'an id') }))
    },

    async insertUnlessTaken(table, row, unique) {
      // A conflict alone would use up an id:
      // https://www.postgresql.org/docs/current/functions-sequence.html
      const isFree = unique.map(
        (column) => `not exists (select 1 from ${table} where ${column} = given.${column})`,
      )
      const condition = `where ${isFree.join(' and ')} on conflict do nothing`
      const [id] = await insert(table, [row], condition)
      return id
    },
  }
}

/**
 * One row identifies the state of the public data. Its value is random, so that a restored or
 * replaced database never repeats the value of other data. Rows read after the value are at least
 * as new as it. Decision 18.
 */
async function readVersion({ rows }: QueryRunner): Promise<string> {
  const [row] = await rows<{ value: string }>('select value from catalogue_version', [])
  return required(row, 'the row of catalogue_version').value
}

/**
 * Call it last in a transaction, since on PostgreSQL other writers wait for the row until the
 * commit.
 */
const renewVersion = (sql: Knex) => sql('catalogue_version').update({ value: randomUUID() })

/** knex's pool is tarn's. Most work queues in the bulkheads before it. */
function poolUsage(name: string, { client }: Knex, bulkheads: Bulkhead[]) {
  const pool: { numUsed: () => number; numFree: () => number; numPendingAcquires: () => number } =
    client.pool
  const waiting = bulkheads.reduce(
    (sum, bulkhead) => sum + bulkhead.queued,
    pool.numPendingAcquires(),
  )
  return { name, used: pool.numUsed(), idle: pool.numFree(), waiting }
}

/** Opens a database that must exist and be migrated. Throws `unavailable` with what to do. */
export async function openMigratedDatabase(
  url: string,
  options?: ServerOptions,
): Promise<Database> {
  const engine = openEngine(url, options)
  const database = databaseFor(engine)
  try {
    assertUsable(
      database.name,
      (await database.checkHealth()) ?? (await findSchemaError(engine.reader)),
    )
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Throws `unavailable` if there is a reason, such as "does not exist". */
export function assertUsable(name: string, reason: string | undefined) {
  if (reason !== undefined) throw new ServiceError('unavailable', `the database ${name} ${reason}`)
}
