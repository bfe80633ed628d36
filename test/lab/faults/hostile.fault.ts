import { expect, inject, test } from 'vitest'
import { between } from '../../faults/acknowledged-writes.ts'
import { exchange } from '../../faults/sockets.ts'
import { copyWorldFile } from '../../support/database.ts'
import { type Served, serve } from '../../support/process.ts'

/** Requests that no client library sends, over raw sockets. */

const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, '', ''].join('\r\n')

const post = (body: string | Buffer, ...headers: string[]) =>
  Buffer.concat([
    Buffer.from(
      [
        'POST /apps HTTP/1.1',
        'Host: x',
        'Connection: close',
        `Authorization: Bearer ${inject('world').keys.ada}`,
        'Content-Type: application/json',
        ...(headers.length > 0 ? headers : [`Content-Length: ${Buffer.byteLength(body)}`]),
        '',
        '',
      ].join('\r\n'),
    ),
    Buffer.from(body),
  ])

const long = 'a'.repeat(9000)
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code))

const paths = [
  ...[
    '/apps/%',
    '/apps/%2',
    '/apps/%zz',
    '/apps/%00',
    '/apps/%c0%af',
    '/apps/%ff',
    '/apps/%u0041',
    '/%61pps',
    '//apps',
  ],
  ...[
    '/apps//1',
    '/apps/1/',
    '/apps/../apps',
    '/apps/./1',
    '/apps/..%2f..%2fetc%2fpasswd',
    '/apps\\1',
    '/apps;a=b',
    '/apps/1;x',
  ],
  ...[
    '/apps/-1',
    '/apps/0',
    '/apps/01',
    '/apps/1.0',
    '/apps/1e3',
    '/apps/0x1',
    '/apps/+1',
    '/apps/%201',
    '/apps/９',
    '/apps/NaN',
  ],
  ...[
    '/apps/9007199254740993',
    '/apps/99999999999999999999',
    `/apps/${'9'.repeat(9000)}`,
    `/${long}`,
    '*',
    'http://x/apps',
    '//',
  ],
  ...[
    'http://',
    'x',
    '/apps?',
    '/apps??',
    '/apps?&&&',
    '/apps?=',
    '/apps?page',
    '/apps?page=',
    '/apps?page=0',
    '/apps?page=-1',
  ],
  ...[
    '/apps?page=1&page=2',
    '/apps?page[]=1',
    '/apps?page[a]=1',
    '/apps?__proto__=1',
    '/apps?constructor=1',
    '/apps?toString=1',
  ],
  ...[
    '/apps?limit=101',
    '/apps?limit=1e2',
    '/apps?sort=__proto__',
    '/apps?category=%00',
    '/apps?search=%00',
    '/apps?search=%ff',
  ],
  ...[
    '/apps?search=%ed%a0%80',
    `/apps?search=${'%F0%9F%98%80'.repeat(101)}`,
    `/apps?search=${'e%CC%81'.repeat(100)}`,
  ],
  ...[
    '/apps?search=%22%20OR%201=1',
    '/apps?search=NEAR(a,b)',
    '/apps?search=*',
    '/apps?search=^a',
    '/apps?search=name:x',
    "/apps?search='",
  ],
  ...[
    '/apps?search=%E2%80%AE',
    '/apps?search=%27;drop%20table%20apps',
    '/openapi.json/..',
    '/docs/../apps',
    '/healthz?x=1',
    '/readyz/',
  ],
  ...Array.from(
    { length: 32 },
    (_, code) => `/apps?search=a%${code.toString(16).padStart(2, '0')}b`,
  ),
  `/apps?${Array.from({ length: 500 }, (_, number) => `p${number}=1`).join('&')}`,
  `/apps?page=${'9'.repeat(400)}`,
].map((path): [string, string] => [`GET ${path.slice(0, 60)}`, get(path)])

