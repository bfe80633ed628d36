import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { claimRun } from '../src/cli/claim-run.ts'
import { fileErrorReason } from '../src/cli/file-errors.ts'

/** What scripts that a timer runs keep in STATE_DIRECTORY. */

/** Keeps other runs away, as `claimRun` does. */
export const claimState = (file: string) => inStateDirectory(file, () => claimRun(file))

/**
 * Writes a state beside the file, and returns what replaces the file by it. A crash leaves the old
 * state or the new one. What is sent in between is not sent on a full disk, which would repeat it.
 */
export function writeState(file: string, state: object): () => void {
  const newFile = `${file}.new`
  inStateDirectory(newFile, () =>
    writeFileSync(newFile, `${JSON.stringify(state)}\n`, { flush: true }),
  )
  return () =>
    inStateDirectory(file, () => {
      renameSync(newFile, file)
      // Otherwise a power cut could bring the old state back: man 2 fsync.
      const directory = openSync(dirname(file), 'r')
      fsyncSync(directory)
      closeSync(directory)
    })
}

/** Runs work on a file; its error names the setting. */
export function inStateDirectory<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const reason = fileErrorReason(error as Error)
    throw new Error(`cannot use ${file} in STATE_DIRECTORY: ${reason}`)
  }
}
