import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Replaces a text of the code in a copy of the project, one at a time, and reports which of these
 * mistakes no test notices. Each line of patches.jsonl, or of the file that it gets, is a `Patch` in
 * JSON. Lines whose text is no longer in the code are reported first. A mistake must compile: any test
 * notices a name that is gone.
 */
type Patch = {
  file: string
  /** A text that the file has exactly once. */
  find: string
  replace: string
  /** Test files, separated by spaces; by default all. */
  tests?: string
  /** `sqlite` by default. */
  engine?: 'sqlite' | 'postgres'
}

const root = join(import.meta.dirname, '../../..')
const { positionals } = parseArgs({ allowPositionals: true })
const [list = join(import.meta.dirname, 'patches.jsonl')] = positionals
const patches: Patch[] = readFileSync(list, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line))

const occurrences = ({ file, find }: Patch) =>
  existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8').split(find).length - 1 : 0
const stale = patches.filter((patch) => occurrences(patch) !== 1)
for (const patch of stale)
  console.log(`${patch.file} has this text ${occurrences(patch)} times: ${patch.find}`)
if (stale.length > 0) throw new Error(`adapt or remove ${stale.length} of the mistakes`)

const copy = mkdtempSync(join(tmpdir(), 'apps-patches-'))
// Tests of root run programs of the project as other accounts.
chmodSync(copy, 0o755)
process.on('exit', () => rmSync(copy, { recursive: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
const files = execFileSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
for (const file of files.split('\0').filter(Boolean)) cpSync(join(root, file), join(copy, file))
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))

type TestResult = { status: string; fullName: string }

/** What failed first: a test, or a file that could not be loaded. Undefined if all passed. */
function firstFailure({ tests = '', engine = 'sqlite' }: Patch): string | undefined {
  const report = join(copy, 'report.json')
  const projects = ['once', engine, ...(tests === '' ? ['last'] : [])].flatMap((name) => [
    '--project',
    name,
  ])
  rmSync(report, { force: true })
  const options = ['--bail=1', '--reporter=json', `--outputFile=${report}`]
  const { status, stderr } = spawnSync(
    'vitest',
    ['run', ...projects, ...options, ...tests.split(' ').filter(Boolean)],
    {
      cwd: copy,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  if (status === 0) return undefined
  type Report = { testResults: { message: string; assertionResults: TestResult[] }[] }
  const { testResults }: Report = existsSync(report)
    ? JSON.parse(readFileSync(report, 'utf8'))
    : { testResults: [] }
  for (const { assertionResults } of testResults) {
    const failed = assertionResults.find(({ status }) => status === 'failed')
    if (failed) return failed.fullName
  }
  const broken = testResults.find(({ message }) => message !== '')
  // For example because there is no such file: this must not count as a test that fails.
  if (!broken) throw new Error(`no test ran: ${tests} ${stderr.trim()}`)
  return broken.message.split('\n', 1).join()
}

const compiles = (): boolean =>
  spawnSync(
    'tsc',
    [
      '--noUnusedLocals',
      'false',
      '--noUnusedParameters',
      'false',
      '--tsBuildInfoFile',
      join(copy, 'types.tsbuildinfo'),
    ],
    {
      cwd: copy,
      stdio: 'ignore',
    },
  ).status === 0

function isNoticed(patch: Patch): boolean {
  const path = join(copy, patch.file)
  const code = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    code.replace(patch.find, () => patch.replace),
  )
  const isCompiled = compiles()
  const failure = isCompiled ? firstFailure(patch) : undefined
  writeFileSync(path, code)
  const change = `${patch.file}: ${JSON.stringify(patch.find)} → ${JSON.stringify(patch.replace)}`
  if (!isCompiled) console.log(`DOES NOT COMPILE  ${change}`)
  else
    console.log(
      failure === undefined
        ? `NOT NOTICED  ${change}`
        : `noticed      ${change}\n             by ${failure}`,
    )
  return failure !== undefined
}

const withoutMistake = new Map(patches.map((patch) => [`${patch.engine} ${patch.tests}`, patch]))
for (const patch of withoutMistake.values()) {
  const failure = firstFailure(patch)
  if (failure !== undefined) throw new Error(`fails without a mistake: ${failure}`)
}
const noticed = patches.filter(isNoticed)
console.log(`${noticed.length} of ${patches.length} noticed`)
if (noticed.length < patches.length) process.exitCode = 1
