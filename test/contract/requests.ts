import { METHODS } from 'node:http'
import fc, { type Arbitrary } from 'fast-check'
import type { Operation, Parameter } from './operations.ts'
import { bodyProblem, shown } from './oracle.ts'
import {
  type Body,
  type Caller,
  maxBodyBytes,
  printAsCurl,
  type Request,
  type Spelling,
} from './raw-http-client.ts'
import { jsonOf, type Known, sendable, textOf, units } from './values.ts'

/**
 * Requests made from the document: valid ones, ones that break exactly one of its rules, and
 * hostile ones. Nothing here names an operation, a parameter or a field.
 */
export type Attacks = {
  valid: Arbitrary<Request>
  nearly: Arbitrary<InvalidRequest>
  hostile: Arbitrary<Request>
}

/** A request that breaks one rule, and the expected error. */
export type InvalidRequest = { request: Request; claim: Claim }
type Claim = { status: number; place?: string }

type Parts = {
  method: string
  path: Record<string, string>
  query: Pair[]
  headers: Pair[]
  caller: Caller | undefined
  body: Body | undefined
}
type Pair = [name: string, text: string]
type Fault = Claim & { change: (valid: Parts) => Partial<Parts> }

export function attacksOn(operation: Operation, known: Known = {}): Attacks {
  const parameters = operation.parameters.map((parameter) => ({
    ...parameter,
    ...textOf(parameter, known),
  }))
  const body = operation.body && jsonOf(operation.body, known)
  const valid = validParts(operation, parameters, body?.valid)
  const faults = fc.oneof(
    ...parameterFaults(parameters),
    ...otherFaults(operation),
    ...(body ? bodyFaults(body) : []),
  )
  return {
    valid: valid.chain((parts) => requestOf(operation, parts)),
    nearly: fc
      .tuple(valid, faults)
      .chain(([parts, { change, ...claim }]) =>
        requestOf(operation, { ...parts, ...change(parts) }).map((request) => ({ request, claim })),
      ),
    hostile: fc.oneof(
      {
        weight: 5,
        arbitrary: hostileParts(operation, valid).chain((parts) => requestOf(operation, parts)),
      },
      {
        weight: 1,
        arbitrary: valid.chain((parts) => requestOf(operation, parts)).chain(rawTarget),
      },
    ),
  }
}

/** The same request with an unencoded target. */
const rawTarget = (request: Request): Arbitrary<Request> =>
  fc
    .tuple(rawText, fc.boolean())
    .map(([text, isPath]) => {
      const [path = ''] = request.target.split('?')
      const target = isPath ? path.replace(/[^/]+$/, text) : `${path}?${text}`
      return printAsCurl({ ...request, target })
    })
    // The home page is not in the document.
    .filter(({ target }) => !target.startsWith('/?'))

/** Every way to write the same request. */
function requestOf(
  { path: template }: Operation,
  { path, query, body, ...rest }: Parts,
): Arbitrary<Request> {
  const spelling = fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom<Spelling[]>('plain', 'escaped', 'indented') },
    { weight: 1, arbitrary: fc.constant<Spelling>('padded') },
  )
  const encoded = fc.constantFrom(encodeText, encodeText, encodeText, encodeAll)
  return fc.record({ spelling, encoded }).map(({ spelling, encoded }) => {
    const filled = template.replaceAll(/\{([^}]+)\}/g, (_, name) => encoded(path[name] ?? ''))
    const search = query.map((pair) => pair.map(encoded).join('=')).join('&')
    return printAsCurl({
      ...rest,
      target: search ? `${filled}?${search}` : filled,
      spelling,
      ...(body && { body }),
    })
  })
}

const encodeText = (text: string) => encodeURIComponent(text.toWellFormed())
const encodeAll = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

const bodyOf = (value: unknown): Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { fields: Object.entries(value) }
    : { value }

const json = 'application/json'
const accepted = [
  '*/*',
  'application/*',
  json,
  `${json}; charset=utf-8`,
  'text/html, */*;q=0.1',
  '',
  ' ,',
  undefined,
]
const types = [
  json,
  json,
  `${json}; charset=utf-8`,
  'Application/JSON;charset="UTF-8"',
  `${json};charset=utf8`,
]

