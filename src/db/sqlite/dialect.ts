import { access, constants, mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { OperatorError } from '../../contract/errors.ts'
import { type Dialect, type Engine, notMigrated } from '../dialect.ts'
import { openReader, openWriter } from './connections.ts'
import { copyTo, dryRun, withExclusiveLock } from './copy.ts'
import { dataVersionReader } from './data-version.ts'
import { databaseFile, inspectFile } from './database-file.ts'
import { describeError, healthErrorOf, isBusy, isDamage, isUnavailable, UnusableDatabase } from './errors.ts'
import {
  advanceIdsTo,
  allocateIds,
  jsonSubquery,
  lastId,
  mapUniqueViolation,
  parseJsonRows,
  prepareInsert,
  select,
} from './rows.ts'
import { schema } from './schema.ts'
import { createSearchCache, searchIndex } from './search.ts'
import { upkeepOf } from './upkeep.ts'

/** SQLite: a database in one file, with one writer at a time and readers beside it. */
export const sqlite: Dialect = {
  urlFormat: 'sqlite:PATH, the path of a file',
  acceptsUrl: (url) => pathFromUrl(url) !== undefined,
  supportsPooler: false,
  open: (url) => openFile(pathFromUrl(url) ?? ''),
}

function pathFromUrl(url: string): string | undefined {
  const path = url.match(/^sqlite:(?:\/\/)?(?<path>.+)$/)?.groups?.path
  return path === ':memory:' ? undefined : path
}

/**
 * Each holds a thread while it is at work, of those that main.ts asks for. What is dear keeps a processor busy, and leaves one to
 * all the rest. SQLite has one writer at a time.
 */
export const concurrency = { cheap: 4, expensive: Math.max(1, Math.min(3, availableParallelism() - 1)), write: 1 }

function openFile(filename: string): Engine {
  const file = databaseFile(filename, async () => {
    await closeAll().finally(() => {
      for (const sql of [writer, reader, versionReader.sql]) sql.initialize()
    })
  })
  const writer = openWriter(filename, file)
  const reader = openReader(filename, file, concurrency.cheap + concurrency.expensive)
  const versionReader = dataVersionReader(filename, file)

  async function closeAll() {
    await Promise.all([reader.destroy(), versionReader.sql.destroy()])
    // Whoever closes last writes the log back into the file, which none that only reads can.
    await writer.destroy()
  }

  async function checkpoint() {
    // Not TRUNCATE, which would keep writers waiting until the last reader has ended (https://sqlite.org/pragma.html).
    await writer.raw('pragma wal_checkpoint(passive)')
  }

  const openSource = () => openWriter(filename, file)
  const searchCache = createSearchCache()

  return {
    name: filename,
    findOpenError: () => findOpenError(filename),
    unreadableMessage,
    async prepareStorage() {
      await mkdir(dirname(filename), { recursive: true })
      // As SQLite would make it; connections never do.
      await writeFile(filename, '', { flag: 'wx', mode: 0o644 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      if ((await inspectFile(filename)) === 'foreign') throw new OperatorError(`it ${foreignDatabase}`)
      file.allowEmpty()
    },
    assertInPlace: file.assertInPlace,
    async checkHealth() {
      try {
        const known = await file.checkHealth()
        if (known !== undefined) return known
        // From the disk: what the connection has read before says nothing of how the file is now.
        await versionReader.sql.raw('pragma shrink_memory')
        await versionReader.sql('knex_migrations').count()
      } catch (error) {
        if (error instanceof UnusableDatabase) return error.message
        if (isUnavailable(error)) return healthErrorOf(error) ?? 'does not answer'
        throw error
      }
    },

    reader,
    snapshot: {},
    writer,
    concurrency,
    connectionOf: (sql) => ({
      sql,
      select: select(sql),
      search: searchIndex(sql, searchCache),
      allocateIds: allocateIds(sql),
      prepareInsert: prepareInsert(sql),
      lastId: lastId(sql),
      advanceIdsTo: advanceIdsTo(sql),
      bulkLoad: (work) => work(),
      jsonSubquery,
      parseJsonRows,
      // Whoever writes is alone at it.
      lock: async () => {},
      mapUniqueViolation,
    }),
    async migration(work) {
      for (const begin = performance.now(); ; ) {
        try {
          return await writer.transaction(work)
        } catch (error) {
          if (!isBusy(error) || performance.now() - begin > migrationTimeout) throw error
        }
      }
    },
    schema,

    isUnavailable,
    // No conflict: transactions that write come one after the other.
    describeError,

    // Whoever writes is alone at it: all who began before have ended.
    committedBefore: () => writer.transaction(async () => new Date()),
    dataVersion: versionReader.version,
    copyTo: (target, inspect) => copyTo(openSource, filename, target, inspect),
    dryRun: (work) => dryRun(openSource, filename, openFile, work),
    withExclusiveLock: (work) => withExclusiveLock(filename, work),
    checkpoint,
    optimize: checkpoint,
    maintain: upkeepOf(filename, reader),
    async close() {
      await file.whenClosed()
      await closeAll()
    },
  }
}

/** Milliseconds for which another process's migrations are waited for: the index of a million apps takes minutes. */
const migrationTimeout = 30 * 60_000

const unreadableMessage = 'is no file that SQLite can read as a database'
const staleLogAdvice = 'where another file was put in its place, move that log away, and the one with -shm'
const foreignDatabase = 'is a database of another program; DATABASE_URL has to name another file'

async function findOpenError(filename: string): Promise<string | undefined> {
  const can = (path: string, mode: number) =>
    access(path, mode).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code,
    )
  const canWrite = await can(filename, constants.R_OK | constants.W_OK)
  if (canWrite === 'ENOENT') return 'does not exist; npx apps-service migrate creates it'
  if (canWrite !== true) return 'cannot be read and written'
  const folder = dirname(filename)
  if ((await can(folder, constants.W_OK | constants.X_OK)) !== true) {
    return `cannot be used: ${folder} cannot be written to, and SQLite keeps the database's log there`
  }
  try {
    return { own: undefined, empty: notMigrated, foreign: foreignDatabase }[await inspectFile(filename)]
  } catch (error) {
    if (isBusy(error)) return 'is in use by another process, which lets no other read it'
    const log = `${filename}-wal`
    const hasLog = isDamage(error) && (await can(log, constants.F_OK)) === true
    return hasLog ? `${unreadableMessage}, with ${log} beside it; ${staleLogAdvice}` : unreadableMessage
  }
}
