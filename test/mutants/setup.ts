import { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, inject } from 'vitest'

/**
 * What StrykerJS does not do by itself: processes that tests start have the mistake too, and tell what they ran; and what is
 * run once is tried by the tests that run code of the same file, rather than by all tests there are, or by the first alone.
 *
 * The setup file of its runner stands before this one: it makes the namespace, and hands on what is found there when the file of
 * tests has ended (https://github.com/stryker-mutator/stryker-js/blob/master/packages/vitest-runner/src/stryker-setup.ts).
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

// From the first module on, for all: the runner would wait until all modules are loaded.
if (isTrial) globalThis.__stryker__.activeMutant = inject('activeMutant')

const folder = mkdtempSync(join(tmpdir(), 'apps-mutants-'))

/** Which test started the process that writes there. */
const startedBy = new Map<string, string>()

// All that starts a process without waiting for it comes by here.
const { spawn } = ChildProcess.prototype as unknown as Spawner
Object.assign(ChildProcess.prototype, {
  spawn(this: ChildProcess, options: SpawnOptions) {
    const { activeMutant, currentTestId } = globalThis.__stryker__
    const name = `${startedBy.size}`
    if (currentTestId !== undefined) startedBy.set(name, currentTestId)
    const more = isTrial
      ? [`__STRYKER_ACTIVE_MUTANT__=${activeMutant}`]
      : [`NODE_OPTIONS=--import=${import.meta.dirname}/child.ts`, `MUTANTS_RUN=${join(folder, name)}`]
    return spawn.call(this, { ...options, envPairs: [...options.envPairs, ...more] })
  },
})

type SpawnOptions = { envPairs: string[] }
type Spawner = { spawn: (this: ChildProcess, options: SpawnOptions) => unknown }

/** Where the tests' own process runs none of the code, it is not there yet. */
function coverage() {
  globalThis.__stryker__.mutantCoverage ??= { static: {}, perTest: {} }
  return globalThis.__stryker__.mutantCoverage
}

// A test that looks at constants alone runs nothing, and sees what is made once.
beforeEach(() => {
  const { currentTestId } = globalThis.__stryker__
  if (!isTrial && currentTestId !== undefined) coverage().perTest[currentTestId] ??= {}
})

// biome-ignore lint/correctness/noEmptyPattern: vitest asks for it
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
 * What ran once for all tests, while modules were loaded or in the first test that came by, as what is remembered does, goes to
 * each test that ran code of the same file, or whose own file imports it; of a file with nothing but such code, to all.
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
    add(hits, Object.fromEntries(Object.entries(once).filter(([id]) => !(id in hits) && isIts(fileOf.get(id)))))
  }
}

/** In which file of src/ each mistake is, as the code tells that it was put into. */
function mutantFiles(): Map<string, string> {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return new Map(
    files.flatMap((file) =>
      [...readFileSync(join('src', file), 'utf8').matchAll(/stryMutAct_9fa48\("(\d+)"\)/g)].map(
        ([, id = '']): [string, string] => [id, file],
      ),
    ),
  )
}

const importsOf = (testFile: string) =>
  [...readFileSync(testFile, 'utf8').matchAll(/from '(?:\.\.\/)+src\/([^']+)'/g)].map(([, file]) => file)

function add(to: Hits, more: Hits) {
  for (const [id, count] of Object.entries(more)) to[id] = (to[id] ?? 0) + count
}
