import { randomUUID } from 'node:crypto'
import DataLoader from 'dataloader'
import type { Knex } from 'knex'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { Bulkhead, maxConnections } from '../util/bulkhead.ts'
import { required } from '../util/helpers.ts'
import type { Engine, EngineQueryRunner, NewRow, QueryRunner } from './engine.ts'
import { Conflict } from './error-meaning.ts'
import { readSchemaAge, type SchemaAge } from './schema-age.ts'

type Work<T> = (runner: QueryRunner) => Promise<T>

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

type BatchWork<Input, Result> = (runner: QueryRunner, inputs: readonly Input[]) => Promise<Result[]>

/** An open database. Methods throw `unavailable` if it cannot be reached or is overloaded. */
export type Database = Pick<Engine, 'name' | 'checkHealth' | 'explain'> &
  Readonly<{
    /** Runs work of one statement. Cannot write. */
    read: <T>(work: Work<T>, options?: WorkOptions) => Promise<T>
    /** Runs work whose statements share one snapshot. Cannot write. */
    snapshot: <T>(work: Work<T>, options?: WorkOptions) => Promise<T>
    /**
     * A value that changes with every commit, by any process, that may have changed public data. It
     * never repeats.
     */
    dataVersion: () => Promise<string>
    /**
     * Compares the schema with this program's. Rejects if the database cannot be read. Waits for a
     * slot that reads use, so that a server whose reads hang is not ready; but not in their queue.
     */
    schemaAge: () => Promise<SchemaAge>

    /**
     * Runs work in a transaction that survives a crash once this resolves. The work may run several
     * times, so it must have no effects outside its connection. It locks the rows that it reads in
     * order to change them, in the order of decision 15.
     */
    write: <T>(work: Work<T>, options?: WriteOptions) => Promise<T>
    /**
     * Returns a function that writes an input as `write` does. Inputs that wait for one transaction
     * are passed to the work together, so that they share its statements. If that fails, each is
     * written alone, so that it fails alone.
     */
    batchedWrite: <Input, Result>(
      work: BatchWork<Input, Result>,
    ) => (input: Input, options?: Pick<WorkOptions, 'signal'>) => Promise<Result>

    usage: () => Usage
    /**
     * Calls the listener with the text of each statement before it runs. Bound values are not in it.
     */
    onStatement: (listener: (statement: string) => void) => void
    close: () => Promise<void>
  }>

type Usage = Readonly<{
  pools: readonly Readonly<{
    name: string
    used: number
    idle: number
    /** Operations that wait for a connection, mostly for one that is being opened. */
    pending: number
    /** Operations in the queues of the bulkheads. */
    queued: number
  }>[]
  /** Writes committed since the database was opened. */
  writes: number
  /** Operations rejected since then, by kind: its queue was full, or they waited too long. */
  shed: Readonly<Record<string, number>>
}>

/**
 * Cheap work queues only in bursts. Expensive work of all clients may queue, but not for long:
 * callers that are rejected at once retry at once. A waiting write keeps its body in memory. Docs:
 * docs/running.md, decision 19.
 */
export const queueLimits = {
  cheap: { queueLimit: 2000, queueTimeout: 2000 },
  expensive: { queueLimit: maxConnections, queueTimeout: 500 },
  write: { queueLimit: 500, queueTimeout: 5000 },
}

