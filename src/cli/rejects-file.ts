import type { Stats } from 'node:fs'
import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { OperatorError } from '../contract/errors.ts'
import { identify, isRefusing } from '../import-export/line.ts'
import type { LineProblem } from '../import-export/reason-counts.ts'
import { fileErrorReason, pathMistake } from './file-errors.ts'

/**
 * Returns a writer of an import's refused lines, as they are, and of all problems, in a file beside
 * them. The first problem creates or overwrites that file, and removes the lines of an earlier
 * import. A device or a pipe gets the lines alone. Throws an OperatorError if a file cannot be
 * written there, or would overwrite another one than those of an earlier import.
 */
export async function rejectsWriter(path: string, source: Stats) {
  await assertDirectory(path)
  const existing = await statIfExists(path)
  const isDevice = existing && !existing.isFile() && !existing.isDirectory()
  const problemsPath = isDevice ? undefined : `${path}.problems`
  if (problemsPath !== undefined) await assertReplaceable(path, problemsPath, source)
  const files = new Map<string, FileHandle>()

  async function append(target: string, content: string | Buffer) {
    try {
      const file = files.get(target) ?? (await open(target, 'w'))
      files.set(target, file)
      await file.appendFile(content)
    } catch (error) {
      throw cannotWrite(target, fileErrorReason(error as Error))
    }
  }

  return {
    /** Undefined if the rejects are a device or a pipe. */
    problemsPath,
    /** Adds the line itself only if a problem refuses it. */
    async add(line: number, problems: LineProblem[], raw: string | Buffer) {
      const described = problems.map(({ field, message, left_out }) => ({
        field,
        message,
        left_out,
      }))
      const entry = JSON.stringify({ line, ...identify(raw), problems: described })
      const isRefused = problems.some(isRefusing)
      if (problemsPath !== undefined) {
        if (!isRefused && files.size === 0) await remove(path)
        // First, because it shows that the other file has rejects.
        await append(problemsPath, `${entry}\n`)
      }
      if (!isRefused) return
      await append(path, raw)
      await append(path, '\n')
    },
    async close() {
      for (const file of files.values()) await file.close()
    },
    /** Removes the files of an earlier import that this one has not replaced, if there are any. */
    async removeEarlier() {
      if (problemsPath === undefined) return
      for (const file of [path, problemsPath]) if (!files.has(file)) await remove(file)
    },
  }
}

const remove = (path: string) =>
  rm(path, { force: true }).catch((error) => {
    throw cannotWrite(path, fileErrorReason(error))
  })

const cannotWrite = (path: string, reason: string) =>
  new OperatorError(`cannot write rejects to ${resolve(path)}: ${reason}; use --rejects FILE`)

async function assertDirectory(path: string) {
  const directory = dirname(path)
  const parent = await statIfExists(directory)
  const mistake = parent ? undefined : pathMistake(path)
  if (mistake) throw new OperatorError(`cannot write rejects to ${path}: ${mistake}`)
  if (!parent?.isDirectory())
    throw cannotWrite(path, `${resolve(directory)} is not a directory that this account can enter`)
}

/**
 * Throws an OperatorError unless the files are rejects of an earlier import and their problems, or
 * empty or missing.
 */
async function assertReplaceable(path: string, problemsPath: string, source: Stats) {
  for (const file of [path, problemsPath]) {
    const existing = await statIfExists(file)
    if (existing?.isDirectory()) throw cannotWrite(file, 'it is a directory')
    if (existing?.dev === source.dev && existing.ino === source.ino)
      throw cannotWrite(file, 'it is the file to import')
  }
  const beginning = await readBeginning(problemsPath)
  if (/^\{"line":\d+,"(id|slug|problems)":/.test(beginning)) return
  if (beginning !== '')
    throw cannotWrite(problemsPath, 'it already exists and has no problems of rejects')
  if ((await readBeginning(path)) !== '') {
    const mark = `${resolve(problemsPath)} is missing or empty`
    throw cannotWrite(path, `it already exists and is not a rejects file: ${mark}`)
  }
}

const statIfExists = (path: string) => stat(path).catch(() => undefined)

/** The first bytes of a file; none if it is missing, or a pipe. */
async function readBeginning(path: string): Promise<string> {
  if (!(await statIfExists(path))?.size) return ''
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
  return buffer.toString('utf8', 0, bytesRead)
}
