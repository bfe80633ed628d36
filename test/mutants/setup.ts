import { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, inject } from 'vitest'

/**
 * Adds two things to StrykerJS. Processes that tests start have the mutant, too, and report their
 * coverage. Code that runs once, such as a module's constants, counts as covered by each test that
 * runs code of the same file; StrykerJS would try all tests, or only the first.
 *
 * StrykerJS's own setup file runs first. It makes the namespace, and reports its content at the end
 * of each test file
 * (https://github.com/stryker-mutator/stryker-js/blob/master/packages/vitest-runner/src/stryker-setup.ts).
 */

type Hits = Record<string, number>

type Namespace = {
  activeMutant?: string | undefined
  currentTestId?: string
  mutantCoverage?: { static: Hits; perTest: Record<string, Hits> }
}

declare global {
  var __stryker__: Namespace
}

declare module 'vitest' {
  interface ProvidedContext {
    mode: 'dry-run' | 'mutant'
    activeMutant: string | undefined
  }
}

const isTrial = inject('mode') === 'mutant'

// Activate the mutant before any module is loaded. StrykerJS would wait until all are.
if (isTrial) globalThis.__stryker__.activeMutant = inject('activeMutant')

const folder = mkdtempSync(join(tmpdir(), 'apps-mutants-'))

/**
 * The id of the test that started a process, by the name of the file where the process writes its
 * coverage.
 */
const startedBy = new Map<string, string>()

// Every function of node:child_process that starts a process asynchronously calls this.
const { spawn } = ChildProcess.prototype as unknown as Spawner
Object.assign(ChildProcess.prototype, {
  spawn(this: ChildProcess, options: SpawnOptions) {
    const { activeMutant, currentTestId } = globalThis.__stryker__
    const name = `${startedBy.size}`
    if (currentTestId !== undefined) startedBy.set(name, currentTestId)
    const more = isTrial
      ? [`__STRYKER_ACTIVE_MUTANT__=${activeMutant}`]
      : [
          `NODE_OPTIONS=--import=${import.meta.dirname}/child.ts`,
          `MUTANTS_RUN=${join(folder, name)}`,
        ]
    return spawn.call(this, { ...options, envPairs: [...options.envPairs, ...more] })
  },
})

type SpawnOptions = { envPairs: string[] }
type Spawner = { spawn: (this: ChildProcess, options: SpawnOptions) => unknown }

/**
 * StrykerJS makes it when instrumented code first runs, which may happen only in child processes.
 */
function coverage() {
  globalThis.__stryker__.mutantCoverage ??= { static: {}, perTest: {} }
  return globalThis.__stryker__.mutantCoverage
}

// A test that only reads constants covers nothing by itself, but must be tried for code that runs
// once.
beforeEach(() => {
  const { currentTestId } = globalThis.__stryker__
  if (!isTrial && currentTestId !== undefined) coverage().perTest[currentTestId] ??= {}
})

// biome-ignore lint/correctness/noEmptyPattern: vitest requires it
afterAll(({}, { file: { filepath } }) => {
  if (!isTrial) {
    addChildren(coverage().perTest)
    spreadOnce(coverage(), filepath)
  }
  rmSync(folder, { recursive: true, maxRetries: 5 })
})

function addChildren(perTest: Record<string, Hits>) {
  for (const file of readdirSync(folder).filter((name) => !name.endsWith('.new'))) {
    const test = startedBy.get(file.split('.', 1).join())
    if (test === undefined) continue
    perTest[test] ??= {}
    add(perTest[test], JSON.parse(readFileSync(join(folder, file), 'utf8')))
  }
}

/**
 * Code that ran once, at import or in the first test that needed it, counts as covered by each test
 * that ran code of the same file or whose test file imports it. If no test did, it counts as
 * covered by all.
 */
function spreadOnce(coverage: { static: Hits; perTest: Record<string, Hits> }, testFile: string) {
  const fileOf = mutantFiles()
  const imported = importsOf(testFile)
  const tests = Object.values(coverage.perTest).map((hits) => ({
    hits,
    files: new Set([...imported, ...Object.keys(hits).map((id) => fileOf.get(id))]),
  }))
  const once = { ...coverage.static }
  coverage.static = {}
  for (const file of new Set(fileOf.values())) {
    const [first, ...others] = tests.filter(({ files }) => files.has(file)).map(({ hits }) => hits)
    const alone = Object.entries(first ?? {}).filter(
      ([id]) => fileOf.get(id) === file && !others.some((hits) => id in hits),
    )
    add(once, Object.fromEntries(alone))
  }
  const anyFiles = new Set(tests.flatMap(({ files }) => [...files]))
  for (const { hits, files } of tests) {
    const isIts = (file: string | undefined) => files.has(file) || !anyFiles.has(file)
    add(
      hits,
      Object.fromEntries(
        Object.entries(once).filter(([id]) => !(id in hits) && isIts(fileOf.get(id))),
      ),
    )
  }
}

/** The file of src/ of each mutant's id, read from the instrumented code. */
function mutantFiles(): Map<string, string> {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  return new Map(
    files.flatMap((file) =>
      [...readFileSync(join('src', file), 'utf8').matchAll(/stryMutAct_9fa48\("(\d+)"\)/g)].map(
        ([, id = '']): [string, string] => [id, file],
      ),
    ),
  )
}

const importsOf = (testFile: string) =>
  [...readFileSync(testFile, 'utf8').matchAll(/from '(?:\.\.\/)+src\/([^']+)'/g)].map(
    ([, file]) => file,
  )

function add(to: Hits, more: Hits) {
  for (const [id, count] of Object.entries(more)) to[id] = (to[id] ?? 0) + count
}
