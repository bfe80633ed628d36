import { closeSync, linkSync, openSync, renameSync } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { Refusal } from '../contract/errors.ts'
import { inFolderOfItsOwn } from '../util/private-directory.ts'
import { note } from './command.ts'

/**
 * Has a file written that gets its name when it is whole and safe on disk, not before: nobody takes a part of it for
 * all, however the command ends. `what` it is names the folder beside it in which it is written. Throws a Refusal where
 * the name is taken, or the folder or the disk does not take it.
 */
export async function writeNewFile<T>(file: string, what: string, write: (path: string) => Promise<T>): Promise<T> {
  if (file.endsWith(sep)) throw new Refusal(`${file} is no name of a file`)
  const target = resolve(file)
  await refuseTaken(target)
  const saysStopped = (signal: NodeJS.Signals) => note(`apps-service: stopped by ${signal}; there is no ${what}`)
  return inFolderOfItsOwn(dirname(target), `apps-${what}`, saysStopped, async (folder, keep) => {
    const path = join(folder, basename(target))
    const written = await write(path)
    await flush(path, 'r+')
    giveName(path, target)
    keep()
    // The name, too, has to survive a power cut: https://man7.org/linux/man-pages/man2/fsync.2.html
    await flush(dirname(target), 'r')
    return written
  }).catch((error: unknown) => {
    throw explained(error, target)
  })
}

function giveName(path: string, target: string) {
  try {
    // Unlike a rename, a link never takes the place of what is there: https://man7.org/linux/man-pages/man2/link.2.html
    linkSync(path, target)
  } catch (error) {
    if (!withoutLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error
    // Where the file system has no links, the name is taken first.
    closeSync(openSync(target, 'wx'))
    renameSync(path, target)
  }
}

/** What Linux and others say of a link on FAT, for one. */
const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** Throws a Refusal where there is something of that name. */
export async function refuseTaken(path: string) {
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  )
  if (isThere) throw taken(path)
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

/** What Node's errors mean here, in a line that says what to mend. */
function explained(error: unknown, target: string): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  // A database's connection can fail meanwhile, too, and that names no path.
  if (!('path' in error) && error.syscall !== 'write' && error.syscall !== 'fsync') return error
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
    default:
      return new Refusal(`${folder}: it cannot be written to (${error.code})`)
  }
}
