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

test.for<{
  where: string
  /** The link to the executable, and how it is typed in the directory of the link. */
  link: string
  typed: string
  /** Before the other directories of the PATH. */
  path?: string
  printed: string
}>([
  {
    where: 'in its directory',
    link: 'apps-service',
    typed: './apps-service',
    printed: './apps-service',
  },
  {
    where: 'in another one',
    link: 'apps-2.1/apps-service',
    typed: 'apps-2.1/apps-service',
    printed: 'apps-2.1/apps-service',
  },
  {
    where: 'by the name of a link on the PATH',
    link: 'bin/apps',
    typed: 'apps',
    path: 'FOLDER/bin:',
    printed: 'apps',
  },
  {
    where: 'by its path, although the PATH has it',
    link: 'bin/apps',
    typed: 'bin/apps',
    path: 'FOLDER/bin:',
    printed: 'bin/apps',
  },
  {
    where: 'beside another one on the PATH',
    link: 'apps',
    typed: './apps',
    path: 'FOLDER/bin:',
    printed: './apps',
  },
  {
    where: 'in a directory with a space',
    link: 'my apps/run',
    typed: "'my apps/run'",
    printed: "'my apps/run'",
  },
  {
    where: 'in a directory with a quote',
    link: "it's/run",
    typed: "it\\'s/run",
    printed: "'it'\\''s/run'",
  },
  {
    where: 'in a directory with a command',
    link: '`id`;$(id)/run',
    typed: "'`id`;$(id)/run'",
    printed: "'`id`;$(id)/run'",
  },
  {
    where: 'in a directory with a line break',
    link: 'a\nb/run',
    typed: "'a\nb/run'",
    printed: "'a b/run'",
  },
])('prints commands as it was called $where', ({ link, typed, path = '', printed }) => {
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

test.for<{
  where: string
  envFile: string
  variables?: NodeJS.ProcessEnv
  database: string
  origin: string
}>([
  {
    where: 'the default',
    envFile: 'PORT=3001\n',
    database: 'data/apps.sqlite',
    origin:
      'DATABASE_URL is not set; its default is sqlite:data/apps.sqlite, relative to the working directory FOLDER',
  },
  {
    where: '.env',
    envFile: 'DATABASE_URL=sqlite:here.sqlite\n',
    database: 'here.sqlite',
    origin: 'DATABASE_URL is set in FOLDER/.env',
  },
  {
    where: '.env with a byte order mark',
    envFile: '\uFEFFDATABASE_URL=sqlite:here.sqlite\n',
    database: 'here.sqlite',
    origin: 'DATABASE_URL is set in FOLDER/.env',
  },
  {
    where: 'the environment',
    envFile: 'DATABASE_URL=sqlite:here.sqlite\n',
    variables: { DATABASE_URL: 'sqlite:there.sqlite' },
    database: 'there.sqlite',
    origin: 'DATABASE_URL is set in the environment',
  },
])('an error names the absolute path of a database from $where', (row) => {
  const { envFile, variables, database, origin } = row
  const folder = temporaryFolder()
  writeFileSync(join(folder, '.env'), envFile)
  const { status, stderr } = run(executable, folder, 'status', variables)
  expect(stderr).toMatch(/^apps-service: [^\n]+\n$/)
  expect(stderr).toContain(` ${join(folder, database)} `)
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
