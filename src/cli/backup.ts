import { linkSync, rmSync } from 'node:fs'
import { lstat, mkdtemp, open, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { Refusal } from '../errors.ts'
import { note, print, printJson, withDatabase } from './command.ts'

export const backupCommand = () =>
  new Command('backup')
    .description('copy the database, while it is in use, into a new file, and verify the copy')
    .argument('<file>', 'path of the backup; a file that is there is never overwritten')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The backup is the database of one moment, whole in the one file: all apps,
pending, rejected and deleted ones too, keys, and the audit. The file gets its
name when all of it is written, checked and safe on disk, not before.

Example:
  npx apps-service backup /var/backups/apps-2026-11-20.sqlite

JSON: {file, bytes, apps, seconds}.

To restore it:
  1. Stop the server.
  2. Move away the file that DATABASE_URL names, and those beside it with -wal
     and -shm at the end of its name.
  3. Copy the backup to where that file was.
  4. npx apps-service migrate, which brings a backup of an older version up to
     date, and start the server.

To look into it first, serve a copy of it:
  DATABASE_URL=sqlite:COPY npx apps-service serve`,
    )
    .action(backup)

async function backup(file: string, options: { json?: true }) {
  const begin = performance.now()
  const target = resolve(file)
  await refuseTaken(target)
  const written = await withDatabase((database) =>
    inFolderOfItsOwn(dirname(target), async (folder, keep) => {
      const copy = join(folder, 'copy.sqlite')
      const { apps } = await database.copyTo(copy)
      await flush(copy, 'r+')
      const { size } = await stat(copy)
      // Unlike a rename, a link never takes the place of what is there: https://man7.org/linux/man-pages/man2/link.2.html
      linkSync(copy, target)
      keep()
      // The name, too, has to survive a power cut: https://man7.org/linux/man-pages/man2/fsync.2.html
      await flush(dirname(target), 'r')
      return { bytes: size, apps }
    }),
  ).catch((error: unknown) => {
    throw explained(error, target)
  })
  const seconds = Math.round((performance.now() - begin) / 10) / 100
  if (options.json) return printJson({ file: target, ...written, seconds })
  const megabytes = (written.bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })
  print(`Backed up ${written.apps.toLocaleString('en')} apps to ${file}: ${megabytes} MB, verified, in ${seconds} s.`)
}

/** A log or journal of an older database would be taken for the backup's own as soon as somebody opens it. */
async function refuseTaken(target: string) {
  for (const path of [target, `${target}-wal`, `${target}-shm`, `${target}-journal`]) {
    const isThere = await lstat(path).then(
      () => true,
      () => false,
    )
    if (isThere) throw taken(path)
  }
}

const taken = (path: string) => new Refusal(`${path} is there already, and stays as it is`)

async function flush(path: string, flags: 'r' | 'r+') {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Works in a new folder on the file system of the target, closed to other accounts. SQLite puts files of its own beside a
 * file that it writes: so all of them go together, whether the work ends, fails or is told to stop by a signal. After
 * SIGKILL or a power cut the next backup into the same place removes it. From `keep` on, a signal is too late.
 */
async function inFolderOfItsOwn<T>(parent: string, work: (folder: string, keep: () => void) => Promise<T>): Promise<T> {
  const prefix = `.apps-backup-${hostname()}-`
  await removeAbandoned(parent, prefix)
  const folder = await mkdtemp(join(parent, `${prefix}${process.pid}-`))

  function stop(signal: NodeJS.Signals) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    note(`apps-service: stopped by ${signal}; there is no backup`)
    ignoreSignals()
    // Not process.exit, which waits for the thread that is copying. The caller sees what ended this.
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

/**
 * Only those of this host whose process is gone: another's work may be under way. The process id alone does not tell,
 * since containers that share a folder all count from 1; in each of them the host name differs.
 */
async function removeAbandoned(parent: string, prefix: string) {
  for (const name of await readdir(parent)) {
    const pid = name.startsWith(prefix) ? /^(\d+)-\w{6}$/.exec(name.slice(prefix.length))?.[1] : undefined
    if (pid === undefined || isOfAnother(Number(pid))) continue
    // One that belongs to another account may stay: it is in nobody's way.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {})
  }
}

function isOfAnother(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** What Node's errors mean here, in a line that says what to mend. */
function explained(error: unknown, target: string): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const folder = dirname(target)
  switch (error.code) {
    case 'EEXIST':
      return taken(target)
    case 'ENOENT':
      return new Refusal(`${folder} does not exist`)
    case 'ENOTDIR':
      return new Refusal(`${folder} is no folder`)
    case 'ENOSPC':
    case 'EDQUOT':
      return new Refusal(`no space is left in ${folder}`)
    default: {
      // Some file systems, FAT for one, have no links; they say EPERM.
      const reason = error.syscall === 'link' ? `${basename(target)} cannot be linked there` : 'it cannot be written to'
      return new Refusal(`${folder}: ${reason} (${error.code})`)
    }
  }
}
