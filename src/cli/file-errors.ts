import { resolve } from 'node:path'
import { getSystemErrorMessage } from 'node:util'

/** Describes files, and errors of reading or writing them, in messages. */

/** The absolute path; `-` is standard input. */
export const describeFile = (file: string) => (file === '-' ? 'standard input' : resolve(file))

/**
 * An error of the file system in words, such as "no such file or directory"; the message of any
 * other error.
 */
export const fileErrorReason = (error: Error & { errno?: number; syscall?: string }) =>
  error.syscall !== undefined && error.errno !== undefined
    ? getSystemErrorMessage(error.errno)
    : error.message

export const cannotRead = (file: string, error: Error) =>
  `cannot read ${describeFile(file)}: ${fileErrorReason(error)}`
