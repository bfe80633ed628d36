import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { operationsOf } from './operations.ts'

/** What stands outside the compiler's reach and must have every operation; `make judge` then looks at what it has. */

const root = `${import.meta.dirname}/../..`
const operations = operationsOf(document).map(({ operationId }) => operationId)

type Place = [file: string, naming: (operation: string) => string, advice: string]

const clients = readdirSync(`${root}/test/judges/clients`, { withFileTypes: true }).filter((one) => one.isDirectory())
const places: Place[] = [
  ['openapi/life-cycle.arazzo.yaml', (id) => `operationId: ${id}\n`, 'a step that calls it'],
  ['test/judges/life-cycle.ts', (id) => `.${id}(`, 'a call of it, and what comes back'],
  ...clients.flatMap(({ name }): Place[] => [
    [`test/judges/clients/${name}/adapter.ts`, (id) => `\n    ${id}: `, 'how this client calls it'],
    [`test/judges/clients/${name}/types.ts`, (id) => `\n  ${id}: `, 'the types that this client gives it, to Given'],
  ]),
]

test.for(places)('%s has every operation', ([file, naming, advice]) => {
  const text = readFileSync(`${root}/${file}`, 'utf8')
  const missing = operations.filter((id) => !text.includes(naming(id)))
  if (missing.length > 0) expect.fail(`${file} has no ${missing.join(', ')}: add ${advice}.`)
})
