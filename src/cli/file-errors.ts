import { resolve } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { OperatorError } from '../contract/errors.ts'
import { tildeAdvice } from '../util/text.ts'

/** Messages for errors of reading or writing files. */

/**
 * Returns the error for a file that cannot be read; `-` is standard input. `place` is where reading
 * failed, such as " beyond line 7".
 */
export function cannotRead(file: string, error: NodeJS.ErrnoException, place = ''): OperatorError {
  const mistake = error.code === 'ENOENT' ? pathMistake(file) : undefined
  if (mistake) return new OperatorError(`cannot read ${file}: ${mistake}`)
  const name = file === '-' ? 'standard input' : resolve(file)
  return new OperatorError(`cannot read ${name}${place}: ${fileErrorReason(error)}`)
}

/** The problem of a missing file's path that a browser or a shell would understand. */
export function pathMistake(file: string): string | undefined {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(file))
    return 'it is an address; give the path of a file on this machine'
  return /^~[^/]*\//.test(file) ? `no such file or directory; ${tildeAdvice}` : undefined
}

/**
 * Describes an error of the file system, such as "no such file or directory". Returns the message
 * of any other error.
 */
export const fileErrorReason = (error: NodeJS.ErrnoException): string =>
  error.syscall !== undefined && error.errno !== undefined
    ? getSystemErrorMessage(error.errno)
    : error.message
