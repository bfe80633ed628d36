import { expect, test } from 'vitest'
import {
  findRepeatedField,
  findSyntaxError,
  hasMoreTokensThan,
} from '../../src/contract/json-text.ts'

test.for<[json: string, tokens: number]>([
  ['{"a":1}', 4],
  ['["a",["b"]]', 7],
  ['"{}[]:,"', 1],
  ['"a\\"{}" ', 1],
  ['"a\\\\"{}', 3],
  ['"never ends {}', 1],
  ['1', 0],
])('%s has %i tokens', ([json, tokens]) => {
  expect(hasMoreTokensThan(json, tokens)).toBe(false)
  if (tokens > 0) expect(hasMoreTokensThan(json, tokens - 1)).toBe(true)
})

test.for<[json: string]>([
  ['^'],
  [' \n^'],
  ['^nope'],
  ['^NaN'],
  ["{^'a':1}"],
  ['{^a:1}'],
  ['{"a" ^1}'],
  ['{"a":^}'],
  ['{"a":1^'],
  ['{"a":1,^}'],
  ['{"a":1 ^"b":2}'],
  ['{"a":1^]'],
  ['{^,}'],
  ['{"a":"b"^:1}'],
  ['[1,^]'],
  ['[^,]'],
  ['[1^}'],
  ['[[{}], ^'],
  ['{}^}'],
  ['{} ^{}'],
  ['{"a":0^1}'],
  ['{"a":^+1}'],
  ['{"a":^.5}'],
  ['{"a":1^.}'],
  ['{"a":^undefined}'],
  ['[true,^ture]'],
  ['"a^\n"'],
  ['"a^\t"'],
  ['"a^\\x"'],
  ['"a^\\u12"'],
  ['"\\u12aF\\n\\"^'],
  ['^// a\n{}'],
  ['[1,^\u00a02]'],
  [`${'['.repeat(100_000)}^`],
  [`[${'"a",'.repeat(20_000)}^]`],
  [`"${'\\n'.repeat(100_000)}^`],
])('finds the place where JSON is wrong: %s', ([marked]) => {
  const index = marked.indexOf('^')
  const json = marked.replace('^', '')
  expect(() => JSON.parse(json)).toThrow(SyntaxError)
  expect(findSyntaxError(json)).toBe(index)
})

test.for<[json: string, field: string | undefined]>([
  ['{"a":1,"a":2}', '/a'],
  ['{"a" : 1 , "b" : 2, "a" : 3}', '/a'],
  ['{"a":1,"\\u0061":2}', '/a'],
  ['{"a":{"b":1},"c":[{"b":2}],"c":3}', '/c'],
  ['{"x":"\\\\","b":1,"b":2}', '/b'],
  ['{"x":"\\"","b":1,"b":2}', '/b'],
  ['{"~/":1,"~/":2}', '/~0~1'],
  [`{"${'x'.repeat(300)}":1,"${'x'.repeat(300)}":2}`, `/${'x'.repeat(199)}`],
  ['{"a":1,"b":2}', undefined],
  ['{"a":"b","b":"a"}', undefined],
  ['{"a":{"a":1},"b":{"a":1,"a":2}}', undefined],
  ['[{"a":1},{"a":2}]', undefined],
  ['{"a":":","b":"a\\":1"}', undefined],
])('the repeated field in %s is %s', ([json, field]) => {
  expect(findRepeatedField(json)?.problem.field).toBe(field)
})
