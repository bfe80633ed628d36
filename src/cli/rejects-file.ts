import type { Stats } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import { toReject } from '../import-export/rejects.ts'
import { fileErrorReason, pathMistake } from './file-errors.ts'

/** Writes an import's refused lines to a file. The first one creates or overwrites the file. */
export function rejectsWriter(path: string) {
  let file: FileHandle | undefined
  return {
    async add(line: number, problems: Problem[], text: string | undefined) {
      const reject = JSON.stringify(toReject(line, problems, text))
      try {
        file ??= await open(path, 'w')
        await file.appendFile(`${reject}\n`)
      } catch (error) {
        throw cannotWrite(path, fileErrorReason(error as Error))
      }
    },
    close: async () => file?.close(),
  }
}

const cannotWrite = (path: string, reason: string) =>
  new OperatorError(`cannot write rejects to ${resolve(path)}: ${reason}; use --rejects FILE`)

/**
 * Whether the path is the rejects file of an earlier import. Throws an OperatorError if rejects
 * cannot be written there, or would overwrite another file.
 */
export async function hasEarlierRejects(path: string, source: Stats): Promise<boolean> {
  const existing = await stat(path).catch(() => undefined)
  if (existing?.isDirectory()) throw cannotWrite(path, 'it is a directory')
  const directory = dirname(path)
  const parent = await stat(directory).catch(() => undefined)
  const mistake = parent ? undefined : pathMistake(path)
  if (mistake) throw new OperatorError(`cannot write rejects to ${path}: ${mistake}`)
  if (!parent?.isDirectory())
    throw cannotWrite(path, `${resolve(directory)} is not a directory that this account can enter`)
  // A device, a pipe or an empty file loses nothing.
  if (!existing?.isFile() || existing.size === 0) return false
  if (existing.dev === source.dev && existing.ino === source.ino)
    throw cannotWrite(path, 'it is the file to import')
  if (!(await isRejectsFile(path)))
    throw cannotWrite(path, 'it already exists and is not a rejects file')
  return true
}

/** Checks the first bytes, which stay the same when somebody corrects the lines. */
async function isRejectsFile(path: string): Promise<boolean> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
  return /^\{\s*"line"\s*:\s*\d+\s*,\s*"errors"/.test(buffer.toString('utf8', 0, bytesRead))
}
