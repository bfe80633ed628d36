import { randomBytes } from 'node:crypto'
import { copyFileSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { exampleLine, importLines, toLines } from '../support/catalogue-file.ts'
import { copyWorld, copyWorldFile, temporaryFolder } from '../support/database.ts'
import { canMount, mountSmallDisk } from '../support/disk.ts'
import { share } from '../support/lifetime.ts'
import { commandLine, executable, expectRefusal, run, runProgram } from '../support/process.ts'

/** Bytes that a file can have. The catalogue is larger, also compressed. */
const fileLimit = 65_536

/** Apps whose descriptions hardly get shorter. Few enough that an export is buffered whole. */
const largeApps = Array.from({ length: 20 }, (_, index) => ({
  ...exampleLine,
  name: `Star ${index}`,
  description: randomBytes(4_000).toString('hex'),
  status: 'approved',
}))

let source = ''

share(async () => {
  source = await copyWorld()
  const database = openDatabase(source)
  await importLines(database, largeApps)
  await database.close()
})

/**
 * Runs a command whose files cannot grow beyond `fileLimit`, as on a full disk: a write takes what
 * fits, and the next one fails. `to` is a file for its standard output.
 */
function runOnFullDisk(args: string[], env: Record<string, string>, to: string, input = '') {
  const script = `ulimit -f ${fileLimit / 512}; exec "$@" ${to === '' ? '' : `> '${to}'`}`
  return runProgram('sh', ['-c', script, 'sh', executable, ...args], env, input)
}

type Case = {
  what: string
  args: (folder: string) => string[]
  /** Standard output is this file, which the shell creates. */
  to?: string
  input?: string
  reason: RegExp
  /** Files that it leaves. */
  leaves?: string[]
}

const invalidLines = toLines(largeApps.map((line) => ({ ...line, category: 'none' })))
const tooLarge = /^apps-service: cannot write \S+: file too large\n$/
const notPrinted = /^apps-service: EFBIG: file too large, write\n$/

test.for<Case>([
  { what: 'an export', args: (folder) => ['export', `${folder}/all.ndjson`], reason: tooLarge },
  {
    what: 'a compressed export',
    args: (folder) => ['export', `${folder}/all.ndjson.gz`],
    reason: tooLarge,
  },
  {
    what: 'a published export',
    args: (folder) => ['export', '--into', folder],
    reason: tooLarge,
    leaves: ['.lock'],
  },
  {
    what: 'an export to standard output',
    args: () => ['export'],
    to: 'all.ndjson',
    reason: notPrinted,
    leaves: ['all.ndjson'],
  },
  {
    what: 'the output of a list',
    args: () => ['audit', '--json'],
    to: 'audit.json',
    reason: notPrinted,
    leaves: ['audit.json'],
  },
  {
    what: 'a file of rejects',
    args: (folder) => ['import', '-', '--rejects', `${folder}/rejects.ndjson`],
    input: invalidLines,
    reason: /^apps-service: [^\n]*: file too large; [^\n]*--rejects[^\n]*\n$/,
    leaves: ['rejects.ndjson', 'rejects.ndjson.problems'],
  },
  {
    what: 'a dry run',
    args: () => ['import', '-', '--dry-run', '--rejects', '/dev/null'],
    input: toLines(largeApps),
    reason: /^apps-service: .*: (disk I\/O error|database or disk is full)\n$/,
  },
])('$what that does not fit on the disk fails', async ({ args, to, input, reason, leaves }) => {
  const folder = temporaryFolder()
  const { code, stdout, stderr } = await runOnFullDisk(
    args(folder),
    { DATABASE_URL: source, TMPDIR: folder },
    to === undefined ? '' : join(folder, to),
    input,
  )
  expect(stderr).toMatch(reason)
  expect([code, stdout]).toEqual([1, ''])
  expect(readdirSync(folder)).toEqual(leaves ?? [])
})

test('a database that does not fit on the disk is not migrated, and is later', async () => {
  const env = { DATABASE_URL: `sqlite:${temporaryFolder()}/new.sqlite` }
  const migrated = await runOnFullDisk(['migrate'], env, '')
  expectRefusal(migrated, /: (disk I\/O error|database or disk is full)/)
  expect(await run(['migrate'], env)).toMatchObject({ code: 0 })
  expect(await run(['category', 'list'], env)).toMatchObject({ code: 0 })
})

describe.runIf(canMount)('a database whose disk is full', () => {
  let folder = ''
  let url = ''
  const diskFull = /^apps-service: [^\n]*\bdisk\b[^\n]*\n$/
  const nothingImported = /^apps-service: [^\n]* line 1 [^\n]*\bdisk\b[^\n]*\n$/

  beforeEach(async () => {
    folder = temporaryFolder()
    mountSmallDisk(folder, 4)
    url = `sqlite:${folder}/apps.sqlite`
    expect(await run(['migrate'], { DATABASE_URL: url })).toMatchObject({ code: 0 })
  })

  /** Leaves room for the shared memory of SQLite, and for two pages. */
  function fill() {
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(join(folder, 'filler'), Buffer.alloc(bavail * bsize - 10 * 4096))
  }

  test('gets no part of a copy, and all of it later', async () => {
    const copy = () => run(['copy', '--to', url], { DATABASE_URL: source })
    fill()
    expectRefusal(await copy(), diskFull)
    rmSync(join(folder, 'filler'))
    expect(await copy()).toMatchObject({ code: 0 })
  })

  test.for<{ what: string; args: string[]; input?: string }>([
    { what: 'apps', args: ['import', '-'], input: toLines([exampleLine]) },
    {
      what: 'counters',
      args: ['counters', '-'],
      input: toLines([{ slug: 'tide-clock', total_downloads: 7 }]),
    },
    { what: 'a key', args: ['key', 'issue', '--developer', 'Ada'] },
    { what: 'a category', args: ['category', 'add', '--slug', 'new', '--name', 'New'] },
    { what: 'a moderator', args: ['moderator', 'add', 'Ada'] },
    { what: 'a decision', args: ['moderation', 'approve', '2'] },
    { what: 'a transfer', args: ['app', 'transfer', '1', '--to', 'Bob'] },
    { what: 'a removal', args: ['review', 'remove', '1', '--reason', 'spam'] },
  ])('gets nothing of $what', async ({ args, input }) => {
    copyFileSync(copyWorldFile(), join(folder, 'apps.sqlite'))
    const audit = () => commandLine(url).json('audit')
    const before = await audit()
    fill()
    const { code, stdout, stderr } = await run(args, { DATABASE_URL: url }, input)
    expect(stderr).toMatch(input === undefined ? diskFull : nothingImported)
    expect([code, stdout]).toEqual([
      1,
      input === undefined ? '' : expect.stringMatching(/^0 lines/),
    ])
    rmSync(join(folder, 'filler'))
    expect(await audit()).toEqual(before)
  })
})
