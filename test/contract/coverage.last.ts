import { describe, expect, inject, test } from 'vitest'
import { ResponseChecker } from './checker.ts'
import { describeMissing, readSeen } from './coverage.ts'

/** Runs after all other tests, in the last group of vitest.config.ts. */

const { file, isWhole } = inject('coverage')

describe.skipIf(!isWhole)('a test received (skipped unless all tests run)', () => {
  const seen = readSeen(file)

  test.for(new ResponseChecker().declared())('%s', (pair) => {
    const complaint = describeMissing(pair, seen)
    if (complaint !== undefined) expect.fail(complaint)
  })
})
