import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { operationsOf, type Schema } from './operations.ts'
import { judge } from './oracle.ts'
import { contentOf, type Request } from './raw-http-client.ts'
import { attacksOn } from './requests.ts'
import { jsonOf } from './values.ts'

/** Additions to the document are attacked without any change in the tests. */

const seats: Schema = { type: 'integer', minimum: 1, maximum: 12, example: 2 }
const tags: Schema = {
  type: 'array',
  maxItems: 3,
  uniqueItems: true,
  items: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[a-z]+$', example: 'abc' },
}
const colour: Schema = { type: 'string', enum: ['red', 'green'] }

function extended() {
  const copy = structuredClone(document)
  Object.assign(copy.components.schemas.NewApp.properties, { seats, tags })
  copy.components.schemas.NewApp.required.push('seats')
  const path = {
    patch: {
      operationId: 'paint',
      parameters: [
        { name: 'shelf', in: 'path', required: true, schema: seats },
        { name: 'colour', in: 'query', required: true, schema: colour },
      ],
      responses: {},
    },
  }
  return operationsOf({ ...copy, paths: { ...copy.paths, '/shelves/{shelf}': path } })
}

const operations = extended()
const named = (operationId: string) => {
  const found = operations.find((operation) => operation.operationId === operationId)
  if (!found) throw new Error(`no ${operationId}`)
  return attacksOn(found)
}
const runs = { numRuns: 1000, seed: 1 }
const bodies = (requests: Request[]) =>
  requests.flatMap((request) =>
    request.body && !('bytes' in request.body)
      ? [String(contentOf({ ...request, spelling: 'plain' }))]
      : [],
  )

describe('a new field of the document', () => {
  test('is in valid requests', () => {
    const requests = fc.sample(named('createApp').valid, runs)
    for (const request of requests) expect(judge(operations, request)).not.toHaveProperty('status')
    expect(bodies(requests).every((body) => /"seats":([1-9]|1[0-2])\b/.test(body))).toBe(true)
    expect(bodies(requests).some((body) => /"tags":\["[a-z]{2,5}"/.test(body))).toBe(true)
  })

  test('is invalid in some requests, at each of its places', () => {
    const places = fc.sample(named('createApp').nearly, runs).map(({ claim }) => claim.place)
    expect(places).toEqual(expect.arrayContaining(['body /seats', 'body /tags', 'body /tags/0']))
  })

  test('violates each of its rules in some requests', () => {
    const broken = (schema: Schema) =>
      fc.sample(fc.oneof(...jsonOf(schema).nearly), runs).map(({ value }) => value)
    expect(broken(seats)).toEqual(expect.arrayContaining([0, 13, 1.5, null, true, '1', '', [], {}]))
    expect(broken(tags)).toEqual(
      expect.arrayContaining([null, {}, ['aaaabc'], ['a'], [''], [null]]),
    )
    expect(broken(tags).some((value) => Array.isArray(value) && value.length === 4)).toBe(true)
    expect(broken(tags).some((value) => /^a[^a-z]bc$/.test(String(value)))).toBe(true)
    expect(broken(colour)).toEqual(expect.arrayContaining(['RED', 'Red', 'redred', '', null]))
  })
})

test('a new operation is attacked at each place', () => {
  const { valid, nearly, hostile } = named('paint')
  for (const request of fc.sample(valid, runs))
    expect(judge(operations, request)).not.toHaveProperty('status')
  const claims = fc
    .sample(nearly, runs)
    .map(({ claim: { status, place = '' } }) => `${status} ${place}`)
  for (const claim of ['400 path shelf', '400 query colour', '401 ', '405 ', '406 '])
    expect(claims).toContain(claim)
  expect(fc.sample(hostile, runs).some(({ method }) => method === 'PATCH')).toBe(true)
})

test.for([
  ['oneOf', { oneOf: [seats, colour] }],
  ['multipleOf', { ...seats, multipleOf: 2 }],
  ['format email', { type: 'string', format: 'email' }],
])('reports that %s is not attacked yet', ([what, schema]) => {
  const copy = structuredClone(document)
  Object.assign(copy.components.schemas.NewApp.properties, { seats: schema })
  expect(() => operationsOf(copy)).toThrow(String(what))
})
