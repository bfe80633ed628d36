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
export class DatabaseFile {
  readonly #filename: string
  #opened: FileIdentity | undefined
  #lastError: { reason: string; at: number } | undefined
  #isCheckedThisTurn = false
  /** The number of times that the file was found damaged. */
  damageCount = 0

  constructor(filename: string) {
    this.#filename = filename
  }

  get isOpen(): boolean {
    return this.#opened !== undefined
  }

  /** Throws if the connections have another file open than the one at the path. */
  assertInPlace(): void {
    const opened = this.#opened
    if (!opened) return
    const now = identityOf(this.#filename)
    if (now.file === noFile) throw new UnusableDatabase('is gone')
    if (now.file !== opened.file)
      throw new UnusableDatabase(replacedMessage(now.log === opened.log))
    // The log of an empty database is created by the first write.
    if (opened.log === noFile) this.#opened = now
    else if (now.log !== opened.log)
      throw new UnusableDatabase('log (-wal) was removed; restart the service')
  }

  /**
   * Like `assertInPlace`, but checks once per turn of the event loop, in which many reads may
   * begin.
   */
  assertInPlaceThisTurn(): void {
    if (this.#isCheckedThisTurn) return
    this.assertInPlace()
    this.#isCheckedThisTurn = true
    setImmediate(() => {
      this.#isCheckedThisTurn = false
    })
  }

  /**
   * Runs work on the file. If it fails with an error of the file or its disk, `checkHealth` reports
   * that.
   */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isDamage(error)) this.damageCount++
      const reason = healthErrorOf(error)
      if (reason) this.#lastError = { reason, at: performance.now() }
      throw error
    }
  }

  /**
   * Opens a connection; throws if it has another file open than the first connection, which stays
   * open: closing the last one would remove the log.
   */
  async openConnection<C>(
    open: () => Promise<C>,
    close: (connection: C) => Promise<unknown>,
  ): Promise<C> {
    this.assertInPlace()
    const { file } = identityOf(this.#filename)
    const connection = await open()
    const isFirst = !this.isOpen
    // The first connection creates the log.
    this.#opened ??= { file, log: identityOf(this.#filename).log }
    try {
      this.assertInPlace()
    } catch (error) {
      if (isFirst) this.#opened = undefined
      await close(connection)
      throw error
    }
    return connection
  }

  /** Why the file cannot be used, such as "is damaged"; undefined if no reason is known. */
  async checkHealth(): Promise<string | undefined> {
    this.assertInPlace()
    const error = this.#lastError
    if (error && performance.now() - error.at < errorLifetime) return error.reason
    return (await isDiskFull(this.#filename)) ? diskFull : undefined
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

const identityOf = (filename: string): FileIdentity => ({
  file: inodeOf(filename),
  log: inodeOf(`${filename}-wal`),
})

/** Empty if there is no file, or it cannot be reached. */
function inodeOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found ? `${found.dev}:${found.ino}` : noFile
  } catch {
    return noFile
  }
}
