import type { Stats } from 'node:fs'
import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import { fileErrorReason, pathMistake } from './file-errors.ts'

/**
 * Returns a writer of an import's refused lines, as they are, and of their problems, in a file
 * beside them. The first refused line creates or overwrites both. A device or a pipe gets the lines
 * alone. Throws an OperatorError if a file cannot be written there, or would overwrite another one
 * than those of an earlier import.
 */
export async function rejectsWriter(path: string, source: Stats) {
  await assertDirectory(path)
  const existing = await statIfExists(path)
  const isDevice = existing && !existing.isFile() && !existing.isDirectory()
  const problemsPath = isDevice ? undefined : `${path}.problems`
  const isReplacing =
    problemsPath !== undefined && (await hasEarlierRejects(path, problemsPath, source))
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
    problemsPath,
    async add(line: number, problems: Problem[], raw: string | Buffer) {
      const described = problems.map(({ field, message }) => ({ field, message }))
      const entry = JSON.stringify({ line, ...identify(raw), problems: described })
      // First, because it shows that the other file has rejects.
      if (problemsPath !== undefined) await append(problemsPath, `${entry}\n`)
      await append(path, raw)
      await append(path, '\n')
    },
    async close() {
      for (const file of files.values()) await file.close()
    },
    /** Removes the files of an earlier import, if there are any. */
    async removeEarlier() {
      if (!isReplacing) return
      for (const file of [path, `${path}.problems`]) await rm(file, { force: true })
    },
  }
}

/** The id and slug that a line gives its app or category, whatever else is wrong with it. */
function identify(raw: string | Buffer): { id?: number; slug?: string } {
  try {
    const line = Object(JSON.parse(raw.toString()))
    const { id, slug } = 'name' in line ? line : Object(line.removed ?? line.category ?? line)
    return {
      ...(typeof id === 'number' && { id }),
      ...(typeof slug === 'string' && { slug }),
    }
  } catch {
    return {}
  }
}

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
 * Whether an earlier import has written its rejects there. Throws an OperatorError if one of the
 * paths has another file. An empty one loses nothing.
 */
async function hasEarlierRejects(
  path: string,
  problemsPath: string,
  source: Stats,
): Promise<boolean> {
  const [lines, problems] = [await statIfExists(path), await statIfExists(problemsPath)]
  for (const [file, existing] of [
    [path, lines],
    [problemsPath, problems],
  ] as const) {
    if (existing?.isDirectory()) throw cannotWrite(file, 'it is a directory')
    if (existing && existing.dev === source.dev && existing.ino === source.ino)
      throw cannotWrite(file, 'it is the file to import')
  }
  const hasProblems = problems !== undefined && problems.size > 0
  if (hasProblems && !(await isProblemsFile(problemsPath)))
    throw cannotWrite(problemsPath, 'it already exists and has no problems of rejects')
  if (!hasProblems && lines && lines.size > 0) {
    const mark = `${resolve(problemsPath)} is missing or empty`
    throw cannotWrite(path, `it already exists and is not a rejects file: ${mark}`)
  }
  return hasProblems
}

const statIfExists = (path: string) => stat(path).catch(() => undefined)

async function isProblemsFile(path: string): Promise<boolean> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
  return /^\{"line":\d+,"(id|slug|problems)":/.test(buffer.toString('utf8', 0, bytesRead))
}
