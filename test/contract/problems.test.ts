import type { ErrorObject } from 'ajv'
import { expect, test } from 'vitest'
import { objectProblems, requestProblems } from '../../src/contract/problems.ts'

const errorOf = (
  instancePath: string,
  keyword: string,
  more: Partial<ErrorObject> = {},
): ErrorObject => ({
  instancePath,
  keyword,
  schemaPath: '',
  params: {},
  ...more,
})

test.for<[what: string, error: ErrorObject, field: string, message: string]>([
  [
    'a few characters',
    errorOf('/requestBody/a', 'minLength', { params: { limit: 3 } }),
    'body /a',
    'must have at least 3 characters',
  ],
  [
    'a pattern without a message',
    errorOf('/requestBody/a', 'pattern', { params: { pattern: '^x$' } }),
    'body /a',
    'must match ^x$',
  ],
  [
    'a format without a message',
    errorOf('/requestBody/a', 'format', { params: { format: 'date' } }),
    'body /a',
    'must be of the format date',
  ],
  [
    'one of several types',
    errorOf('/requestBody/a', 'type', { params: { type: ['array', 'null'] } }),
    'body /a',
    'must be an array or null',
  ],
  [
    'a pattern with a message',
    errorOf('/requestBody/a', 'pattern', { parentSchema: { 'x-pattern-message': 'must be so' } }),
    'body /a',
    'must be so',
  ],
  [
    'a format with a message',
    errorOf('/requestBody/a', 'format', { parentSchema: { 'x-format-message': 'must be so' } }),
    'body /a',
    'must be so',
  ],
  [
    'a parameter of another type',
    errorOf('/query/a', 'type', { params: { type: 'integer' } }),
    'query a',
    'must be an integer',
  ],
  [
    'another rule',
    errorOf('/query/a/b', 'contains', { message: 'must have fewer' }),
    'query a/b',
    'must have fewer',
  ],
  [
    'a rule without a message',
    errorOf('/header/X', 'not'),
    'header X',
    'does not match the API document',
  ],
  ['no place', errorOf('', 'minProperties'), 'body ', 'must have at least one field'],
  [
    'a name with special characters',
    errorOf('/requestBody/a~1b~0c', 'minimum', { params: { limit: 1 } }),
    'body /a~1b~0c',
    'must be at least 1',
  ],
])('the message of %s', ([, error, where, message]) => {
  expect(
    requestProblems([error]).map((problem) => [`${problem.in} ${problem.field}`, problem.message]),
  ).toEqual([[where, message]])
})

test('names each place once, with its first problem, without those of enclosing schemas', () => {
  const errors = ['allOf', 'anyOf', 'if', 'minProperties', 'required'].map((keyword) =>
    errorOf('/a', keyword),
  )
  const problem = { in: 'body', field: '/a', message: 'must have at least one field' }
  expect(objectProblems(errors)).toEqual([problem])
  expect(
    objectProblems([...errors, errorOf('/b', 'required', { params: { missingProperty: 'c' } })]),
  ).toEqual([problem, { in: 'body', field: '/b/c', message: 'is required' }])
})

test.for([
  { rule: 'name', message: 'has a character' },
  { rule: 'address', message: 'must match ^x$' },
])('of a pattern and x-characters: $rule, one is named', ({ rule, message }) => {
  const errors = [
    errorOf('/a', 'pattern', { params: { pattern: '^x$' } }),
    errorOf('/a', 'x-characters', { schema: rule, message: 'has a character' }),
  ]
  expect(objectProblems(errors)).toEqual([{ in: 'body', field: '/a', message }])
})
