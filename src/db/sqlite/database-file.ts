import { type BigIntStats, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { openUnknown } from './connections.ts'
import { ailmentIn, isDamage, Unusable } from './errors.ts'

/** What the path of the database, and that of its log, name: a file system gives no number twice while the file is open. */
type Place = { file: string; log: string }

export type DatabaseFile = ReturnType<typeof databaseFile>

/**
 * The file beneath the connections of one process. They hold what they have opened, whatever becomes of the name: so a file
 * that is put in its place would be read by those that open later, and what the others write would be lost with what they
 * hold. Before each use the name is asked what it names (stat alone, 2 µs: to open the file and close it would drop SQLite's
 * locks, https://sqlite.org/howtocorrupt.html, section 2.2). Where that is another file, all connections are closed by
 * `closeAll`, and only then the next one is opened: two files would share the `-shm` beside them.
 */
export function databaseFile(filename: string, closeAll: () => Promise<void>) {
  const connections = new Set<object>()
  let opened: Place | undefined
  /** What was opened before, and when its log was made: its number may be given again when it is closed. */
  let former: (Place & { logMade: bigint | undefined }) | undefined
  let closing: Promise<void> | undefined
  let mayBeEmpty = false
  let damages = 0
  let trouble: { reason: string; at: number } | undefined

  const log = `${filename}-wal`
  const placeNow = (): Place => ({ file: identityOf(filename), log: identityOf(log) })

  /** Throws where the name stands for another file than the connections have open, and has them closed. */
  function demandInPlace() {
    if (closing) throw new Unusable('is being opened anew')
    if (!opened) return
    const now = placeNow()
    if (isSame(now, opened)) return
    // Of a file that was empty the log is made with the first write.
    if (opened.log === nothing && now.file === opened.file) {
      opened = now
      return
    }
    former = { ...opened, logMade: madeAt(log) }
    opened = undefined
    // What cannot be closed is not used again, either.
    closing = closeAll()
      .catch(() => {})
      .finally(() => {
        closing = undefined
      })
    throw new Unusable(wrongWith(now, former))
  }

  let isLookedAt = false

  /** The same before a connection is taken: of all that are taken in one turn of the event loop the first one looks. */
  function demandInPlaceOnce() {
    if (isLookedAt && opened && !closing) return
    demandInPlace()
    isLookedAt = true
    setImmediate(() => {
      isLookedAt = false
    })
  }

  /** Opens a connection, if the file is one to be worked with. */
  async function admit<C extends object>(
    open: () => Promise<C>,
    close: (connection: C) => Promise<unknown>,
  ): Promise<C> {
    demandInPlace()
    const before = placeNow()
    if (before.file === nothing) throw new Unusable('is gone')
    if (!opened) await demandUsable(before)
    const connection = await open()
    const now = placeNow()
    if (!closing && now.file === before.file) {
      // Not before it was opened: the log may be made by that.
      opened ??= now
      if (isSame(opened, now)) {
        connections.add(connection)
        return connection
      }
    }
    await close(connection)
    demandInPlace()
    throw new Unusable('has changed while it was opened')
  }

  async function demandUsable(now: Place) {
    // SQLite would read it as the new file's own, and write what it holds into that (https://sqlite.org/howtocorrupt.html, section 1.4).
    const isFormerLog = former && former.log === now.log && former.logMade === madeAt(log) && sizeOf(log) > 0n
    if (isFormerLog && former?.file !== now.file) {
      throw new Unusable('was replaced, and the log of the former one is still beside it')
    }
    const found = await examine(filename)
    if (found === 'foreign' || (found === 'empty' && !mayBeEmpty)) throw new Unusable('is not one of this program')
  }

  function notice(error: unknown) {
    if (isDamage(error)) damages++
    const reason = ailmentIn(error)
    if (reason) trouble = { reason, at: performance.now() }
  }

  return {
    demandInPlace,
    demandInPlaceOnce,
    admit,
    /** Before a connection is closed. */
    dismiss(connection: object) {
      connections.delete(connection)
      // The last one takes the log away, and the next one makes another.
      if (connections.size === 0) opened = undefined
    },
    /** From now on an empty file is one to be worked with. */
    allowEmpty() {
      mayBeEmpty = true
    },
    /** How often it was found damaged. A connection that read pages before may have kept wrong ones. */
    damages: () => damages,
    /** Takes note of what an error says about the file. */
    notice,
    noticing: <T>(work: Promise<T>): Promise<T> =>
      work.catch((error: unknown) => {
        notice(error)
        throw error
      }),
    /** What is known against the file, as "is damaged". */
    async ailment(): Promise<string | undefined> {
      demandInPlace()
      if (identityOf(filename) === nothing) return 'is gone'
      if (trouble && performance.now() - trouble.at < remembered) return trouble.reason
      const { bavail, bsize } = await statfs(dirname(filename))
      return bavail * bsize < leastRoom ? 'has no room left on its disk' : undefined
    },
    /** When no connection is being closed. */
    settled: async () => closing,
  }
}

/** Milliseconds: what has failed may do again by then. Callers are told to come back after as long. */
const remembered = 5000

/** Bytes that the largest write of a request may take in the log. */
const leastRoom = 2 ** 20

const nothing = ''

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    // It may be there, but cannot be reached.
    return undefined
  }
}

function identityOf(path: string): string {
  const found = statOf(path)
  return found ? `${found.dev}:${found.ino}` : nothing
}

const madeAt = (path: string) => statOf(path)?.birthtimeNs
const sizeOf = (path: string) => statOf(path)?.size ?? 0n

const isSame = (one: Place, other: Place) => one.file === other.file && one.log === other.log

function wrongWith(now: Place, opened: Place): string {
  if (now.file === nothing) return 'is gone'
  if (now.file !== opened.file) return 'was replaced by another file'
  return 'has lost its log, the file beside it that ends in -wal'
}

/** What a file holds, told without changing a byte of it: nothing yet, a database of this program, or another's. */
export async function examine(filename: string): Promise<'empty' | 'own' | 'foreign'> {
  const sql = openUnknown(filename, identityOf(`${filename}-wal`) !== nothing)
  try {
    const rows: { name: string }[] = await sql.raw("select name from sqlite_schema where type = 'table'")
    const tables = new Set(rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_')))
    if (tables.isSupersetOf(ownTables)) return 'own'
    return tables.isSubsetOf(firstTables) ? 'empty' : 'foreign'
  } finally {
    await sql.destroy()
  }
}

/** Other programs, too, have their migrations by knex. */
const ownTables = new Set(['knex_migrations', 'apps', 'audit'])
/** What knex makes before the first migration, which may have been stopped there. */
const firstTables = new Set(['knex_migrations', 'knex_migrations_lock'])