/** A database whose work queues, and is run again if it conflicts with other work. */
export function databaseFor(engine: Engine): Database {
  const { name, checkHealth, explain } = engine
  const { reader, writer, versionReader, concurrency } = engine
  const { cheap, expensive, writing } = createBulkheads(engine)
  const readRunnerOf = (sql: Knex) => toQueryRunner(engine.queryRunnerOf(sql))
  const readRunner = readRunnerOf(reader)
  const versionRunner = readRunnerOf(versionReader)
  const rethrow = rethrowUnavailable(engine)
  let writes = 0

  const runRead = <T>(work: () => Promise<T>, { isExpensive, ...options }: WorkOptions = {}) =>
    (isExpensive ? expensive : cheap).run(work, options).catch(rethrow)

  async function runWrite<T>(work: Work<T>, count = 1): Promise<T> {
    const result = await runTransaction(engine, work)
    writes += count
    return result
  }

  return {
    name,
    checkHealth,
    explain,

    read: (work, options) =>
      runRead(() => work({ ...readRunner, signal: options?.signal }), options),
    snapshot: (work, options) =>
      runRead(
        () =>
          reader.transaction(
            (sql) => work({ ...readRunnerOf(sql), signal: options?.signal }),
            snapshotMode,
          ),
        options,
      ),
    dataVersion: () => readVersion(versionRunner).catch(rethrow),
    schemaAge: () => cheap.run(() => readSchemaAge(reader), { isFirst: true }),

    // Waits in the queue, then runs `runTransaction`, whose engine calls `runInTransaction`.
    write: (work, { signal, app } = {}) =>
      writing
        // Writes that run one after the other wait for no lock, and can share a transaction.
        .run(() => runWrite(work), { signal, key: concurrency.write > 1 ? app : undefined })
        .catch(rethrow),
    batchedWrite<Input, Result>(work: BatchWork<Input, Result>) {
      const load = batchInputs(engine, (inputs: readonly Input[]) =>
        runWrite((runner) => work(runner, inputs), inputs.length),
      )
      return (input: Input, { signal }: Pick<WorkOptions, 'signal'> = {}) =>
        writing.run(() => load(input), { signal }).catch(rethrow)
    },

    usage: () => ({
      pools: [
        poolUsage('reader', reader, [cheap, expensive]),
        poolUsage('writer', writer, [writing]),
      ],
      writes,
      shed: { cheap: cheap.rejected, expensive: expensive.rejected, write: writing.rejected },
    }),
    onStatement(listener) {
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

/** Returns a function that throws `unavailable` instead of an error that means it. */
export const rethrowUnavailable =
  ({ explain }: Pick<Engine, 'explain'>) =>
  (error: unknown): never => {
    const { isUnavailable, advice } = explain(error)
    if (!isUnavailable) throw error
    const message = 'The service is temporarily unavailable; try again shortly.'
    // The log and the command line have the cause.
    const cause = advice ? new OperatorError(advice) : error
    throw new ServiceError('unavailable', message, {}, { cause })
  }

const createBulkheads = ({ concurrency, groupCommitSize, findLock }: Engine) => ({
  cheap: new Bulkhead({ ...queueLimits.cheap, concurrency: concurrency.cheap }),
  expensive: new Bulkhead({ ...queueLimits.expensive, concurrency: concurrency.expensive }),
  writing: new Bulkhead({
    ...queueLimits.write,
    concurrency: concurrency.write,
    groupSize: groupCommitSize,
    // The write that another program blocks is not always logged, so waiting ones name the cause.
    findCause: () => {
      const advice = findLock?.()
      return advice === undefined ? undefined : new OperatorError(advice)
    },
  }),
})

/** For engines whose default isolation gives each statement its own snapshot. */
const snapshotMode: Knex.TransactionConfig = { isolationLevel: 'repeatable read', readOnly: true }

/** Attempts of a transaction that conflicts with others. */
const maxAttempts = 10

/** Runs work in a transaction, and again if it conflicts with another one. */
async function runTransaction<T>(engine: Engine, work: Work<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await engine.transaction((sql) => runInTransaction(engine, sql, work))
    } catch (error) {
      const isConflict = error instanceof Conflict || engine.explain(error).isConflict
      if (attempt === maxAttempts || !isConflict) throw error
    }
  }
}

async function runInTransaction<T>(engine: Engine, sql: Knex, work: Work<T>): Promise<T> {
  let hasPublicChange = false
  const markPublicChange = () => {
    hasPublicChange = true
  }
  const result = await work(toQueryRunner(engine.queryRunnerOf(sql), markPublicChange))
  if (hasPublicChange) await renewVersion(sql)
  return result
}

/**
 * Returns a function that passes the inputs of one turn of the event loop to `writeAll` together.
 * If that fails, it passes each one alone.
 */
function batchInputs<Input, Result>(
  { groupCommitSize, explain }: Engine,
  writeAll: (inputs: readonly Input[]) => Promise<Result[]>,
): (input: Input) => Promise<Result> {
  const writeAlone = async (input: Input) => {
    const [result] = await writeAll([input])
    return required(result, 'the result')
  }
  const loader = new DataLoader<Input, Result>(
    (inputs) =>
      writeAll(inputs).catch((error) => {
        if (inputs.length === 1 || explain(error).isUnavailable) throw error
        return Promise.all(inputs.map((input) => writeAlone(input).catch((own: Error) => own)))
      }),
    { cache: false, maxBatchSize: groupCommitSize },
  )
  return (input) => loader.load(input)
}

/**
 * Adds the methods that are the same on all engines. Without `markPublicChange`, the runner is for
 * reads.
 */
function toQueryRunner(
  runner: EngineQueryRunner,
  markPublicChange: () => void = throwInRead,
): QueryRunner {
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

function throwInRead(): never {
  throw new Error('only a write can change public data')
}

/**
 * One row identifies the state of the public data. Its value is random, so that a restored or
 * replaced database never repeats the value of other data. Rows read after the value are at least
 * as new as it. Decision 18.
 */
async function readVersion({ rows }: EngineQueryRunner): Promise<string> {
  const [row] = await rows<{ value: string }>('select value from catalogue_version', [])
  return required(row, 'the row of catalogue_version').value
}

/** Transactions that have renewed the version: writes that share one need it once. */
const renewed = new WeakSet<Knex>()

/**
 * Call it last in a transaction, since on PostgreSQL other writers wait for the row until the
 * commit.
 */
export async function renewVersion(transaction: Knex): Promise<void> {
  if (renewed.has(transaction)) return
  await transaction('catalogue_version').update({ value: randomUUID() })
  renewed.add(transaction)
}

/** knex's pool is tarn's. */
function poolUsage(name: string, { client }: Knex, bulkheads: Bulkhead[]) {
  const pool: { numUsed: () => number; numFree: () => number; numPendingAcquires: () => number } =
    client.pool
  return {
    name,
    used: pool.numUsed(),
    idle: pool.numFree(),
    pending: pool.numPendingAcquires(),
    queued: bulkheads.reduce((sum, bulkhead) => sum + bulkhead.queued, 0),
  }
}
