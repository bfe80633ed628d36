import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { operationsOf } from './operations.ts'

/** Files that the compiler does not check, and that must have every operation; `make judge` checks what they contain. */

const root = `${import.meta.dirname}/../..`
const operations = operationsOf(document).map(({ operationId }) => operationId)

type Place = [file: string, mentions: (operation: string) => string, advice: string]

const places: Place[] = [
  ['openapi/life-cycle.arazzo.yaml', (id) => `operationId: ${id}\n`, 'a step that calls it'],
  ['test/judges/life-cycle.ts', (id) => `.${id}(`, 'a call of it, and what comes back'],
]

test.for(places)('%s has every operation', ([file, mentions, advice]) => {
  const text = readFileSync(`${root}/${file}`, 'utf8')
  const missing = operations.filter((id) => !text.includes(mentions(id)))
  if (missing.length > 0) expect.fail(`${file} has no ${missing.join(', ')}: add ${advice}.`)
})
