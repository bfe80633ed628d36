import { mkdtempSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Works in a new directory in `parent`, which other accounts cannot read, and removes it when the work ends, fails or is
 * stopped by a signal, but not by SIGKILL: SQLite writes further files beside a database. After `commit()`, signals have their
 * usual effect.
 */
export async function withPrivateDirectory<T>(
  parent: string,
  name: string,
  onStop: (signal: NodeJS.Signals) => void,
  work: (folder: string, commit: () => void) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(parent, `.${name}-`))

  function stop(signal: NodeJS.Signals) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    onStop(signal)
    ignoreSignals()
    // process.exit would wait for the thread that copies. The signal also becomes the exit status.
    process.kill(process.pid, signal)
  }
  const ignoreSignals = () => {
    for (const signal of signals) process.off(signal, stop)
  }

  for (const signal of signals) process.on(signal, stop)
  try {
    return await work(folder, ignoreSignals)
  } finally {
    ignoreSignals()
    await rm(folder, { recursive: true, force: true })
  }
}
