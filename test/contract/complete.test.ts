import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { operationsOf } from './operations.ts'

/**
 * The worked example (docs/clients.md) calls every operation of the document, including those that
 * are added later.
 */

const file = 'openapi/life-cycle.arazzo.yaml'

test(`${file} has a step for every operation`, () => {
  const text = readFileSync(`${import.meta.dirname}/../../${file}`, 'utf8')
  const missing = operationsOf(document).filter(
    ({ operationId }) => !text.includes(`operationId: ${operationId}\n`),
  )
  expect(missing.map(({ operationId }) => operationId)).toEqual([])
})
