import { resolve } from 'node:path'
import { getSystemErrorMessage } from 'node:util'

/** Messages for errors of reading or writing files. */

/**
 * Returns the message for a file that cannot be read; `-` is standard input. `place` is where
 * reading failed, such as " beyond line 7".
 */
export const cannotRead = (file: string, error: Error, place = '') =>
  `cannot read ${file === '-' ? 'standard input' : resolve(file)}${place}: ${fileErrorReason(error)}`

/**
 * Describes an error of the file system, such as "no such file or directory". Returns the message
 * of any other error.
 */
export const fileErrorReason = (error: NodeJS.ErrnoException) =>
  error.syscall !== undefined && error.errno !== undefined
    ? getSystemErrorMessage(error.errno)
    : error.message
