import { type BigIntStats, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { openForInspection } from './connections.ts'
import { healthErrorOf, isDamage, UnusableDatabase } from './errors.ts'

/** What the path of the database, and that of its log, name: a file system gives no number twice while the file is open. */
type FileIdentity = { file: string; log: string }

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
  let opened: FileIdentity | undefined
  /** What was opened before, and when its log was made: its number may be given again when it is closed. */
  let previous: (FileIdentity & { logCreatedAt: bigint | undefined }) | undefined
  let closing: Promise<void> | undefined
  let mayBeEmpty = false
  let damageCount = 0
  let lastError: { reason: string; at: number } | undefined

  const log = `${filename}-wal`
  const currentIdentity = (): FileIdentity => ({ file: identityOf(filename), log: identityOf(log) })

  /** Throws where the name stands for another file than the connections have open, and has them closed. */
  function assertInPlace() {
    if (closing) throw new UnusableDatabase('is being opened anew')
    if (!opened) return
    const now = currentIdentity()
    if (isSame(now, opened)) return
    // Of a file that was empty the log is made with the first write.
    if (opened.log === noFile && now.file === opened.file) {
      opened = now
      return
    }
    previous = { ...opened, logCreatedAt: createdAt(log) }
    opened = undefined
    // What cannot be closed is not used again, either.
    closing = closeAll()
      .catch(() => {})
      .finally(() => {
        closing = undefined
      })
    throw new UnusableDatabase(describeReplacement(now, previous))
  }

  let isChecked = false

  /** The same before a connection is taken: of all that are taken in one turn of the event loop the first one looks. */
  function assertInPlaceOncePerTick() {
    if (isChecked && opened && !closing) return
    assertInPlace()
    isChecked = true
    setImmediate(() => {
      isChecked = false
    })
  }

  /** Opens a connection, if the file is one to be worked with. */
  async function openConnection<C extends object>(
    open: () => Promise<C>,
    close: (connection: C) => Promise<unknown>,
  ): Promise<C> {
    assertInPlace()
    const before = currentIdentity()
    if (before.file === noFile) throw new UnusableDatabase('is gone')
    if (!opened) await assertUsable(before)
    const connection = await open()
    const now = currentIdentity()
    if (!closing && now.file === before.file) {
      // Not before it was opened: the log may be made by that.
      opened ??= now
      if (isSame(opened, now)) {
        connections.add(connection)
        return connection
      }
    }
    await close(connection)
    assertInPlace()
    throw new UnusableDatabase('has changed while it was opened')
  }

  async function assertUsable(now: FileIdentity) {
    // SQLite would read it as the new file's own, and write what it holds into that (https://sqlite.org/howtocorrupt.html, section 1.4).
    const isStaleLog =
      previous && previous.log === now.log && previous.logCreatedAt === createdAt(log) && sizeOf(log) > 0n
    if (isStaleLog && previous?.file !== now.file) {
      throw new UnusableDatabase('was replaced, and the log of the former one is still beside it')
    }
    const found = await inspectFile(filename)
    if (found === 'foreign' || (found === 'empty' && !mayBeEmpty))
      throw new UnusableDatabase('is not one of this program')
  }

  function recordError(error: unknown) {
    if (isDamage(error)) damageCount++
    const reason = healthErrorOf(error)
    if (reason) lastError = { reason, at: performance.now() }
  }

  return {
    assertInPlace,
    assertInPlaceOncePerTick,
    openConnection,
    /** Before a connection is closed. */
    forgetConnection(connection: object) {
      connections.delete(connection)
      // The last one takes the log away, and the next one makes another.
      if (connections.size === 0) opened = undefined
    },
    /** From now on an empty file is one to be worked with. */
    allowEmpty() {
      mayBeEmpty = true
    },
    /** How often it was found damaged. A connection that read pages before may have kept wrong ones. */
    damageCount: () => damageCount,
    /** Takes note of what an error says about the file. */
    recordError,
    recordingErrors: <T>(work: Promise<T>): Promise<T> =>
      work.catch((error: unknown) => {
        recordError(error)
        throw error
      }),
    /** What is known against the file, as "is damaged". */
    async checkHealth(): Promise<string | undefined> {
      assertInPlace()
      if (identityOf(filename) === noFile) return 'is gone'
      if (lastError && performance.now() - lastError.at < errorLifetime) return lastError.reason
      const { bavail, bsize } = await statfs(dirname(filename))
      return bavail * bsize < minFreeSpace ? 'has no room left on its disk' : undefined
    },
    /** When no connection is being closed. */
    whenClosed: async () => closing,
  }
}

/** Milliseconds: what has failed may do again by then. Callers are told to come back after as long. */
const errorLifetime = 5000

/** Bytes that the largest write of a request may take in the log. */
const minFreeSpace = 2 ** 20

const noFile = ''

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
  return found ? `${found.dev}:${found.ino}` : noFile
}

const createdAt = (path: string) => statOf(path)?.birthtimeNs
const sizeOf = (path: string) => statOf(path)?.size ?? 0n

const isSame = (one: FileIdentity, other: FileIdentity) => one.file === other.file && one.log === other.log

function describeReplacement(now: FileIdentity, opened: FileIdentity): string {
  if (now.file === noFile) return 'is gone'
  if (now.file !== opened.file) return 'was replaced by another file'
  return 'has lost its log, the file beside it that ends in -wal'
}

/** What a file holds, told without changing a byte of it: nothing yet, a database of this program, or another's. */
export async function inspectFile(filename: string): Promise<'empty' | 'own' | 'foreign'> {
  const sql = openForInspection(filename, identityOf(`${filename}-wal`) !== noFile)
  try {
    const rows: { name: string }[] = await sql.raw("select name from sqlite_schema where type = 'table'")
    const tables = new Set(rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_')))
    if (tables.isSupersetOf(ownTables)) return 'own'
    return tables.isSubsetOf(migrationTables) ? 'empty' : 'foreign'
  } finally {
    await sql.destroy()
  }
}

/** Other programs, too, have their migrations by knex. */
const ownTables = new Set(['knex_migrations', 'apps', 'audit'])
/** What knex makes before the first migration, which may have been stopped there. */
const migrationTables = new Set(['knex_migrations', 'knex_migrations_lock'])