type Texts = Parameter & ReturnType<typeof textOf>
type Values = ReturnType<typeof jsonOf>

function validParts(
  operation: Operation,
  parameters: Texts[],
  body?: Arbitrary<unknown>,
): Arbitrary<Parts> {
  const named = (place: Parameter['in']) => parameters.filter((parameter) => parameter.in === place)
  const pairs = (place: Parameter['in']) =>
    fc
      .tuple(
        ...named(place).map(({ name, valid, required }) => optional(pair(name, valid), required)),
      )
      .map((all) => all.filter((one) => one !== undefined))
  const { method, needsKey } = operation
  const accept = fc
    .constantFrom(...accepted)
    .map((text): Pair[] => (text === undefined ? [] : [['Accept', text]]))
  const type = body
    ? fc.constantFrom(...types).map((text): Pair[] => [['Content-Type', text]])
    : fc.constant([])
  return fc.record({
    method: fc.constantFrom(method, method, method === 'GET' ? 'HEAD' : method),
    path: fc.record(Object.fromEntries(named('path').map(({ name, valid }) => [name, valid]))),
    query: pairs('query').chain((all) => fc.shuffledSubarray(all, { minLength: all.length })),
    headers: fc.tuple(pairs('header'), accept, type).map((all) => all.flat()),
    caller: fc.constantFrom<(Caller | undefined)[]>(
      'ada',
      'ada',
      'bob',
      needsKey ? 'bob' : undefined,
    ),
    body: body ? body.map(bodyOf) : fc.constant(undefined),
  })
}

const pair = (name: string, text: Arbitrary<string>) => text.map((one): Pair => [name, one])
const optional = <T>(made: Arbitrary<T>, required = false) =>
  required ? made : fc.option(made, { nil: undefined, freq: 2 })

// One rule broken

const fault = <T>(
  claim: Claim,
  made: Arbitrary<T>,
  change: (value: T, valid: Parts) => Partial<Parts>,
) => made.map((value): Fault => ({ ...claim, change: (valid) => change(value, valid) }))

const withoutName = (pairs: Pair[], name: string) => pairs.filter(([own]) => own !== name)

function parameterFaults(parameters: Texts[]): Arbitrary<Fault>[] {
  const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  const unknown = fc
    .oneof(
      fc.constantFrom('q', '__proto__', 'constructor', '', 'a/b', 'a~b', '😀'.repeat(300)),
      fc.constantFrom(
        'Q',
        ...names.flatMap((name) => [name.toUpperCase(), ` ${name}`, `${name}[]`]),
      ),
      hostileText,
    )
    .map((name) => name.toWellFormed())
    .filter((name) => !names.includes(name))
  return [
    ...parameters.flatMap(faultsOf),
    unknown.chain((name) =>
      fault({ status: 400, place: `query ${shown(name)}` }, hostileText, (text, { query }) => ({
        query: [...query, [name, text]],
      })),
    ),
  ]
}

function faultsOf({ name, in: place, required, valid, nearly }: Texts): Arbitrary<Fault>[] {
  const claim = { status: 400, place: `${place} ${name}` }
  const broken = fc.oneof(...nearly)
  if (place === 'path')
    return [fault(claim, broken, (text, { path }) => ({ path: { ...path, [name]: text } }))]
  const part = place === 'query' ? 'query' : 'headers'
  const among = (texts: Arbitrary<string[]>) =>
    fault(claim, texts, (all, parts) => ({
      [part]: [...withoutName(parts[part], name), ...all.map((text): Pair => [name, text])],
    }))
  return [
    among(broken.map((text) => [text])),
    // A repeated header is a list.
    ...(place === 'query' ? [among(fc.tuple(valid, valid))] : []),
    ...(required ? [among(fc.constant([]))] : []),
  ]
}

const unacceptable = [
  'text/html',
  'application/xml',
  'text/*',
  `${json};q=0`,
  '*/*;q=0',
  `*/*, ${json};q=0.0`,
]
const credentials = [
  ...[
    '',
    'Bearer',
    'Bearer ,',
    'Bearer a b',
    'Bearer apps_1',
    'Bearer null',
    'Basic YTpi',
    'Token x',
    'apps_1',
  ],
  ...[
    `Bearer apps_${'a'.repeat(12)}_${'0'.repeat(49)}`,
    "Bearer ' OR 1=1 --",
    `Bearer ${'a'.repeat(5000)}`,
    'Bearer é',
  ],
]

