import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Works in a new directory in `parent`, which other accounts cannot read, and removes it when the work ends, fails or is
 * stopped by a signal: SQLite writes further files beside a database. After SIGKILL or a power cut, the next call with the
 * same parent and name removes it. After `commit()`, signals have their usual effect.
 */
export async function withPrivateDirectory<T>(
  parent: string,
  name: string,
  onStop: (signal: NodeJS.Signals) => void,
  work: (folder: string, commit: () => void) => Promise<T>,
): Promise<T> {
  const prefix = `.${name}-${hostname()}-`
  await removeAbandoned(parent, prefix)
  let folder: string | undefined

  function stop(signal: NodeJS.Signals) {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    onStop(signal)
    ignoreSignals()
    // process.exit would wait for the thread that copies. The signal also becomes the exit status.
    process.kill(process.pid, signal)
  }
  const ignoreSignals = () => {
    for (const signal of signals) process.off(signal, stop)
  }

  // Before the directory exists, so that no signal can leave it behind.
  for (const signal of signals) process.on(signal, stop)
  try {
    folder = mkdtempSync(join(parent, `${prefix}${process.pid}-`))
    return await work(folder, ignoreSignals)
  } finally {
    ignoreSignals()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Removes the directories of ended processes of this host. The name has the host, too, because containers that share a
 * directory use the same process ids.
 */
async function removeAbandoned(parent: string, prefix: string) {
  // A directory can be writable but not readable.
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = name.startsWith(prefix) ? /^(\d+)-\w{6}$/.exec(name.slice(prefix.length))?.[1] : undefined
    if (pid === undefined || isInUse(Number(pid))) continue
    // A directory of another account may stay: its name is not used again.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {})
  }
}

function isInUse(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
