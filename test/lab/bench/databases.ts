import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../../src/db/migrations.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../../src/db/tools.ts'
import { fill } from './catalogue.ts'

/** Creates a directory that is removed when this process exits. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'apps-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  return folder
}

export async function withDatabase<T>(
  filename: string,
  work: (database: DatabaseWithTools) => Promise<T>,
): Promise<T> {
  const database = openDatabase(`sqlite:${filename}`)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The file of a catalogue of that size. Creates a missing one; migrates an existing one. */
export async function catalogueFile(folder: string, size: number): Promise<string> {
  const filename = join(folder, `${size}.sqlite`)
  if (existsSync(filename)) {
    await withDatabase(filename, (database) => migrate(database))
    return filename
  }
  mkdirSync(folder, { recursive: true })
  const unfinished = `${filename}.unfinished`
  await emptyDatabase(unfinished)
  await withDatabase(unfinished, (database) => fill(database, size))
  renameSync(unfinished, filename)
  return filename
}

/** Creates an empty, migrated database; replaces an existing file. */
export async function emptyDatabase(filename: string) {
  for (const ending of ['', '-wal', '-shm']) rmSync(`${filename}${ending}`, { force: true })
  await withDatabase(filename, (database) => migrate(database))
}
