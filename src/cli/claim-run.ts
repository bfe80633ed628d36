import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/**
 * Keeps other runs away until it is closed; undefined if another run does. The lock is SQLite's: the
 * system releases it when the process ends, also by a crash.
 */
export function claimRun(file: string): DatabaseSync | undefined {
  // SQLite would not say why it cannot open the file.
  closeSync(openSync(file, 'a'))
  const lock = new DatabaseSync(file)
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    // SQLITE_BUSY, https://sqlite.org/rescode.html#busy
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return undefined
    throw error
  }
}
