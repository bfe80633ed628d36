import { linkSync } from 'node:fs'
import { lstat, open, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { Refusal } from '../errors.ts'
import { inFolderOfItsOwn } from '../own-folder.ts'
import { note, print, printJson, withDatabase } from './command.ts'
import { grouped } from './text.ts'
import { elapsed } from './time.ts'

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
    inFolderOfItsOwn(dirname(target), 'apps-backup', saysStopped, async (folder, keep) => {
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
  const seconds = elapsed(begin)
  if (options.json) return printJson({ file: target, ...written, seconds })
  const megabytes = (written.bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })
  print(`Backed up ${grouped(written.apps)} apps to ${file}: ${megabytes} MB, verified, in ${seconds} s.`)
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

const saysStopped = (signal: NodeJS.Signals) => note(`apps-service: stopped by ${signal}; there is no backup`)

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
