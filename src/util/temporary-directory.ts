import { mkdtempSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs the work with a new directory in `parent`, which other accounts cannot read. Removes the
 * directory when the work ends or fails, or a signal other than SIGKILL stops the process. A
 * directory, because SQLite writes further files beside a database. After `commit()`, signals have
 * their usual effect.
 */
export async function withPrivateDirectory<T>(
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
    // process.exit would wait for the thread that copies. The signal also becomes the exit status.
    process.kill(process.pid, signal)
  }
  const restoreSignals = () => {
    for (const signal of signals) process.off(signal, stop)
  }

  // Before the directory exists: a signal without a handler ends the process at once, also within
  // synchronous code.
  for (const signal of signals) process.on(signal, stop)
  try {
    directory = mkdtempSync(join(parent, `.${name}-`))
    return await work(directory, restoreSignals)
  } finally {
    restoreSignals()
    if (directory !== undefined) await rm(directory, { recursive: true, force: true })
  }
}
