import { expect, test } from 'vitest'
import { SerializedJson, serialize } from '../../src/util/json.ts'

const written = new SerializedJson<number[]>(Buffer.from('[1.0, 2]'))

test.for<[what: string, object: object, text: string]>([
  ['values', { a: 1, b: ['ü'], c: undefined }, '{"a":1,"b":["ü"]}'],
  [
    'JSON that is there already, as it is',
    { apps: written, 'a "b"': { c: 1 } },
    '{"apps":[1.0, 2],"a \\"b\\"":{"c":1}}',
  ],
  ['JSON behind a value', { total: 2, apps: written }, '{"total":2,"apps":[1.0, 2]}'],
  ['JSON beside what is not set', { none: undefined, apps: written, no: undefined }, '{"apps":[1.0, 2]}'],
  ['JSON further within, by its value', { data: { apps: written } }, '{"data":{"apps":[1,2]}}'],
])('%s', ([, object, text]) => {
  expect(String(serialize(object))).toBe(text)
})

test('is made once of each object', () => {
  const object = { apps: written }
  expect(serialize(object)).toBe(serialize(object))
})