const heads: [string, string | Buffer][] = [
  ...controls.map((control): [string, string] => [
    `control ${JSON.stringify(control)} in a header`,
    get('/apps', `X: a${control}b`),
  ]),
  ...controls.map((control): [string, string] => [
    `control ${JSON.stringify(control)} in a name`,
    get('/apps', `X${control}: a`),
  ]),
  ...['0.9', '1.0', '1.2', '2.0', '3', '', '1.1 x', 'x'].map((version): [string, string] => [
    `HTTP/${version}`,
    `GET /apps HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`,
  ]),
  ...[
    'get',
    'TRACE',
    'CONNECT',
    'PATCH',
    'PROPFIND',
    'FOO',
    'GET\t',
    '',
    'G ET',
    'HEAD',
    'OPTIONS',
    'M-SEARCH',
  ].map((method): [string, string] => [
    `method ${method}`,
    `${method} /apps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  ]),
  ...['', 'a b', ':', '[', '[::1', 'x:99999', '@', 'x/y', 'a@b/c?d', '\u0000', 'é', long].map(
    (host): [string, string] => [
      `Host: ${host.slice(0, 20)}`,
      `GET /apps HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    ],
  ),
  ['no Host', 'GET /apps HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['two Hosts', get('/apps', 'Host: y')],
  ['bare line feeds', 'GET /apps HTTP/1.1\nHost: x\nConnection: close\n\n'],
  ['a bare carriage return', 'GET /apps HTTP/1.1\rHost: x\r\r'],
  ['a folded header', get('/apps', 'X: a\r\n b')],
  ['a space before the colon', get('/apps', 'X : a')],
  ['no colon', get('/apps', 'X')],
  ['nothing but a line end', '\r\n'],
  ['nothing', ''],
  ['TLS', Buffer.from('160301020001000001fc0303', 'hex')],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['random bytes', Buffer.from(Array.from({ length: 500 }, () => between(0, 255)))],
  ['headers over the limit', get('/apps', `X: ${'a'.repeat(20_000)}`)],
  [
    'very many headers',
    get('/apps', ...Array.from({ length: 3000 }, (_, number) => `X${number}:`)),
  ],
  ['a header named __proto__', get('/apps', '__proto__: x', 'constructor: y')],
  ...[
    'Bearer',
    'Bearer ',
    'Bearer  x',
    'bearer apps_',
    'Basic eDp5',
    'Bearer apps_\u00e9',
    `Bearer ${long}`,
    'Bearer a, Bearer b',
    ',',
  ].map((value): [string, string] => [
    `Authorization: ${value.slice(0, 30)}`,
    get('/apps', `Authorization: ${value}`),
  ]),
  ['two Authorizations', get('/apps', 'Authorization: Bearer a', 'Authorization: Bearer b')],
  ...['*', 'W/"', '"', '"a', ',', `"${long}"`, '*, "a"', ''].map((value): [string, string] => [
    `If-None-Match: ${value.slice(0, 20)}`,
    get('/apps', `If-None-Match: ${value}`),
  ]),
  ...[
    '',
    ';',
    '*/*;q=2',
    'q=1',
    'text/html',
    'application/json;q=0',
    `${'a/b,'.repeat(2000)}`,
    '\u0000',
  ].map((value): [string, string] => [
    `Accept: ${value.slice(0, 20)}`,
    get('/apps', `Accept: ${value}`),
  ]),
  ...['br;q=x', 'identity;q=0', '*;q=0', 'gzip'.repeat(2000), ';;;'].map(
    (value): [string, string] => [
      `Accept-Encoding: ${value.slice(0, 20)}`,
      get('/apps', `Accept-Encoding: ${value}`),
    ],
  ),
  ...['a\\b', '<script>', long, 'a b', 'é'].map((value): [string, string] => [
    `X-Request-Id: ${value.slice(0, 20)}`,
    get('/apps', `X-Request-Id: ${value}`),
  ]),
  ['an upgrade', get('/apps', 'Upgrade: websocket')],
  ['an upgrade of the connection', get('/apps', 'Connection: upgrade', 'Upgrade: websocket')],
  ['an upgrade to HTTP/2', get('/apps', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__')],
  ['an expectation', get('/apps', 'Expect: the-unexpected')],
  ['a range', get('/apps', 'Range: bytes=0-0')],
  ['hop-by-hop names', get('/apps', 'Connection: authorization, host')],
]

const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
const app = { name: 'Star Map', description: 'The sky.', category_id: 1 }
const bodies: [string, Buffer][] = [
  ['nested arrays', post(deep)],
  ['nested objects', post(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`)],
  ['a prototype', post(`{"__proto__": {"status": "approved"}, ${JSON.stringify(app).slice(1)}`)],
  ['a constructor', post(JSON.stringify({ ...app, constructor: { prototype: {} } }))],
  ['a status', post(JSON.stringify({ ...app, status: 'approved', id: 1, developer_id: 2 }))],
  ['a field twice', post(`{"name": "A", ${JSON.stringify(app).slice(1)}`)],
  ['a huge number', post(JSON.stringify(app).replace('1}', `${'9'.repeat(500)}}`))],
  ['an exponent', post(JSON.stringify(app).replace('1}', '1e999}'))],
  ['a lone surrogate', post(JSON.stringify({ ...app, name: 'A' }).replace('"A"', '"\\ud800"'))],
  ['a NUL', post(JSON.stringify({ ...app, name: 'A\u0000B' }))],
  ['bytes that are not UTF-8', post(Buffer.from([0x22, 0xff, 0xfe, 0x22]))],
  ['a byte order mark', post(`\ufeff${JSON.stringify(app)}`)],
  ['UTF-16', post(Buffer.from(JSON.stringify(app), 'utf16le'))],
  [
    'very many fields',
    post(
      JSON.stringify(
        Object.fromEntries(Array.from({ length: 20_000 }, (_, number) => [`f${number}`, 1])),
      ),
    ),
  ],
  ['combining marks', post(JSON.stringify({ ...app, description: `e${'\u0301'.repeat(19_000)}` }))],
  ...[
    'null',
    'true',
    '1',
    '""',
    '[]',
    '{',
    '{}',
    '',
    ' ',
    '{"name"}',
    '{"name":}',
    "{'name': 1}",
    '{"a":1}{"b":2}',
    'NaN',
  ].map((body): [string, Buffer] => [`the body ${body}`, post(body)]),
  ...['-1', '+5', '0x10', '1e3', '5 5', '5, 6', '99999999999999999999', 'x', ''].map(
    (length): [string, Buffer] => [
      `Content-Length: ${length}`,
      post('hello', `Content-Length: ${length}`),
    ],
  ),
  ['two lengths', post('hello', 'Content-Length: 5', 'Content-Length: 6')],
  [
    'a length and chunks',
    post(
      '0\r\n\r\nGET /apps HTTP/1.1\r\nHost: x\r\n\r\n',
      'Content-Length: 5',
      'Transfer-Encoding: chunked',
    ),
  ],
  ...[
    'Chunked',
    'chunked, chunked',
    'gzip, chunked',
    'chunked, gzip',
    'identity',
    'xchunked',
    ' chunked',
    'chunked\u000b',
  ].map((coding): [string, Buffer] => [
    `Transfer-Encoding: ${coding}`,
    post('5\r\nhello\r\n0\r\n\r\n', `Transfer-Encoding: ${coding}`),
  ]),
  ...['-1', 'g', 'ffffffffffffffff', '5;', '5;a="\n', ' 5', '0x5'].map((size): [string, Buffer] => [
    `a chunk of ${size}`,
    post(`${size}\r\nhello\r\n0\r\n\r\n`, 'Transfer-Encoding: chunked'),
  ]),
  ['a body that ends early', post('{"name":', 'Content-Length: 500')],
  ['a body over the limit', post(JSON.stringify({ ...app, description: 'a'.repeat(300_000) }))],
  ['a length over the limit', post('{}', 'Content-Length: 300000')],
  ...['gzip', 'br', 'deflate', 'x', 'gzip, gzip'].map((coding): [string, Buffer] => [
    `Content-Encoding: ${coding}`,
    post('xxxxx', 'Content-Length: 5', `Content-Encoding: ${coding}`),
  ]),
]

const attacks = [...paths, ...heads, ...bodies]

test(`${attacks.length} hostile heads, paths and bodies: each gets one response or none, none gets a 500, and other requests work`, async () => {
  expect(attacks.length).toBeGreaterThanOrEqual(300)
  const server = await serve(`sqlite:${copyWorldFile()}`)
  const statuses = new Map<string, number>()
  for (const [name, bytes] of attacks) {
    const text = await exchange(server.port, bytes)
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 'none'
    expect(text, name).not.toMatch(/^HTTP\/1\.1 50[0234]/)
    // A smuggled request would get a second response.
    expect(text.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0, name).toBeLessThanOrEqual(1)
    expect(text, name).not.toMatch(/node_modules|SQLITE|\bat .*\.[jt]s:\d/)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  console.log(`${attacks.length} attacks:`, Object.fromEntries(statuses))
  await expectHealthy(server)
})

test('1,000 altered keys, anywhere in a request: none is in the log', async () => {
  const server = await serve(`sqlite:${copyWorldFile()}`)
  const key = inject('world').keys.ada
  const secret = key.slice(key.lastIndexOf('_') + 1)
  const places = [
    (text: string) => get(`/apps?k=${text}`),
    (text: string) => get(`/apps?search=${text}`),
    (text: string) => get(`/apps/${text}`),
    (text: string) => get(`/${text}`),
    (text: string) => get('/apps', `Authorization: Bearer ${text}`),
    (text: string) => get('/apps', `X-Request-Id: ${text}`),
    (text: string) => get('/apps', `Cookie: key=${text}`, `Referer: http://x/${text}`),
  ]
  for (let number = 0; number < 1000; number++) {
    const place = places[number % places.length]
    if (place) await exchange(server.port, place(mutateKey(key)))
  }
  await expectHealthy(server)
  const decode = (line: string) =>
    line.replace(/%(?:25)*([0-9a-f]{2})/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
  const lines = server.log.map(decode)
  // Two thirds of it are enough to guess the rest.
  const pieces = Array.from({ length: secret.length - 20 }, (_, from) =>
    secret.slice(from, from + 20),
  )
  expect(lines.filter((line) => pieces.some((piece) => line.includes(piece)))).toEqual([])
  expect(lines.length).toBeGreaterThan(900)
})

/** A key that is mistyped after its prefix, by which the log recognizes keys, or truncated or encoded. */
function mutateKey(key: string): string {
  const characters = [...key]
  const at = between('apps_'.length, characters.length - 1)
  switch (between(0, 8)) {
    case 0:
      return key.slice(0, -between(1, 8))
    case 1:
      return characters.toSpliced(at, 1).join('')
    case 2:
      return characters.toSpliced(at, 1, '0').join('')
    case 3:
      return characters.toSpliced(at, 0, 'x').join('')
    case 4:
      return characters
        .map((character) => (between(0, 1) ? encoded(character) : character))
        .join('')
    case 5:
      return characters.map(encoded).join('')
    case 6:
      return key.replace('apps', 'APPS')
    case 7:
      return encodeURIComponent(characters.map(encoded).join(''))
    default:
      return `${key}${key.slice(0, at)}`
  }
}

const encoded = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

async function expectHealthy(server: Served) {
  expect((await server.request('GET', '/readyz')).status).toBe(200)
  expect(
    (await server.request('POST', '/apps', { key: inject('world').keys.ada, json: app })).status,
  ).toBe(201)
  expect(server.process.exitCode).toBeNull()
  expect(server.log.filter((line) => /"level":[56]0/.test(line))).toEqual([])
}
