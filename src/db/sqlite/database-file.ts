import { statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UnusableDatabase } from '../error-meaning.ts'
import { diskFull, healthErrorOf, isDamage } from './errors.ts'

/** Device and inode of the database file and of its log; no two open files have the same. */
type FileIdentity = { file: string; log: string }

/**
 * The file that the connections of this process have open. If another file takes its path, later
 * connections would open that one, and writes of the earlier ones would be lost. So each use first
 * compares the two, by `stat` alone: opening and closing the file would drop SQLite's locks on it
 * (https://sqlite.org/howtocorrupt.html, section 2.2). Decision 14.
 */
export type DatabaseFile = Readonly<{
  isOpen: () => boolean
  /** Throws if the connections have another file open than the one at the path. */
  assertInPlace: () => void
  /**
   * Like `assertInPlace`, but checks once per turn of the event loop, in which many reads may
   * begin.
   */
  assertInPlaceThisTurn: () => void
  /**
   * Opens a connection; throws if it has another file open than the first connection, which stays
   * open: closing the last one would remove the log.
   */
  openConnection: <C>(
    open: () => Promise<C>,
    close: (connection: C) => Promise<unknown>,
  ) => Promise<C>
  /**
   * Runs work on the file. If it fails with an error of the file or its disk, `checkHealth` reports
   * that.
   */
  watch: <T>(work: () => Promise<T>) => Promise<T>
  /** The number of times that the file was found damaged. */
  damageCount: () => number
  /** Why the file cannot be used, such as "is damaged"; undefined if no reason is known. */
  checkHealth: () => Promise<string | undefined>
}>

export function databaseFile(filename: string): DatabaseFile {
  let opened: FileIdentity | undefined
  let damageCount = 0
  let lastError: { reason: string; at: number } | undefined
  let isCheckedThisTurn = false

  const currentIdentity = (): FileIdentity => ({
    file: identityOf(filename),
    log: identityOf(`${filename}-wal`),
  })

  function assertInPlace() {
    if (!opened) return
    const now = currentIdentity()
    // The log of an empty database is created by the first write.
    if (opened.log === noFile && now.file === opened.file) opened = now
    if (now.file === noFile) throw new UnusableDatabase('is gone')
    if (now.file !== opened.file)
      throw new UnusableDatabase(replacedMessage(now.log === opened.log))
    if (now.log !== opened.log)
      throw new UnusableDatabase('log (-wal) was removed; restart the service')
  }

  function assertInPlaceThisTurn() {
    if (isCheckedThisTurn) return
    assertInPlace()
    isCheckedThisTurn = true
    setImmediate(() => {
      isCheckedThisTurn = false
    })
  }

  async function watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isDamage(error)) damageCount++
      const reason = healthErrorOf(error)
      if (reason) lastError = { reason, at: performance.now() }
      throw error
    }
  }

  async function openConnection<C>(
    open: () => Promise<C>,
    close: (connection: C) => Promise<unknown>,
  ): Promise<C> {
    assertInPlace()
    const { file } = currentIdentity()
    const connection = await open()
    const isFirst = opened === undefined
    // The first connection creates the log.
    opened ??= { file, log: currentIdentity().log }
    try {
      assertInPlace()
    } catch (error) {
      if (isFirst) opened = undefined
      await close(connection)
      throw error
    }
    return connection
  }

  return {
    isOpen: () => opened !== undefined,
    assertInPlace,
    assertInPlaceThisTurn,
    openConnection,
    watch,
    damageCount: () => damageCount,
    async checkHealth() {
      assertInPlace()
      if (lastError && performance.now() - lastError.at < errorLifetime) return lastError.reason
      return (await isDiskFull(filename)) ? diskFull : undefined
    },
  }
}

/**
 * SQLite would read the log of the former file as the new one's
 * (https://sqlite.org/howtocorrupt.html, section 1.4).
 */
const replacedMessage = (hasFormerLog: boolean) =>
  `file was replaced; ${hasFormerLog ? 'move its former log (-wal) away and ' : ''}restart the service`

/** Milliseconds for which an error is remembered; also the `Retry-After` of the responses. */
const errorLifetime = 5000

/** Bytes that the largest write of a request may take in the log. */
const minFreeSpace = 2 ** 20

export async function isDiskFull(filename: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dirname(filename))
  return bavail * bsize < minFreeSpace
}

const noFile = ''

/** Empty if there is no file, or it cannot be reached. */
function identityOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found ? `${found.dev}:${found.ino}` : noFile
  } catch {
    return noFile
  }
}
