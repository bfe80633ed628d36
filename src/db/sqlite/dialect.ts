import { access, constants, mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { Refusal } from '../../contract/errors.ts'
import { type Dialect, type Engine, unmigrated } from '../dialect.ts'
import { openReader, openWriter } from './connections.ts'
import { copyTo, rehearse, still } from './copy.ts'
import { versionTeller } from './data-version.ts'
import { databaseFile, examine } from './database-file.ts'
import { ailmentIn, isBusy, isDamage, isUnavailable, reasonOf, Unusable } from './errors.ts'
import { attempt, giveIdsBehind, insertion, jsonOf, jsonRows, lastId, newIds, rowsOf, select } from './rows.ts'
import { schema } from './schema.ts'
import { foundBefore, searchIndex } from './search.ts'
import { upkeepOf } from './upkeep.ts'

/** SQLite: a database in one file, with one writer at a time and readers beside it. */
export const sqlite: Dialect = {
  addressForm: 'sqlite:PATH, the path of a file',
  accepts: (address) => pathIn(address) !== undefined,
  hasPoolers: false,
  open: (address) => openFile(pathIn(address) ?? ''),
}

function pathIn(address: string): string | undefined {
  const path = address.match(/^sqlite:(?:\/\/)?(?<path>.+)$/)?.groups?.path
  return path === ':memory:' ? undefined : path
}

/**
 * Each holds a thread while it is at work, of those that main.ts asks for. What is dear keeps a processor busy, and leaves one to
 * all the rest. SQLite has one writer at a time.
 */
export const widths = { cheap: 4, dear: Math.max(1, Math.min(3, availableParallelism() - 1)), write: 1 }

function openFile(filename: string): Engine {
  const file = databaseFile(filename, async () => {
    await closeAll().finally(() => {
      for (const sql of [writer, reader, teller.sql]) sql.initialize()
    })
  })
  const writer = openWriter(filename, file)
  const reader = openReader(filename, file, widths.cheap + widths.dear)
  const teller = versionTeller(filename, file)

  async function closeAll() {
    await Promise.all([reader.destroy(), teller.sql.destroy()])
    // Whoever closes last writes the log back into the file, which none that only reads can.
    await writer.destroy()
  }

  async function checkpoint() {
    // Not TRUNCATE, which would keep writers waiting until the last reader has ended (https://sqlite.org/pragma.html).
    await writer.raw('pragma wal_checkpoint(passive)')
  }

  const openSource = () => openWriter(filename, file)
  const before = foundBefore()

  return {
    name: filename,
    hindrance: () => hindranceOf(filename),
    unreadable,
    async makePlace() {
      await mkdir(dirname(filename), { recursive: true })
      // As SQLite would make it; connections never do.
      await writeFile(filename, '', { flag: 'wx', mode: 0o644 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      if ((await examine(filename)) === 'foreign') throw new Refusal(`it ${foreign}`)
      file.allowEmpty()
    },
    demandInPlace: file.demandInPlace,
    async ailment() {
      try {
        const known = await file.ailment()
        if (known !== undefined) return known
        // From the disk: what the connection has read before says nothing of how the file is now.
        await teller.sql.raw('pragma shrink_memory')
        await teller.sql('knex_migrations').count()
      } catch (error) {
        if (error instanceof Unusable) return error.message
        if (isUnavailable(error)) return ailmentIn(error) ?? 'does not answer'
        throw error
      }
    },

    reader,
    snapshot: {},
    writer,
    widths,
    connectionOf: (sql) => ({
      sql,
      select: select(sql),
      search: searchIndex(sql, before),
      newIds: newIds(sql),
      insertion: insertion(sql),
      lastId: lastId(sql),
      giveIdsBehind: giveIdsBehind(sql),
      filling: (work) => work(),
      jsonRows,
      rowsOf,
      jsonOf,
      // Whoever writes is alone at it.
      lock: async () => {},
      attempt,
    }),
    async migration(work) {
      for (const begin = performance.now(); ; ) {
        try {
          return await writer.transaction(work)
        } catch (error) {
          if (!isBusy(error) || performance.now() - begin > longestMigration) throw error
        }
      }
    },
    schema,

    isUnavailable,
    // No conflict: transactions that write come one after the other.
    reasonOf,

    // Whoever writes is alone at it: all who began before have ended.
    horizon: () => writer.transaction(async () => new Date()),
    version: teller.version,
    copyTo: (target, inspect) => copyTo(openSource, filename, target, inspect),
    rehearse: (work) => rehearse(openSource, filename, openFile, work),
    still: (work) => still(filename, work),
    checkpoint,
    settle: checkpoint,
    upkeep: upkeepOf(filename, reader),
    async close() {
      await file.settled()
      await closeAll()
    },
  }
}

/** Milliseconds for which another process's migrations are waited for: the index of a million apps takes minutes. */
const longestMigration = 30 * 60_000

const unreadable = 'is no file that SQLite can read as a database'
const formerLog = 'where another file was put in its place, move that log away, and the one with -shm'
const foreign = 'is a database of another program; DATABASE_URL has to name another file'

async function hindranceOf(filename: string): Promise<string | undefined> {
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
    return { own: undefined, empty: unmigrated, foreign }[await examine(filename)]
  } catch (error) {
    if (isBusy(error)) return 'is in use by another process, which lets no other read it'
    const log = `${filename}-wal`
    const hasLog = isDamage(error) && (await can(log, constants.F_OK)) === true
    return hasLog ? `${unreadable}, with ${log} beside it; ${formerLog}` : unreadable
  }
}
