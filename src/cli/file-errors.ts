import { resolve } from 'node:path'
import { getSystemErrorMessage } from 'node:util'

/** Describes files, and errors of reading or writing them, in messages. */

/**
 * An error of the file system in words, such as "no such file or directory"; the message of any
 * other error.
 */
export const fileErrorReason = (error: NodeJS.ErrnoException) =>
  error.syscall !== undefined && error.errno !== undefined
    ? getSystemErrorMessage(error.errno)
    : error.message

/** The file `-` is standard input. `part` of it could not be read; by default all of it. */
export const cannotRead = (file: string, error: Error, part = '') =>
  `cannot read ${file === '-' ? 'standard input' : resolve(file)}${part}: ${fileErrorReason(error)}`
