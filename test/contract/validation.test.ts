import type { ErrorObject } from 'ajv'
import { expect, test } from 'vitest'
import { characterProblem } from '../../src/contract/character-rules.ts'
import {
  findRepeatedField,
  findSyntaxError,
  hasMoreTokensThan,
} from '../../src/contract/json-text.ts'
import { objectProblems, requestProblems } from '../../src/contract/problems.ts'
import type { RequestOptions } from '../support/check.ts'
import { type Service, startService } from '../support/service.ts'

const noParameter =
  'is not a parameter; there are category, limit, package_name, page, search, slug, sort'
const noField =
  'is not a field that can be set; there are category_id, description, license, name, package_name, short_description, source_code_url, version, website_url'

/** The place and message of each problem of an invalid request. */
async function problemsOf(service: Service, method: string, path: string, options: RequestOptions) {
  const key = method === 'GET' ? {} : { key: service.world.keys.ada }
  const { status, body } = await service.request(method, path, { ...options, ...key })
  expect([status, body.data.code]).toEqual([400, 'invalid_request'])
  const problems: { in: string; field: string; message: string }[] = body.data.errors
  return {
    message: body.message,
    problems: Object.fromEntries(
      problems.map(({ in: place, field, message }) => [`${place} ${field}`, message]),
    ),
  }
}

test.for<
  [
    what: string,
    method: string,
    path: string,
    options: RequestOptions,
    message: string,
    problems: Record<string, string>,
  ]
>([
  [
    'parameters',
    'GET',
    `/apps?page=0&limit=101&sort=best&search=${'x'.repeat(101)}&category=a&category=b&colour=red`,
    {},
    `colour ${noParameter}. There are 5 more problems; see data.errors.`,
    {
      'query page': 'must be at least 1',
      'query limit': 'must be at most 100',
      'query sort': 'must be one of latest, popular, rating',
      'query search': 'must have at most 100 characters',
      'query category': 'must be given once',
      'query colour': noParameter,
    },
  ],
  [
    'numbers that are parameters',
    'GET',
    '/apps?page=1e1&limit=2&limit=3',
    {},
    'page must be a whole number in plain decimal. There is 1 more problem; see data.errors.',
    {
      'query page': 'must be a whole number in plain decimal',
      'query limit': 'must be given once',
    },
  ],
  [
    'a path and a header',
    'GET',
    '/apps/0',
    { headers: { 'If-None-Match': 'x'.repeat(1001) } },
    'id must be at least 1. There is 1 more problem; see data.errors.',
    {
      'path id': 'must be at least 1',
      'header If-None-Match': 'must have at most 1000 characters',
    },
  ],
  [
    'fields that are missing',
    'POST',
    '/apps',
    { json: {} },
    'name is required. There are 2 more problems; see data.errors.',
    {
      'body /name': 'is required',
      'body /description': 'is required',
      'body /category_id': 'is required',
    },
  ],
  [
    'fields',
    'POST',
    '/apps',
    {
      json: {
        name: '',
        description: 'x'.repeat(20_001),
        short_description: 'a\u0000',
        version: 1,
        package_name: 'stars',
        category_id: 1.5,
      },
    },
    'name must not be empty. There are 5 more problems; see data.errors.',
    {
      'body /name': 'must not be empty',
      'body /description': 'must have at most 20000 characters',
      'body /short_description': 'must not have the character U+0000 (control character)',
      'body /version': 'must be a string',
      'body /package_name':
        'must have at least three parts separated by dots, each a letter followed by letters, digits, "_" or "-"',
      'body /category_id': 'must be an integer',
    },
  ],
  [
    'unknown fields',
    'POST',
    '/apps',
    {
      json: {
        name: 'A',
        description: 'B',
        category_id: 0,
        version: '\ud83d',
        colour: 'red',
        'a/b~': 1,
      },
    },
    `colour ${noField}. There are 3 more problems; see data.errors.`,
    {
      'body /category_id': 'must be at least 1',
      'body /version': 'must not have the character U+D83D (half of a surrogate pair)',
      'body /colour': noField,
      'body /a~1b~0': noField,
    },
  ],
  [
    'texts of spaces, and empty ones',
    'POST',
    '/apps',
    { json: { name: '   ', description: '', category_id: 1, version: '', short_description: ' ' } },
    'name must have a visible character. There are 2 more problems; see data.errors.',
    {
      'body /name': 'must have a visible character',
      'body /description': 'must not be empty',
      'body /version': 'must not be empty',
    },
  ],
  [
    'texts with line breaks, tabs and spaces around them',
    'POST',
    '/apps',
    {
      json: {
        name: 'A\nB',
        description: 'A',
        category_id: 1,
        version: ' 1',
        short_description: 'A\tB',
      },
    },
    'name must be on one line, without control characters. There are 2 more problems; see data.errors.',
    {
      'body /name': 'must be on one line, without control characters',
      'body /version': 'must not begin or end with white space',
      'body /short_description': 'must be on one line, without control characters',
    },
  ],
  [
    'null for texts, of which some can be empty, and a package name of one part',
    'PUT',
    '/apps/1',
    {
      json: {
        name: null,
        short_description: null,
        website_url: null,
        source_code_url: null,
        license: null,
        version: null,
        package_name: 'foo',
      },
    },
    'name must be a string. There are 6 more problems; see data.errors.',
    {
      'body /name': 'must be a string',
      'body /short_description': 'must be a string; send "" to remove it',
      'body /website_url': 'must be a string; send "" to remove it',
      'body /source_code_url': 'must be a string; send "" to remove it',
      'body /license': 'must be a string; send "" to remove it',
      'body /version': 'must be a string',
      'body /package_name':
        'must have at least three parts separated by dots, each a letter followed by letters, digits, "_" or "-"',
    },
  ],
  [
    'no change',
    'PUT',
    '/apps/1',
    { json: {} },
    'The body must have at least one field.',
    { 'body ': 'must have at least one field' },
  ],
  ['no body', 'PUT', '/apps/1', {}, 'The body is required.', { 'body ': 'is required' }],
])('%s: each problem has a message', async ([, method, path, options, message, problems]) => {
  const reply = await problemsOf(await startService(), method, path, options)
  expect(reply).toEqual({ message, problems })
})

