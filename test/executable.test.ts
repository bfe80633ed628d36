import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import document from '../generated/openapi.json' with { type: 'json' }

/**
 * The file `apps-service` in the root of the clone, without the Node that the tests have on their
 * PATH.
 */

const executable = join(import.meta.dirname, '../apps-service')

function run(file: string, cwd: string, argument = '--version', variables: NodeJS.ProcessEnv = {}) {
  const { status, stdout, stderr } = spawnSync(file, [argument], {
    cwd,
    env: { PATH: '/usr/bin:/bin', ...variables },
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

function temporaryFolder() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'apps-executable-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test('runs from another directory, through a link, on the Node of its clone', () => {
  const folder = temporaryFolder()
  symlinkSync(executable, join(folder, 'link'))
  expect(run('./link', folder)).toEqual({
    status: 0,
    stdout: `${document.info.version}\n`,
    stderr: '',
  })
})

test.for<[how: string, link: string, typed: string, path: string, printed: string]>([
  ['in its directory', 'apps-service', './apps-service', '', './apps-service'],
  ['in another one', 'apps-2.1/apps-service', 'apps-2.1/apps-service', '', 'apps-2.1/apps-service'],
  ['by the name of a link on the PATH', 'bin/apps', 'apps', 'FOLDER/bin:', 'apps'],
  ['by its path, although the PATH has it', 'bin/apps', 'bin/apps', 'FOLDER/bin:', 'bin/apps'],
  ['beside another one on the PATH', 'apps', './apps', 'FOLDER/bin:', './apps'],
  ['in a directory with a space', 'my apps/run', "'my apps/run'", '', "'my apps/run'"],
  ['in a directory with a quote', "it's/run", "it\\'s/run", '', "'it'\\''s/run'"],
  ['in a directory with a command', '`id`;$(id)/run', "'`id`;$(id)/run'", '', "'`id`;$(id)/run'"],
  ['in a directory with a line break', 'a\nb/run', "'a\nb/run'", '', "'a b/run'"],
])('prints commands as it was called %s', ([, link, typed, path, printed]) => {
  const folder = temporaryFolder()
  for (const name of [dirname(link), 'bin']) mkdirSync(join(folder, name), { recursive: true })
  symlinkSync(executable, join(folder, link))
  if (!existsSync(join(folder, 'bin/apps'))) symlinkSync('/bin/true', join(folder, 'bin/apps'))
  const { status, stdout } = spawnSync('/bin/sh', ['-c', `${typed} key revoke --help`], {
    cwd: folder,
    env: { PATH: `${path.replace('FOLDER', folder)}/usr/bin:/bin` },
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  expect(stdout).toContain(`Usage: ${printed} key revoke [options] <key>\n`)
  expect(stdout).toContain(`\n  ${printed} key revoke apps_3k9x0v2m1qzt\n`)
})

test('reads variables of .env in the working directory', () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, '.env'), 'DATABASE_URL=sqlite:here.sqlite\n')
  const { status, stderr } = run(executable, folder, 'migrate')
  expect([status, stderr]).toEqual([0, ''])
  expect(existsSync(join(folder, 'here.sqlite'))).toBe(true)
})

test.for<[where: string, file: string, variables: NodeJS.ProcessEnv, path: string, origin: string]>(
  [
    [
      'the default',
      'PORT=3001\n',
      {},
      'data/apps.sqlite',
      'DATABASE_URL is not set; its default is sqlite:data/apps.sqlite, relative to the working directory FOLDER',
    ],
    [
      '.env',
      'DATABASE_URL=sqlite:here.sqlite\n',
      {},
      'here.sqlite',
      'DATABASE_URL is set in FOLDER/.env',
    ],
    [
      '.env with a byte order mark',
      '\uFEFFDATABASE_URL=sqlite:here.sqlite\n',
      {},
      'here.sqlite',
      'DATABASE_URL is set in FOLDER/.env',
    ],
    [
      'the environment',
      'DATABASE_URL=sqlite:here.sqlite\n',
      { DATABASE_URL: 'sqlite:there.sqlite' },
      'there.sqlite',
      'DATABASE_URL is set in the environment',
    ],
  ],
)('an error names the absolute path of a database from %s', ([, file, variables, path, origin]) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, '.env'), file)
  const { status, stderr } = run(executable, folder, 'status', variables)
  expect(stderr).toMatch(/^apps-service: [^\n]+\n$/)
  expect(stderr).toContain(` ${join(folder, path)} `)
  expect(stderr).toContain(` ${executable} migrate `)
  expect(stderr).toContain(` (${origin.replace('FOLDER', folder)})\n`)
  expect(status).toBe(1)
})

test('says how to install the dependencies if there are none', () => {
  const folder = temporaryFolder()
  copyFileSync(executable, join(folder, 'apps-service'))
  const stderr = `apps-service: dependencies are missing. Run make install in ${folder}.\n`
  expect(run('./apps-service', folder)).toEqual({ status: 1, stdout: '', stderr })
})
