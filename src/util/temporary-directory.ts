import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Milliseconds without a write after which a directory is abandoned. */
const abandonedAfter = 24 * 60 * 60 * 1000

/**
 * Runs the work with a new directory in `parent`, which other accounts cannot read. Removes it when
 * the work ends or fails, and first those that killed processes have left. If one of `signals` arrives before the work calls `commit`, removes it,
 * calls `onStop`, and ends the process. Work that writes only one file needs a directory, too,
 * because SQLite writes further files beside a database.
 */
export async function withTemporaryDirectory<T>(
  parent: string,
  name: string,
  onStop: (signal: NodeJS.Signals) => void,
  work: (directory: string, commit: () => void) => Promise<T>,
): Promise<T> {
  let directory: string | undefined

  function stop(signal: NodeJS.Signals) {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
    onStop(signal)
    restoreSignals()
    // Without its handler, the signal ends the process at once and sets the exit status.
    // process.exit would wait for threads that copy files.
    process.kill(process.pid, signal)
  }

  function restoreSignals() {
    for (const signal of signals) process.off(signal, stop)
  }

  // Add the handlers before the directory exists. Otherwise a signal in between would end the
  // process at once, and leave the directory behind.
  for (const signal of signals) process.on(signal, stop)
  try {
    removeAbandoned(parent, `.${name}-`)
    directory = mkdtempSync(join(parent, `.${name}-`))
    return await work(directory, restoreSignals)
  } finally {
    restoreSignals()
    if (directory !== undefined) await rm(directory, { recursive: true, force: true })
  }
}

/** Removes directories of this account in which no file has been written for a day. */
function removeAbandoned(parent: string, prefix: string) {
  try {
    for (const entry of readdirSync(parent, { withFileTypes: true })) {
      if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue
      const directory = join(parent, entry.name)
      // Others could replace files of theirs by links meanwhile.
      if (process.getuid && lstatSync(directory).uid !== process.getuid()) continue
      if (lastWrite(directory) < Date.now() - abandonedAfter)
        rmSync(directory, { recursive: true, force: true })
    }
  } catch {
    // Another process removes the same, or this one cannot list the parent: neither stops the work.
  }
}

/** When a file of a directory was last written, or the directory itself if it is empty. */
function lastWrite(directory: string): number {
  const files = readdirSync(directory).map((name) => join(directory, name))
  const paths = files.length > 0 ? files : [directory]
  return Math.max(...paths.map((path) => lstatSync(path).mtimeMs))
}
