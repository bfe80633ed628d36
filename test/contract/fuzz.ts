import { relative } from 'node:path'
import fc, { type IAsyncProperty } from 'fast-check'
import type { RunnerTestCase } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { seed } from '../support/random.ts'
import { operationsOf } from './operations.ts'

/** The number of random requests, and how failures are reported. */

const { FUZZ_RUNS = '1000', FUZZ_PATH } = process.env

/** The total number of requests on each engine. */
export const total = Number(FUZZ_RUNS)
/** Whether one failure is reproduced, so that nothing else is generated. */
export const isRerun = FUZZ_PATH !== undefined
export const operations = operationsOf(document)

/** Milliseconds; enough for any number of runs. */
export const timeout = 60_000 + 50 * total

/** Runs a property. A failure says how to reproduce it. */
export async function runProperty<Values>(
  property: IAsyncProperty<Values>,
  numRuns: number,
  test: RunnerTestCase,
) {
  const details = await fc.check(property, {
    numRuns,
    seed,
    ...(FUZZ_PATH !== undefined && { path: FUZZ_PATH, endOnFailure: true }),
  })
  if (!details.failed) return
  const { counterexamplePath, errorInstance } = details
  const file = relative(process.cwd(), test.file.filepath)
  const lines = [
    await fc.asyncDefaultReportMessage(details),
    `Again: FUZZ_SEED=${seed} FUZZ_PATH=${counterexamplePath} npx vitest run ${file} -t '${test.fullTestName}'`,
    `With all that came before it: FUZZ_SEED=${seed} FUZZ_RUNS=${total}, without FUZZ_PATH.`,
  ]
  throw new Error(lines.join('\n\n'), { cause: errorInstance })
}
