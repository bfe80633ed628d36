import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { executable } from '../support/process.ts'

/** Whose `.env` a command reads, and whose it refuses. */

const ada = 60_001
const eve = 60_002

const isRoot = process.getuid?.() === 0

/** Another account may be unable to enter the directory of the clone. */
const canRunAsAda =
  isRoot && spawnSync('test', ['-x', realpathSync(executable)], { uid: ada }).status === 0

type Case = { owner?: number; uid?: number; sudoer?: number; mode?: number }

/** Runs a command in a directory with an `.env` that only an error about PORT shows to be read. */
function runIn({ owner, uid, sudoer, mode = 0o600 }: Case) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'apps-env-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  const file = join(folder, '.env')
  writeFileSync(file, 'PORT=mine\n')
  if (owner !== undefined) chownSync(file, owner, owner)
  chmodSync(file, mode)
  const { status, stdout, stderr } = spawnSync(executable, ['category', 'list'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...(sudoer !== undefined && { SUDO_UID: String(sudoer) }) },
    ...(uid !== undefined && { uid }),
    encoding: 'utf8',
  })
  expect([status, stdout]).toEqual([1, ''])
  return { file, stderr }
}

const expectRead = (found: Case) =>
  expect(runIn(found).stderr).toMatch(/^apps-service: bad environment: PORT must be .*"mine"\n$/)

/** `uid` is the owner that the error names. */
function expectRefused(found: Case, uid: number | undefined) {
  const { file, stderr } = runIn(found)
  expect(stderr).toMatch(/^apps-service: [^\n]* \(chown\)[^\n]* \(chmod o-w\)\n$/)
  expect(stderr).toContain(` ${file}: it belongs to uid ${uid}; `)
}

describe('.env in the working directory', () => {
  // Ubuntu creates files with 664: each account has a group of its own.
  test.for(['600', '644', '400', '664'])('of the own account is read with mode %s', (mode) => {
    expectRead({ mode: Number.parseInt(mode, 8) })
  })

  test.for(['602', '666'])('is refused with mode %s, which lets everyone write', (mode) => {
    expectRefused({ mode: Number.parseInt(mode, 8) }, process.getuid?.())
  })

  test.runIf(isRoot)('is refused by root if it belongs to somebody else', () => {
    expectRefused({ owner: eve, mode: 0o644 }, eve)
  })

  test.runIf(isRoot)('is read by root if it belongs to the account that used sudo', () => {
    expectRead({ owner: ada, sudoer: ada })
    expectRefused({ owner: eve, sudoer: ada }, eve)
    expectRefused({ owner: ada, sudoer: ada, mode: 0o666 }, ada)
    expectRead({ owner: 0, sudoer: ada })
  })

  test.runIf(canRunAsAda)('is read by another account if it is its own or belongs to root', () => {
    expectRead({ owner: ada, uid: ada })
    expectRead({ owner: 0, uid: ada, mode: 0o644 })
    expectRefused({ owner: eve, uid: ada, mode: 0o644 }, eve)
  })

  test.for<[what: string, make: (file: string) => unknown]>([
    ['a FIFO, which nobody writes', (file) => spawnSync('mkfifo', [file])],
    ['a directory', mkdirSync],
    ['a device', (file) => symlinkSync('/dev/zero', file)],
  ])('is refused if it is %s', ([, make]) => {
    const folder = temporaryFolder()
    const file = join(folder, '.env')
    make(file)
    const { status, stderr } = spawnSync(executable, ['category', 'list'], {
      cwd: folder,
      env: { PATH: process.env.PATH },
      encoding: 'utf8',
      timeout: 30_000,
    })
    expect([status, stderr]).toEqual([
      1,
      `apps-service: cannot read ${realpathSync(folder)}/.env: it is not a regular file\n`,
    ])
  })

  test('is not read beside a settings file that Node is given', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, '.env'), 'PORT=mine\n')
    writeFileSync(join(folder, 'settings'), `DATABASE_URL=${await copyWorld()}\n`)
    const program = join(import.meta.dirname, '../../src/apps-service.js')
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--env-file=settings', program, 'category', 'list'],
      { cwd: folder, env: {}, encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain('games')
  })
})

test('names that are no settings are ignored, in .env and in the environment', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, '.env'), 'WRITE_LIMITS=none\nPGPASSWORD=x\n')
  const { status, stderr } = spawnSync(executable, ['category', 'list'], {
    cwd: folder,
    env: { PATH: process.env.PATH, DATABASE_URL: await copyWorld(), PROT: 'none' },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
})
