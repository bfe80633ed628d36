import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Works in a new folder within `parent`, closed to other accounts. SQLite puts files of its own beside a file that it writes:
 * so all of them go together, whether the work ends, fails or is told to stop by a signal. After SIGKILL or a power cut the
 * next work of the same name in the same place removes it. From `commit` on, a signal is too late.
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
    // Not process.exit, which waits for the thread that is copying. The caller sees what ended this.
    process.kill(process.pid, signal)
  }
  const ignoreSignals = () => {
    for (const signal of signals) process.off(signal, stop)
  }

  // Listened for first: what comes before the folder has its name is heard behind it.
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
 * Only those of this host whose process is gone: another's work may be under way. The process id alone does not tell,
 * since containers that share a folder all count from 1; in each of them the host name differs.
 */
async function removeAbandoned(parent: string, prefix: string) {
  // A folder may be written to that cannot be listed.
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = name.startsWith(prefix) ? /^(\d+)-\w{6}$/.exec(name.slice(prefix.length))?.[1] : undefined
    if (pid === undefined || isInUse(Number(pid))) continue
    // One that belongs to another account may stay: it is in nobody's way.
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