function otherFaults({ needsKey, methods }: Operation): Arbitrary<Fault>[] {
  const bad = fc.constantFrom<(Caller | undefined)[]>(
    'expired',
    'revoked',
    'unknown',
    needsKey ? undefined : 'unknown',
  )
  return [
    fault({ status: 401 }, bad, (caller) => ({ caller })),
    fault({ status: 401 }, fc.constantFrom(...credentials), (text, { headers }) => ({
      caller: undefined,
      headers: [...headers, ['Authorization', text]],
    })),
    fault({ status: 406 }, fc.constantFrom(...unacceptable), (text, { headers }) => ({
      headers: [...withoutName(headers, 'Accept'), ['Accept', text]],
    })),
    fault({ status: 405 }, fc.constantFrom(...otherMethods(methods)), (method) => ({ method })),
  ]
}

/** Methods that Node's parser accepts, except CONNECT, which gets no response. */
const otherMethods = (methods: string[]) =>
  METHODS.filter((name) => ![...methods, 'HEAD', 'OPTIONS', 'CONNECT'].includes(name))

const malformed = [
  ...[
    '{',
    '{"',
    '{"a":1,}',
    "{'a':1}",
    '{a:1}',
    '{"a":NaN}',
    '{"a":01}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":1}}',
    '{} {}',
  ],
  ...[
    '{"a":"\t"}',
    '{"a":"\\x"}',
    '{"a":"\\u12"}',
    '// a\n{}',
    '{"a":undefined}',
    'a=1',
    '<a/>',
    ' ',
    '\0',
    '[1,',
    '"',
  ],
].map((text) => Buffer.from(text))
const notUtf8 = [
  [0x22, 0xff, 0x22],
  [0x22, 0xed, 0xa0, 0x80, 0x22],
  [0x22, 0xc0, 0xaf, 0x22],
  [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00],
].map((bytes) => Buffer.from(bytes))
const tooLarge = [1, 1000].map((more) => Buffer.alloc(maxBodyBytes + more, '['))
const wrongContentTypes = [
  ...[
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    '*/*',
    '',
  ],
  ...[
    `${json}; charset=latin1`,
    `${json}; charset=utf-16`,
    `${json}; charset = utf-16`,
    'application/vnd.api+json',
    'application/jsonp',
    'text/json',
  ],
]

function bodyFaults({ nearly }: Values): Arbitrary<Fault>[] {
  const bytes = (status: number, all: Buffer[]) =>
    fault({ status }, fc.constantFrom(...all), (one) => ({ body: { bytes: one } }))
  const header = (name: string, texts: string[]) =>
    fault({ status: 415 }, fc.constantFrom(...texts), (text, { headers }) => ({
      headers: [...withoutName(headers, name), [name, text]],
    }))
  return [
    ...nearly.map((made) =>
      made.map(
        ({ value, at }): Fault => ({
          status: 400,
          place: bodyProblem(at),
          change: () => ({ body: bodyOf(value) }),
        }),
      ),
    ),
    fault(
      { status: 400, place: 'body ' },
      fc.constantFrom(undefined, { bytes: Buffer.alloc(0) }),
      (body) => ({
        body,
      }),
    ),
    fault({ status: 400 }, fc.nat(), (at, { body }) => ({
      body: body && withDuplicateField(body, at),
    })),
    bytes(400, [...malformed, ...notUtf8]),
    bytes(413, tooLarge),
    header('Content-Type', wrongContentTypes),
    header('Content-Encoding', ['x-nope', 'compress', 'gzip, x-nope']),
  ]
}

/** Repeats one field, with a short text, because a long one could make the body too large. */
function withDuplicateField(body: Body, at: number): Body {
  if (!('fields' in body)) return body
  const [name] = body.fields[at % body.fields.length] ?? []
  return { fields: name === undefined ? body.fields : [...body.fields, [name, 'again']] }
}

// Hostile

