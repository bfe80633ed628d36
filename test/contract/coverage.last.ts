import { describe, expect, inject, test } from 'vitest'
import { ResponseChecker } from './checker.ts'
import { describeMissing, readSeen } from './coverage.ts'

/** Runs when all other tests have ended: vitest.config.ts puts it into a group of its own. */

const { file, isWhole } = inject('coverage')

describe.skipIf(!isWhole)('some test was answered with (skipped where not all tests run)', () => {
  const seen = readSeen(file)

  test.for(new ResponseChecker().declared())('%s', (pair) => {
    const complaint = describeMissing(pair, seen)
    if (complaint !== undefined) expect.fail(complaint)
  })
})
