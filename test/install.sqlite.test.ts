import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/database.ts'

/**
 * An installation ends with a SQLite driver that loads. Stands in for npm and the compilers, which
 * would take minutes.
 */

const root = join(import.meta.dirname, '..')
const driver = join(root, 'node_modules/sqlite3')
const workingBinary = join(driver, 'build/Release/node_sqlite3.node')

const which = (program: string) => spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim()

/**
 * `ci` lays out the driver with the downloaded binary, and `rebuild` puts the compiled one in its
 * place.
 */
const npm = `#!/bin/sh
echo "$1 $2 $npm_config_build_from_source" >> npm.log
if [ "$1" != prune ]; then
  echo "npm prints this of $1"
  echo "and this of $1" >&2
fi
[ "$1" != "$FAILING" ] || exit 7
case $1 in
  ci)
    mkdir -p node_modules/sqlite3/build/Release
    cp -R ${driver}/package.json ${driver}/lib node_modules/sqlite3
    ln -sf ${join(root, 'node_modules/bindings')} node_modules/
    ln -sf "$DOWNLOADED" node_modules/sqlite3/build/Release/node_sqlite3.node ;;
  rebuild) ln -sf "$COMPILED" node_modules/sqlite3/build/Release/node_sqlite3.node ;;
esac
`

type Machine = {
  downloaded?: string
  compiled?: string
  compilers?: string[]
  /** The command of npm that fails. */
  failing?: string
}

/**
 * Files of the repository in a new directory, on a PATH with nothing else than the installation may
 * use.
 */
function layOutClone(files: string[]) {
  const folder = temporaryFolder()
  for (const file of files) cpSync(join(root, file), join(folder, file), { recursive: true })
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  writeFileSync(join(programs, 'npm'), npm)
  chmodSync(join(programs, 'npm'), 0o755)
  symlinkSync(process.execPath, join(programs, 'node'))
  for (const program of [
    'sh',
    'cmp',
    'cp',
    'ln',
    'mkdir',
    'rm',
    'touch',
    'cat',
    'grep',
    'sort',
    'sed',
    'expand',
  ])
    symlinkSync(which(program), join(programs, program))
  const broken = join(folder, 'broken.node')
  writeFileSync(broken, 'not a library')

  function run(
    command: string,
    { downloaded = broken, compiled = workingBinary, compilers, failing = '' }: Machine,
  ) {
    for (const compiler of compilers ?? ['g++', 'make', 'python3'])
      if (!existsSync(join(programs, compiler))) symlinkSync('/bin/true', join(programs, compiler))
    const env = { PATH: programs, DOWNLOADED: downloaded, COMPILED: compiled, FAILING: failing }
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], {
      cwd: folder,
      env,
      encoding: 'utf8',
    })
    const calls = readFileSync(join(folder, 'npm.log'), 'utf8').trim().split('\n')
    writeFileSync(join(folder, 'npm.log'), '')
    const loads =
      spawnSync(process.execPath, ['-e', "require('sqlite3')"], { cwd: folder }).status === 0
    return { status, stdout, stderr, calls: calls.map((call) => call.trim()), loads }
  }
  return { run, broken }
}

/** What `make install` needs of a clone. */
const makeFiles = [
  'Makefile',
  'package.json',
  'package-lock.json',
  'redocly.yaml',
  'scripts',
  'generated/openapi.json',
]

const make = which('make')

const begin = expect.stringMatching(/^Installing packages, once: about .*\n$/)

test.for<{ command: string; after: string[] }>([
  { command: `${make} install`, after: [] },
  { command: `${make} install PRODUCTION=1`, after: ['run --silent', 'prune --omit=dev'] },
])('$command keeps a downloaded driver that loads', ({ command, after }) => {
  const { run } = layOutClone(makeFiles)
  const machine = { downloaded: workingBinary, compilers: [] }
  expect(run(command, machine)).toEqual({
    status: 0,
    stdout: begin,
    stderr: '',
    calls: ['ci', ...after],
    loads: true,
  })
})

test('make install compiles the driver if the downloaded one does not load', () => {
  const { run } = layOutClone(makeFiles)
  const { stderr, ...result } = run(`${make} install`, {})
  expect(result).toEqual({
    status: 0,
    stdout: begin,
    calls: ['ci', 'rebuild sqlite3 sqlite3'],
    loads: true,
  })
  expect(stderr).toMatch(
    /^The downloaded SQLite driver does not load \(.*\.node: .+\)\. Compiling it .*\n$/,
  )
})

test('make install says in one line which compilers to install, and succeeds when they are there', () => {
  const { run } = layOutClone(makeFiles)
  const { stderr, ...result } = run(`${make} install`, { compilers: ['make'] })
  expect(result).toMatchObject({ calls: ['ci'], loads: false })
  expect(result.status).not.toBe(0)
  expect(stderr).toMatch(
    /^The downloaded .* g\+\+ python3 must be installed: run apt-get install .*\n(make: \*\*\* .*\n)*$/,
  )
  expect(run(`${make} install`, {})).toMatchObject({ status: 0, loads: true })
})

test.for(['ci', 'rebuild'])('make install prints what npm printed if npm %s fails', (failing) => {
  const { run } = layOutClone(makeFiles)
  const { status, stderr } = run(`${make} install`, { failing })
  expect(status).not.toBe(0)
  expect(stderr).toContain(`npm prints this of ${failing}\nand this of ${failing}\n`)
  expect(run(`${make} install`, {})).toMatchObject({ status: 0, loads: true })
})

test('make install fails if the compiled driver does not load either', () => {
  const { run, broken } = layOutClone(makeFiles)
  const { stderr, status } = run(`${make} install`, { compiled: broken })
  expect(status).not.toBe(0)
  expect(stderr).toMatch(/The compiled SQLite driver does not load: .*\.node: .+\n/)
})

test.for<{ after: string; change: string; calls: string[] }>([
  { after: 'a first one', change: 'true', calls: [''] },
  { after: 'a change of package.json alone', change: 'echo {} > package.json', calls: [''] },
  {
    after: 'a rebase that touches the lock file',
    change: 'touch -d 2100-01-01 package-lock.json',
    calls: [''],
  },
  {
    after: 'a change of the lock file',
    change: 'echo {} > package-lock.json; touch -d 2100-01-01 package-lock.json',
    calls: ['ci'],
  },
])('make install after $after calls npm: $calls', ({ change, calls }) => {
  const { run } = layOutClone(makeFiles)
  const machine = { downloaded: workingBinary }
  expect(run(`${make} install`, machine)).toMatchObject({ status: 0, calls: ['ci'] })
  expect(run(`${change}; ${make} install`, machine)).toMatchObject({
    status: 0,
    stdout: calls.includes('ci') ? begin : expect.not.stringContaining('Installing'),
    calls,
  })
})