const hostileText: Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.string({ unit: fc.constantFrom(...units), maxLength: 30 }),
  fc.constantFrom(
    ...[
      "' OR 1=1 --",
      '"; DROP TABLE apps; --',
      'name:x',
      'NEAR(a b)',
      'a* OR b',
      '-a',
      '^a',
      'AND',
      '{a b} : c',
      '""',
    ],
    ...[
      '../../etc/passwd',
      '..',
      '.',
      '%00',
      '%2e%2e%2f',
      '%',
      '%zz',
      '\0',
      '\ud800',
      'null',
      'true',
      '[]',
      '{}',
      '\\',
    ],
    ...[
      '__proto__',
      'constructor',
      '<script>alert(1)</script>',
      '$' + '{7*7}',
      '0',
      '-1',
      '1e3',
      '9'.repeat(40),
    ],
    ...[
      'a'.repeat(1000),
      '😀'.repeat(100),
      'ﷺ'.repeat(100),
      'İ'.repeat(100),
      '\u0301'.repeat(1000),
      'ß'.repeat(50),
    ],
  ),
)

const hostileJson = fc.oneof(
  hostileText,
  fc.jsonValue(),
  fc.constantFrom(1e308, -0, 2 ** 53, 0.1, -1, 1e-7, [[[[[[]]]]]], { a: { b: { c: '\ud800' } } }),
)

/** Percent signs and separators are not encoded. */
const rawText = fc.string({
  unit: fc.constantFrom(
    ...'%&=+[]?;/.~1a',
    '%ff',
    '%00',
    '%e6%97',
    '%2f',
    '%25',
    '%ed%a0%80',
    '..',
  ),
  minLength: 1,
  maxLength: 12,
})

/** Headers that must have no effect. */
const ignoredHeaders: Pair[] = [
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Original-URL', '/healthz'],
  ['Cookie', 'session=1; key=apps_1'],
  ['Range', 'bytes=0-1'],
  ['Origin', 'https://evil.example'],
  ['Accept-Language', 'x'.repeat(500)],
  ['Accept-Encoding', 'x-nope;q=2'],
]

const deep = [50, 100_000].map((depth) => Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`))

function hostileParts(operation: Operation, valid: Arbitrary<Parts>): Arbitrary<Parts> {
  const { parameters, body } = operation
  const names = (place: Parameter['in']) =>
    parameters.filter((one) => one.in === place).map(({ name }) => name)
  const name = (own: string[]) => fc.oneof(fc.constantFrom('a', ...own), hostileText)
  const headerText = fc.string({
    unit: fc.constantFrom(...units.filter((unit) => sendable.header.test(unit))),
  })
  const header = fc.tuple(fc.constantFrom('X-Request-Id', ...names('header')), headerText)
  const fields = Object.keys(body?.properties ?? {})
  const hostileBody: Arbitrary<Body> = fc.oneof(
    fc
      .array(fc.tuple(name(fields), hostileJson), { maxLength: 6 })
      .map((all): Body => ({ fields: all })),
    hostileJson.map(bodyOf),
    fc.constantFrom(...deep).map((bytes) => ({ bytes })),
  )
  const changes = [
    ...names('path').map((own) =>
      hostileText.map((text) => ({ path }: Parts) => ({ path: { ...path, [own]: text } })),
    ),
    fc
      .array(fc.tuple(name(names('query')), hostileText), { maxLength: 4 })
      .map((query) => () => ({ query })),
    fc
      .tuple(fc.subarray(ignoredHeaders), fc.array(header, { maxLength: 2 }))
      .map((more) => ({ headers }: Parts) => ({
        headers: [...headers, ...more.flat()],
      })),
    ...fields.map((own) =>
      hostileJson.map((value) => ({ body: sent }: Parts) => ({
        body: withField(sent, own, value),
      })),
    ),
    hostileBody.map((sent) => () => ({ body: sent })),
    fc.constantFrom(...otherMethods([])).map((method) => () => ({ method })),
  ]
  return fc
    .tuple(valid, fc.array(fc.oneof(...changes), { minLength: 1, maxLength: 3 }))
    .map(([parts, all]) => Object.assign({}, parts, ...all.map((change) => change(parts))))
}

const withField = (body: Body | undefined, name: string, value: unknown): Body | undefined =>
  body && 'fields' in body
    ? { fields: [...body.fields.filter(([own]) => own !== name), [name, value]] }
    : body
