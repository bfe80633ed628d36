import { appendFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/** Appends one line, `N passed, N failed`, for .ci/run. */
export default class Summary implements Reporter {
  readonly #file: string

  constructor({ file }: { file: string }) {
    this.#file = file
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    // Failures outside tests, for example in a hook.
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()])
    const broken = suites.filter((suite) => suite.errors().length > 0).length + errors.length
    const skipped = count('skipped')
    const line = `${count('passed')} passed, ${count('failed') + broken} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
    appendFileSync(this.#file, `${line}\n`)
  }
}
