import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { importLines } from '../../src/import-export/import-lines.ts'
import { catalogueLines } from '../../src/import-export/write-lines.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorldFile, temporaryFolder } from '../support/database.ts'
import { commandLine, executable, run, serve } from '../support/process.ts'

const lineOf = (name: string) =>
  JSON.stringify({
    name,
    description: 'The sky above you.',
    category: 'tools',
    developer_name: 'Ada',
  })

test('an import checkpoints the write-ahead log, with a running server or without', async () => {
  const file = copyWorldFile()
  const { runWith } = commandLine(`sqlite:${file}`)
  const importing = (lines: string[]) => runWith(lines.join('\n'), 'import', '-')
  await importing(Array.from({ length: 300 }, (_, index) => lineOf(`Star ${index}`)))
  expect(existsSync(`${file}-wal`)).toBe(false)
  await serve(`sqlite:${file}`)
  const copy = join(temporaryFolder(), 'copy.sqlite')
  const inFileAlone = async () => {
    await importing([lineOf('Beside a server')])
    copyFileSync(file, copy)
    return (await commandLine(`sqlite:${copy}`).run('export')).stdout
  }
  // Reads of the starting server may prevent the first checkpoint.
  await expect.poll(inFileAlone).toContain('Beside a server')
  expect(existsSync(`${file}-wal`)).toBe(true)
})

test('a command leaves what it wrote in the file, and no log beside it', async () => {
  const file = copyWorldFile()
  const cli = commandLine(`sqlite:${file}`)
  // The connections do not always close in the same order.
  for (let number = 0; number < 10; number++) {
    expect(
      (await cli.run('category', 'add', '--slug', `c${number}`, '--name', `C ${number}`)).code,
    ).toBe(0)
    expect(existsSync(`${file}-wal`)).toBe(false)
  }
  const copy = join(temporaryFolder(), 'copy.sqlite')
  copyFileSync(file, copy)
  expect((await commandLine(`sqlite:${copy}`).run('category', 'list')).stdout).toContain('C 9')
})

test('an import that cannot merge the index afterwards is complete all the same, and says so', async () => {
  const url = `sqlite:${copyWorldFile()}`
  const [database, other] = [openDatabase(url, { lockTimeout: 10 }), openDatabase(url)]
  const lines = Array.from({ length: 300 }, (_, index) => lineOf(`Star ${index}`))
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let writing: Promise<void> | undefined
  /** After the only transaction, another process writes for a long time. */
  const lock = () =>
    new Promise<void>((resolve) => {
      writing = other.write(() => {
        resolve()
        return released
      })
    })
  const summary = await importLines(
    database,
    Readable.from([Buffer.from([...lines, '{}'].join('\n'))]),
    catalogueLines({ actor: { operator: 'test' }, onlyNew: false }),
    { onProblems: lock },
  )
  release()
  await writing
  expect(summary).toMatchObject({ lines: 301, created: 300, rejected: 1 })
  expect(summary.optimizeProblem).toMatch(/^Another program holds the write lock of \S+:/)
  await expectConsistent(database)
  await Promise.all([database.close(), other.close()])
})

test('an import into a database whose index is damaged says what it has done, and fails', async () => {
  const file = copyWorldFile()
  const damaged = new DatabaseSync(file)
  damaged.enableDefensive(false)
  // https://sqlite.org/fts5.html: all but the records of the sizes and of the segments.
  damaged.exec('update app_search_data set block = zeroblob(length(block)) where id > 10')
  damaged.close()
  const { runWith } = commandLine(`sqlite:${file}`)
  const because = /^apps-service: (.*), but the database could not .*, so .*: fts5: corruption /
  const imported = await runWith(lineOf('Star Map'), 'import', '-')
  expect([imported.code, because.exec(imported.stderr)?.[1], imported.stdout]).toEqual([
    1,
    'the lines were imported',
    expect.stringMatching(/^1 line in .*: 1 created, 0 updated, 0 unchanged\.\n$/),
  ])
  const counters = JSON.stringify({
    slug: 'tide-clock',
    total_downloads: 100,
  })
  const set = await runWith(counters, 'counters', '-', '--json')
  expect([set.code, because.exec(set.stderr)?.[1], JSON.parse(set.stdout)]).toEqual([
    1,
    'the counters were set',
    { lines: 1, updated: 0, unchanged: 1, rejected: 0, reasons: [] },
  ])
  const dry = await runWith(lineOf('Moon Map'), 'import', '-', '--dry-run')
  expect(dry.stderr).not.toContain('optimized')
})

test('a dry run leaves no file, even if it is interrupted', async () => {
  const folder = temporaryFolder()
  const env = { DATABASE_URL: `sqlite:${copyWorldFile()}`, TMPDIR: folder }
  expect((await run(['import', '-', '--dry-run'], env, lineOf('Star Map'))).code).toBe(0)
  expect(readdirSync(folder)).toEqual([])
  // It waits for standard input during its work.
  const child = spawn(executable, ['import', '-', '--dry-run'], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = once(child, 'exit')
  await expect.poll(() => readdirSync(folder), { interval: 20, timeout: 20_000 }).toHaveLength(1)
  child.kill('SIGINT')
  expect(await ended).toEqual([null, 'SIGINT'])
  expect(readdirSync(folder)).toEqual([])
})
