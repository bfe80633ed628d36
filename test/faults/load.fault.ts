import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/db/open.ts'
import { fill } from '../bench/catalogue.ts'
import { isCut } from './cut.ts'

/**
 * Programs of this folder that load a server and print what its clients saw. Each is given the files of two catalogues: one of
 * 100 apps with the longest descriptions, and one of 200,000 apps.
 */
const programs = [
  { name: 'pipelining.ts', args: (long: string, large: string) => [long, large] },
  { name: 'search-flood.ts', args: (_: string, large: string) => [large, '64', '400'] },
  { name: 'connections.ts', args: (long: string, large: string) => [long, large] },
].filter(({ name }) => existsSync(join(import.meta.dirname, name)))

const folder = mkdtempSync(join(tmpdir(), 'apps-load-'))
const [long, large] = [join(folder, 'long.sqlite'), join(folder, 'large.sqlite')]

afterAll(() => rmSync(folder, { recursive: true }))

beforeAll(async () => {
  if (isCut || programs.length === 0) return
  await makeCatalogue(long, 100)
  const database = openDatabase(`sqlite:${long}`)
  await database.write(({ sql }) => sql('apps').update({ description: 'a word or '.repeat(2000) }))
  await database.close()
  await makeCatalogue(large, 200_000)
})

async function makeCatalogue(file: string, size: number) {
  const database = openDatabase(`sqlite:${file}`)
  await database.migrate()
  await fill(database, size)
  await database.close()
}

test.skipIf(isCut || programs.length === 0)('under load, what clients saw', async () => {
  for (const { name, args } of programs) {
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(import.meta.dirname, name),
      ...args(long, large),
    ])
    console.log(`${name}\n${stdout}`)
    expect(stdout, name).not.toBe('')
  }
})
