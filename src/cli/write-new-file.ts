import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { OperatorError } from '../contract/errors.ts'
import { linkIntoPlace, syncToDisk } from '../util/file-system.ts'
import { withTemporaryDirectory } from '../util/temporary-directory.ts'
import { fileErrorReason, pathMistake } from './file-errors.ts'
import { errorPrefix, printInfo } from './output.ts'

/**
 * Writes a file in a private directory next to it, and links it to its name when it is complete and
 * synced to disk. So a command that is stopped leaves no partial file. `what` names the directory.
 * Throws an OperatorError if the file exists or cannot be written.
 */
export async function writeNewFile<T>(
  file: string,
  what: string,
  write: (path: string) => Promise<T>,
): Promise<T> {
  if (file.endsWith(sep)) throw new OperatorError(`${file} is not a file name: it ends with ${sep}`)
  const target = resolve(file)
  assertMissing(target)
  const reportStop = (signal: NodeJS.Signals) =>
    printInfo(`${errorPrefix}stopped by ${signal}; no ${what} was written`)
  return withTemporaryDirectory(
    dirname(target),
    `apps-${what}`,
    reportStop,
    async (directory, commit) => {
      const path = join(directory, basename(target))
      const written = await write(path)
      await syncToDisk(path, 'r+')
      linkIntoPlace(path, target)
      commit()
      // Otherwise a power cut could lose the name:
      // https://man7.org/linux/man-pages/man2/fsync.2.html
      await syncToDisk(dirname(target), 'r')
      return written
    },
  ).catch((error) => rethrowFileError(error, file))
}

/** Throws an OperatorError if the path exists. */
export function assertMissing(path: string): void {
  if (existsSync(path)) throw alreadyExists(path)
}

const alreadyExists = (path: string) => new OperatorError(`${path} already exists; not overwritten`)

/** Throws an error of the file system as a message for the operator. */
export function rethrowFileError(error: NodeJS.ErrnoException, file: string): never {
  // An error of a database connection has an errno and a syscall, too.
  const isOfFile = error.path !== undefined || ['write', 'fsync'].includes(error.syscall ?? '')
  if (!isOfFile) throw error
  const target = resolve(file)
  if (error.code === 'EEXIST') throw alreadyExists(target)
  const mistake = error.code === 'ENOENT' ? pathMistake(file) : undefined
  throw new OperatorError(
    mistake
      ? `cannot write ${file}: ${mistake}`
      : `cannot write ${target}: ${fileErrorReason(error)}`,
  )
}
