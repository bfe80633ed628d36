import { closeSync, linkSync, openSync, renameSync } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { OperatorError } from '../contract/errors.ts'
import { withPrivateDirectory } from '../util/private-directory.ts'
import { printInfo } from './command.ts'

/**
 * Has a file written that gets its name when it is whole and safe on disk, not before: nobody takes a part of it for
 * all, however the command ends. `what` it is names the folder beside it in which it is written. Throws an OperatorError where
 * the name is taken, or the folder or the disk does not take it.
 */
export async function writeNewFile<T>(file: string, what: string, write: (path: string) => Promise<T>): Promise<T> {
  if (file.endsWith(sep)) throw new OperatorError(`${file} is no name of a file`)
  const target = resolve(file)
  await assertMissing(target)
  const reportStop = (signal: NodeJS.Signals) => printInfo(`apps-service: stopped by ${signal}; there is no ${what}`)
  return withPrivateDirectory(dirname(target), `apps-${what}`, reportStop, async (folder, commit) => {
    const path = join(folder, basename(target))
    const written = await write(path)
    await syncToDisk(path, 'r+')
    linkIntoPlace(path, target)
    commit()
    // The name, too, has to survive a power cut: https://man7.org/linux/man-pages/man2/fsync.2.html
    await syncToDisk(dirname(target), 'r')
    return written
  }).catch((error: unknown) => {
    throw explainFileError(error, target)
  })
}

function linkIntoPlace(path: string, target: string) {
  try {
    // Unlike a rename, a link never takes the place of what is there: https://man7.org/linux/man-pages/man2/link.2.html
    linkSync(path, target)
  } catch (error) {
    if (!linkUnsupportedCodes.has((error as NodeJS.ErrnoException).code ?? '')) throw error
    // Where the file system has no links, the name is taken first.
    closeSync(openSync(target, 'wx'))
    renameSync(path, target)
  }
}

/** What Linux and others say of a link on FAT, for one. */
const linkUnsupportedCodes = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** Throws an OperatorError where there is something of that name. */
export async function assertMissing(path: string) {
  const exists = await lstat(path).then(
    () => true,
    () => false,
  )
  if (exists) throw alreadyExists(path)
}

const alreadyExists = (path: string) => new OperatorError(`${path} is there already, and stays as it is`)

async function syncToDisk(path: string, flags: 'r' | 'r+') {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** What Node's errors mean here, in a line that says what to mend. */
function explainFileError(error: unknown, target: string): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  // A database's connection can fail meanwhile, too, and that names no path.
  if (!('path' in error) && error.syscall !== 'write' && error.syscall !== 'fsync') return error
  const folder = dirname(target)
  switch (error.code) {
    case 'EEXIST':
      return alreadyExists(target)
    case 'ENOENT':
      return new OperatorError(`${folder} does not exist`)
    case 'ENOTDIR':
      return new OperatorError(`${folder} is no folder`)
    case 'ENOSPC':
    case 'EDQUOT':
      return new OperatorError(`no space is left in ${folder}`)
    default:
      return new OperatorError(`${folder}: it cannot be written to (${error.code})`)
  }
}
