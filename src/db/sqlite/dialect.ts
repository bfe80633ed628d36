import { access, constants, mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import type { Dialect, Engine } from '../dialect.ts'
import { openReader, openWriter } from './connections.ts'
import { copyTo, rehearse } from './copy.ts'
import { isUnavailable, reasonOf } from './errors.ts'
import { makeListsIfDue } from './making-lists.ts'
import { attempt, insertRows, jsonRows, rowsOf, select } from './rows.ts'
import { schema } from './schema.ts'
import { foundBefore, searchIndex } from './search.ts'
import { versionTeller } from './version.ts'

/** SQLite: a database in one file, with one writer at a time and readers beside it. */
export const sqlite: Dialect = {
  addressForm: 'sqlite:PATH, the path of a file',
  accepts: (address) => pathIn(address) !== undefined,
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
export const widths = { cheap: 2, dear: Math.max(1, Math.min(3, availableParallelism() - 1)), write: 1 }

function openFile(filename: string): Engine {
  const writer = openWriter(filename)
  const reader = openReader(filename, widths.cheap + widths.dear)
  const teller = versionTeller(filename)
  const before = foundBefore()

  return {
    name: filename,
    hindrance: () =>
      access(filename, constants.R_OK | constants.W_OK).then(
        () => undefined,
        (error: NodeJS.ErrnoException) =>
          error.code === 'ENOENT'
            ? 'does not exist; npx apps-service migrate creates it'
            : 'cannot be read and written',
      ),
    unreadable: 'is no file that SQLite can read as a database',
    async makePlace() {
      await mkdir(dirname(filename), { recursive: true })
    },

    reader,
    snapshot: {},
    writer,
    widths,
    connectionOf: (sql) => ({
      sql,
      select: select(sql),
      search: searchIndex(sql, before),
      insertRows: insertRows(sql),
      jsonRows,
      rowsOf,
      // Whoever writes is alone at it.
      forUpdate: () => '',
      attempt,
    }),
    schema,

    isUnavailable,
    // Transactions that write come one after the other.
    isConflict: () => false,
    reasonOf,

    // Whoever writes is alone at it: all who began before have ended.
    horizon: () => writer.transaction(async () => new Date()),
    version: teller.version,
    copyTo: (file, inspect) => copyTo(filename, file, inspect),
    rehearse: (work) => rehearse(filename, openFile, work),
    async settle() {
      await makeListsIfDue({
        snapshot: (work) => reader.transaction(work),
        write: (work) => writer.transaction(work),
      })
      // Not TRUNCATE, which would keep writers waiting until the last reader has ended (https://sqlite.org/pragma.html).
      await writer.raw('pragma wal_checkpoint(passive)')
    },
    async close() {
      await Promise.all([reader.destroy(), teller.close()])
      // Whoever closes last writes the log back into the file, which none that only reads can.
      await writer.destroy()
    },
  }
}