const emoji = '👩‍🔬'

test.for<[body: string | Buffer, message: string]>([
  ['{"name": "Star', 'The body is not valid JSON: it ends too early, at line 1, column 15.'],
  ['{"name": "Star",\n "version": 1.0.0}', 'The body is not valid JSON at line 2, column 16.'],
  [
    `{"name": "${emoji}",\r\n\r\n"version": "${emoji}",}`,
    'The body is not valid JSON at line 3, column 18.',
  ],
  ['{"name":"A","name":"B"}', 'The body repeats the field name at line 1, column 13.'],
  [
    `{"${emoji}":1,\n  "${emoji}": 2}`,
    `The body repeats the field "${emoji}" at line 2, column 3.`,
  ],
  [Buffer.from('22ff22', 'hex'), 'The body is not valid UTF-8 at line 1, column 2.'],
  // U+FFFD itself is valid.
  [Buffer.from('7b0a22efbfbd22efbf22', 'hex'), 'The body is not valid UTF-8 at line 2, column 4.'],
])('a body that cannot be read: %s', async ([body, message]) => {
  const service = await startService()
  const headers = { 'Content-Type': 'application/json' }
  const reply = await service.request('POST', '/apps', {
    key: service.world.keys.ada,
    headers,
    body,
  })
  expect([reply.status, reply.body.data.code, reply.body.message]).toEqual([
    400,
    'malformed_json',
    message,
  ])
})

test('lists the first hundred problems, and counts all', async () => {
  const names = Array.from({ length: 101 }, (_, index) => `x${index}=1`)
  const service = await startService()
  for (const count of [100, 101]) {
    const { message, problems } = await problemsOf(
      service,
      'GET',
      `/apps?${names.slice(0, count).join('&')}`,
      {},
    )
    expect([message, Object.keys(problems).length]).toEqual([
      `x0 ${noParameter}. There are ${count - 1} more problems; see data.errors.`,
      100,
    ])
  }
})

test.for<[rule: string, text: string, problem: string | undefined]>([
  ['text', 'a\u0000', 'must not have the character U+0000 (control character)'],
  ['text', 'a\r\n\tb', undefined],
  ['text', '\u202e', undefined],
  ['text', 'a\ud800', 'must not have the character U+D800 (half of a surrogate pair)'],
  ['prose', 'a\u202eb', 'must not have the character U+202E (right-to-left override)'],
  ['prose', '\u200b\n', 'must have a visible character'],
  ['line', '', undefined],
  ['line', 'a\u2028b', 'must not have the character U+2028 (line separator)'],
  ['name', '\u{e0041}', 'must not have the character U+E0041 (tag)'],
  ['name', ' a ', undefined],
  ['name', 'Sky\u00adline', 'must not have the character U+00AD (soft hyphen)'],
  ['name', 'a\u200b', 'must not have the character U+200B (zero width space)'],
  ['name', 'a\ufeff', 'must not have the character U+FEFF (zero width no-break space)'],
  ['name', 'a\u2065', 'must not have the character U+2065 (invisible character)'],
  ['version', ' a', 'must not begin or end with white space'],
])('x-characters: %s of %j: %s', ([rule, text, problem]) => {
  expect(characterProblem(rule, text)).toBe(problem)
})

test('each refused character is named', () => {
  const named = new Map<string, number>()
  for (let code = 0; code <= 0x10ffff; code++) {
    const text = String.fromCodePoint(code)
    const problems = ['name', 'line', 'prose'].flatMap(
      (rule) => characterProblem(rule, `a${text}b`) ?? [],
    )
    for (const problem of new Set(problems)) {
      if (problem.startsWith('must be on one line')) continue
      const [, number, name = ''] = /character U\+([0-9A-F]{4,6}) \((.+)\)$/.exec(problem) ?? []
      expect([number, name]).toEqual([
        code.toString(16).toUpperCase().padStart(4, '0'),
        expect.stringMatching(/^[a-z-]+(?: [a-z-]+)*$/),
      ])
      named.set(name, (named.get(name) ?? 0) + 1)
    }
  }
  expect(named.get('control character')).toBe(62)
  expect(named.get('half of a surrogate pair')).toBe(2048)
  expect(named.get('tag')).toBe(97)
})

test('an unknown value of x-characters is an error of ours', () => {
  expect(() => characterProblem('names', 'a')).toThrow('x-characters has the unknown value names')
})

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
    errorOf('/query/a/b', 'maxItems', { message: 'must have fewer' }),
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
