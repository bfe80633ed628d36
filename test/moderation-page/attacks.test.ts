import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, inject, test } from 'vitest'
import { expectStatuses } from '../support/check.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { textOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  type Fields,
  formBody,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startModerationPage,
  stateOf,
} from '../support/moderation-page.ts'
import { isOwnPath } from '../support/page-checker.ts'
import { sendBytes } from '../support/raw-http.ts'

const { apps } = inject('world')

/** For the attacks that change nothing. */
let page: ModerationPage
let ada: Moderator
share(async () => {
  page = await startModerationPage()
  ada = await page.signIn('Ada')
})

describe('a form of another site', () => {
  const own = 'http://moderation.test'
  const other = 'https://evil.example'

  /** Values of Sec-Fetch-Site; browsers send none on plain http other than localhost. */
  const sites = ['same-origin', 'same-site', 'cross-site', 'none', undefined]
  const never = [false, false, false, false, false]

  /**
   * Whether a form is accepted, with each of these sites:
   * - `same-origin`: the page itself sent it. A proxy's Referrer-Policy can turn the Origin into
   *   null, but another Origin than that of MODERATION_URL is another address of the page.
   * - `same-site` and `cross-site`: another page sent it, whatever the Origin.
   * - `none`: a person typed an address, which sends no form. Reloading a form's result is
   *   `same-origin`.
   * - without the header: only the Origin says who sent it.
   */
  const decisions: [origin: string | undefined, accepted: boolean[]][] = [
    [own, [true, false, false, false, true]],
    ['null', [true, false, false, false, false]],
    [undefined, [true, false, false, false, false]],
    ['https://moderation.test', never],
    [`${own}:8080`, never],
    [other, never],
    // A longer host, both, and none.
    [`${own}.evil.example`, never],
    [`${own}, ${other}`, never],
    ['', never],
  ]
  const table = decisions.flatMap(([origin, accepted]) =>
    sites.map((site, column) => ({ origin, site, isAccepted: accepted[column] })),
  )

  test.for(table.filter(({ isAccepted }) => isAccepted))(
    'with Origin $origin and Sec-Fetch-Site $site is none, and is accepted',
    async ({ origin, site }) => {
      const headers = { Origin: origin, 'Sec-Fetch-Site': site }
      const { key } = await page.addModerator('Bo')
      expect((await page.post('/sign-in', { key }, { headers })).status).toBe(303)
      expect((await ada.post('/decisions', {}, { headers })).status).toBe(400)
    },
  )

  test.for([
    ...table.filter(({ isAccepted }) => !isAccepted),
    { origin: own, site: '' },
    { origin: own, site: 'same-origin, cross-site' },
    { origin: own, site: 'Same-Origin' },
    { origin: undefined, site: undefined, referer: `${own}/` },
  ])(
    'with Origin $origin and Sec-Fetch-Site $site is refused, and does nothing',
    async (source) => {
      const { origin, site, referer } = { referer: undefined, ...source }
      const headers = { Origin: origin, 'Sec-Fetch-Site': site, Referer: referer }
      const isUnknown = site === undefined && (origin === undefined || origin === 'null')
      const problem = isUnknown
        ? 'Your browser does not say where this form comes from, so nothing was done. Open the page over https, or keep the proxy from setting Referrer-Policy.'
        : 'This form does not come from http://moderation.test/, so nothing was done. Open the page there.'
      const app = await referenceTo(page, apps.pending)
      const attempts: [path: string, fields: Fields][] = [
        ['/decisions', { app, decision: 'approve' }],
        ['/restorations', { app: await referenceTo(page, apps.deleted) }],
        ['/removed-reviews', { review: '1', reason: 'Spam' }],
        ['/sign-out', {}],
        ['/sign-in', { key: ada.key }],
      ]
      const before = await newestEntries(page, 1)
      for (const [path, fields] of attempts) {
        const response = await ada.post(path, fields, { headers })
        expect([path, response.status]).toEqual([path, 403])
        expect(textOf(response.text)).toContain(problem)
        expect(response.headers['set-cookie']).toBeUndefined()
      }
      expect(await newestEntries(page, 1)).toEqual(before)
      expect((await ada.get('/')).status).toBe(200)
    },
  )

  test('is refused with the address of the page, path included', async () => {
    const prefixed = await startModerationPage({
      origin: 'https://staff.test:8443',
      prefix: '/mod',
    })
    const headers = { Origin: 'https://staff.test' }
    const { status, text } = await prefixed.post('/sign-in', {}, { headers })
    expect([status, textOf(text)]).toEqual([
      403,
      expect.stringContaining('This form does not come from https://staff.test:8443/mod/'),
    ])
  })
})

describe.for([{ prefix: '' }, { prefix: '/mod' }])('under "$prefix"', ({ prefix }) => {
  let prefixed: ModerationPage
  let key: string
  share(async () => {
    prefixed = await startModerationPage({ prefix })
    key = (await prefixed.addModerator('Ada')).key
  })

  test.for([
    '//evil.example',
    '//evil.example/mod/',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '\\/evil.example',
    'https://evil.example',
    'https:evil.example',
    'https:/evil.example/',
    'http:\\\\evil.example',
    'http://moderation.test@evil.example/',
    'http://moderation.test.evil.example/',
    'http://moderation.test:8080/',
    'http://evil.example#http://moderation.test/',
    'http://moderation.test//evil.example/',
    'http://moderation.test/\\evil.example/',
    '/.//evil.example',
    '/..//evil.example',
    '/mod/..//evil.example',
    '/mod/../..//evil.example',
    '/mod/%2e%2e//evil.example',
    '/x/..//evil.example',
    '/x/../\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    ' //evil.example',
    '\u0000//evil.example',
    '/\r\nSet-Cookie: a=b',
    '/\u00E9\u2028//evil.example',
    'javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'file:///etc/passwd',
    'mod',
    '',
    '?',
    '#',
    '/modx',
    '/mod',
    '/mod/',
    '/sign-in?next=//evil.example',
    '/x?'.padEnd(5000, 'x'),
  ])('signing in with the next page %j leads to this page', async (next) => {
    // The checker compares each redirect with the address.
    const form = await prefixed.get(`/sign-in?${formBody({ next })}`)
    expect(form.status).toBe(200)
    const { status, headers } = await prefixed.post('/sign-in', { key, next })
    expect(status).toBe(303)
    const { origin, pathname } = new URL(String(headers.location), 'http://moderation.test')
    expect([origin, pathname.startsWith(`${prefix}/`)]).toEqual(['http://moderation.test', true])
  })
})

test.for<[location: string, ownPath: string, isOwn: boolean]>([
  ['/', '/', true],
  ['/mod/apps/1?a=%0A', '/mod/', true],
  ['/modx/', '/mod/', false],
  ['/mod/\n', '/mod/', false],
  ['//evil.example/', '/', false],
  ['/\\evil.example/', '/', false],
  ['https://moderation.test/mod/', '/mod/', false],
])('the checker: is %j below %s? %s', ([location, ownPath, isOwn]) => {
  expect(isOwnPath(location, ownPath)).toBe(isOwn)
})

describe('cookies', () => {
  test.for<[what: string, cookie: (own: string) => string, isSignedIn: boolean]>([
    ['other cookies around it', (own) => `a=b; ${own}; c=d`, true],
    ['no space after the semicolon', (own) => `a=b;${own};c=d`, true],
    ['a name that ends like it', (own) => `x${own}`, false],
    ['a name that begins like it', (own) => own.replace('=', 'x='), false],
    ['another case of the name', (own) => own.replace('m', 'M'), false],
    ['a quoted value', (own) => own.replace(/=(.*)/, '="$1"'), false],
    ['one character less', (own) => own.slice(0, -1), false],
    ['one character more', (own) => `${own}A`, false],
    ['a value after the token', (own) => `${own}=x`, false],
    ['percent-encoding', (own) => own.replace('=', '=%'), false],
    ['no value', () => 'moderation_session=', false],
    ['a value in another cookie', (own) => `a="; ${own.slice(0, -3)}`, false],
    ['the wrong token', () => `moderation_session=${'A'.repeat(43)}`, false],
    ['a token of SQL', () => `moderation_session=' or 1=1 --`, false],
    ['10,000 characters', () => `moderation_session=${'A'.repeat(10_000)}`, false],
    ['2,000 cookies', () => 'a=b; '.repeat(2000), false],
  ])('%s', async ([, cookie, isSignedIn]) => {
    const { status } = await page.visitor(cookie(ada.cookie)).get('/')
    expect(status).toBe(isSignedIn ? 200 : 303)
  })
})

test.for([
  '/style.css/../../../package.json',
  '/..%2f..%2fpackage.json',
  '/%2e%2e/%2e%2e/package.json',
  '/style.css%00.ts',
  '/style.css/',
  '/STYLE.css',
  '/routes.ts',
  '/style.css/../routes.ts',
  '/.env',
  '/apps/../style.css/x',
])('%s is no file', async (path) => {
  // A client would resolve the dots.
  const response = await sendBytes(
    page,
    `GET ${path} HTTP/1.1\r\nHost: moderation.test\r\nConnection: close\r\n\r\n`,
  )
  expect(response).toMatch(/^HTTP\/1\.1 (404|303) /)
  expect(response).not.toMatch(/color-scheme|import |"name"/)
})

const fifty = Array.from({ length: 50 }, (_, index) => `${index + 900}@a`)

describe('a form that is wrong is a page that says so, and decides nothing', () => {
  test.for<[what: string, fields: (app: string) => Fields, message: RegExp]>([
    ['no app', () => ({ decision: 'approve' }), /Select at least one app\./],
    ['no decision', (app) => ({ app }), /Press Approve or Reject\./],
    ['another decision', (app) => ({ app, decision: 'delete' }), /Press Approve or Reject\./],
    [
      'a decision of Object',
      (app) => ({ app, decision: 'constructor' }),
      /Press Approve or Reject\./,
    ],
    ['no reason', (app) => ({ app, decision: 'reject' }), /must have 1 to 1000 characters, not 0/],
    ['a blank reason', (app) => ({ app, decision: 'reject', reason: ' \n ' }), /not 0/],
    [
      'a reason of 1,001 characters',
      (app) => ({ app, decision: 'reject', reason: '𝐱'.repeat(1001) }),
      /must have 1 to 1000 characters, not 1001/,
    ],
    ['NUL in the reason', (app) => ({ app, decision: 'reject', reason: 'a\0b' }), /A reason must/],
    [
      'a terminal sequence in the reason',
      (app) => ({ app, decision: 'reject', reason: '\x1b[2Jgone' }),
      /A reason must/,
    ],
    [
      'a reversed reason',
      (app) => ({ app, decision: 'reject', reason: '\u202Egone' }),
      /A reason must/,
    ],
    ['an app without its revision', () => ({ app: '2', decision: 'approve' }), /108@k3f9a/],
    ['an app that is a word', () => ({ app: 'Tide', decision: 'approve' }), /not "Tide"/],
    ['an app with NUL', () => ({ app: '2@a\0', decision: 'approve' }), /108@k3f9a/],
    ['a negative app', () => ({ app: '-1@a', decision: 'approve' }), /108@k3f9a/],
    ['one wrong app of two', (app) => ({ app: [app, 'x'], decision: 'approve' }), /not "x"/],
    [
      'a field that is an array in other frameworks',
      (app) => ({ 'app[]': app, decision: 'approve' }),
      /Select at least one app\./,
    ],
    [
      'a field of the prototype',
      (app) => ({ '__proto__[app]': app, decision: 'approve' }),
      /Select at least one app\./,
    ],
    [
      '51 apps',
      (app) => ({ app: [app, ...fifty], decision: 'approve' }),
      /Select at most 50 apps, not 51\./,
    ],
    [
      '1,001 fields',
      (app) => ({ app: Array(1000).fill(app), decision: 'approve' }),
      /The form has over 1000 fields; select fewer apps\./,
    ],
    ['no field', () => ({}), /Select at least one app\. Press Approve or Reject\./],
    [
      'nothing but a wrong reason',
      () => ({ decision: 'reject' }),
      /Select at least one app\. A reason must have 1 to 1000 characters, not 0/,
    ],
    [
      'too many apps without a reason',
      (app) => ({ app: [app, ...fifty], decision: 'reject' }),
      /Select at most 50 apps, not 51\. A reason must have 1 to 1000 characters, not 0/,
    ],
  ])('%s', async ([, fields, message]) => {
    const before = await newestEntries(page, 1)
    const app = await referenceTo(page, apps.pending)
    const response = await ada.post('/decisions', fields(app))
    expect(response.status).toBe(400)
    expect(response.text.replaceAll('&quot;', '"')).toMatch(message)
    expect(await newestEntries(page, 1)).toEqual(before)
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
  })
})

const formType = 'application/x-www-form-urlencoded'
const gzip = { 'Content-Encoding': 'gzip' }
/** What a form that can be read is to sign in, as a decision of Ada, and without a session. */
const wrongValues = { signIn: 401, decision: 400, withoutSession: 401 }
const all = (status: number) => ({ signIn: status, decision: status, withoutSession: status })
/** A key in a form counts more than the session. */
const wrongKey = all(401)

test.for<
  [
    what: string,
    headers: Record<string, string | undefined>,
    body: string | Buffer,
    statuses: typeof wrongValues,
  ]
>([
  ['a type that is none', { 'Content-Type': `;${formType}` }, 'key=x', all(415)],
  ['two types', { 'Content-Type': `text/plain, ${formType}` }, 'key=x', all(415)],
  ['JSON', { 'Content-Type': 'application/json' }, '{"key":"x"', all(415)],
  ['plain text', { 'Content-Type': 'text/plain' }, 'key=x', all(415)],
  ['parts', { 'Content-Type': 'multipart/form-data; boundary=x' }, '--x', all(415)],
  ['an unknown charset', { 'Content-Type': `${formType}; charset=utf-7` }, 'key=x', all(415)],
  ['another charset', { 'Content-Type': `${formType}; charset=iso-8859-1` }, 'key=x', all(415)],
  ['gzip that is none', gzip, 'key=x', all(415)],
  ['gzip that ends too early', gzip, gzipSync('key=x').subarray(0, -9), all(415)],
  ['gzip', gzip, gzipSync('key=x'), all(415)],
  ['deflate that is none', { 'Content-Encoding': 'deflate' }, 'key=x', all(415)],
  ['brotli that is none', { 'Content-Encoding': 'br' }, 'key=x', all(415)],
  ['an unknown coding', { 'Content-Encoding': 'zip' }, 'key=x', all(415)],
  ['two codings', { 'Content-Encoding': 'identity, gzip' }, 'key=x', all(415)],
  ['1,001 fields', {}, '&'.repeat(1000), all(400)],
  ['1,000 fields', {}, '&'.repeat(999), wrongValues],
  ['130,000 fields', {}, '&'.repeat(130_000), all(400)],
  ['257 KiB', {}, 'x'.repeat(257 * 1024), all(413)],
  ['a byte over 128 KiB', {}, 'x'.repeat(128 * 1024 + 1), all(413)],
  ['128 KiB', {}, 'x'.repeat(128 * 1024), wrongValues],
  ['128 KiB of percent signs', {}, '%E0'.repeat(43_000), wrongValues],
  ['the coding identity', { 'Content-Encoding': 'identity' }, 'key=x', wrongKey],
  ['a charset of browsers', { 'Content-Type': `${formType};charset=UTF-8` }, 'key=x', wrongKey],
  ['no body', {}, '', wrongValues],
  ['no body and no type', { 'Content-Type': undefined }, '', wrongValues],
  ['a percent sign alone', {}, 'key=%&decision=%&app=%', wrongKey],
  ['half a character', {}, 'key=%E0%A4&decision=%E0&app=%ZZ', wrongKey],
  ['bytes that are no text', {}, Buffer.from('key=\xFF\xC0&app=\xED', 'latin1'), wrongKey],
  ['NUL', {}, 'key=\0&decision=%00&app=\0@\0&\0=\0', wrongKey],
  ['a repeated field', {}, 'key=x&key=y&decision=x&decision=&app=1@a&app=', wrongKey],
  ['fields without a name or value', {}, '&&=&==&key&decision=&app', wrongValues],
  ['fields of objects', {}, '__proto__=x&constructor=x&toString=x&__proto__[a]=x', wrongValues],
])('a form with %s is an error of the caller', async ([, headers, body, statuses]) => {
  const before = await newestEntries(page, 1)
  const logged = page.log.length
  const form = { headers, body }
  const foreign = { headers: { ...headers, Origin: 'https://evil.example' }, body }
  const { status: signedIn, headers: answered } = await page.post('/sign-in', {}, form)
  const decided = await Promise.all(
    ['/decisions', '/restorations', '/removed-reviews'].map((path) => ada.post(path, {}, form)),
  )
  expect(signedIn).toBe(statuses.signIn)
  const isCoded = signedIn === 415 && headers['Content-Encoding'] !== undefined
  expect(answered['accept-encoding']).toBe(isCoded ? 'identity' : undefined)
  expect(decided.map(({ status }) => status)).toEqual(Array(3).fill(statuses.decision))
  // It is read before, so that nothing that was typed is lost.
  expect((await page.post('/decisions', {}, form)).status).toBe(statuses.withoutSession)
  // Another site learns nothing about its form.
  expect((await page.post('/sign-in', {}, foreign)).status).toBe(403)
  expect((await page.post('/nowhere', {}, form)).status).toBe(404)
  await expect.poll(() => page.log.length).toBe(logged + 7)
  expect(page.log.slice(logged).filter((line) => JSON.parse(line).level !== 30)).toEqual([])
  expect(await newestEntries(page, 1)).toEqual(before)
})

test.for(['/decisions', '/sign-in'])(
  'a form for %s as large as it may be, as no browser encodes it, is shown in less than a megabyte',
  async (path) => {
    for (const name of ['reason', 'next']) {
      const body = `${name}=`.padEnd(128 * 1024, '"')
      const { status, text } = await page.post(path, {}, { body })
      const isSmall = Buffer.byteLength(text) < 1_000_000
      expect([path, name, status, isSmall]).toEqual([path, name, 401, true])
    }
  },
)

/** The bytes of a form of Ada, up to its body. */
const rawHead = (path: string, type: string) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: moderation.test',
    `Origin: ${page.ownHeaders.Origin}`,
    `Cookie: ${ada.cookie}`,
    'Connection: close',
    ...[type].filter(Boolean),
    '',
  ].join('\r\n')

test.for<[what: string, type: string]>([
  ['no type', ''],
  ['an empty type', 'Content-Type:'],
])('a form with %s is refused', async ([, type]) => {
  for (const path of ['/sign-in', '/decisions']) {
    const bytes = `${rawHead(path, type)}Content-Length: 5\r\n\r\nkey=x`
    expect(await sendBytes(page, bytes)).toMatch(/^HTTP\/1\.1 415 /)
  }
})

test('a form that ends too early is an aborted request, and no error of ours', async () => {
  const logged = page.log.length
  const paths = ['/sign-in', '/decisions']
  for (const path of paths) {
    const socket = connect(page.port, '127.0.0.1')
    socket.end(`${rawHead(path, `Content-Type: ${formType}`)}Content-Length: 9\r\n\r\nkey=x`)
    await once(socket.resume(), 'close')
  }
  const lines = () => page.log.slice(logged).map((line) => JSON.parse(line))
  await expect
    .poll(() => lines().flatMap(({ req, msg }) => (/aborted/.test(msg) ? [req.url] : [])))
    .toEqual(paths)
  expect(lines().filter(({ level }) => level !== 30)).toEqual([])
})

describe('NUL and other odd values', () => {
  const values = ['\0', 'a\0b', '\u{10FFFF}', '\uFFFD', "'; drop table apps; --", '%', '[object]']
  const filter = ['developer', 'category', 'look-alikes', 'after']
  const report = ['decided', 'refused']
  const pages: [path: string, parameters: string[]][] = [
    ['/?', ['queue', ...filter, 'select', ...report]],
    ['/?queue=changed&', [...filter, ...report]],
    ['/?look-alikes=on&', ['queue', 'developer', 'category', 'after']],
    ['/apps?', ['text']],
    ['/apps/1?', ['queue', 'review', 'next', ...report]],
    ['/apps/1?queue=pending&', [...filter, 'review', 'next', ...report]],
    ['/audit?', ['moderator', 'developer', 'app', 'since', 'until', 'before', 'entry']],
    ['/sign-in?', ['next']],
  ]
  const queries = [...new Set(pages.flatMap(([, parameters]) => parameters))]
  const huge = '9'.repeat(400)

  test.for(pages)('%s reads no other parameter', async ([path, parameters]) => {
    const others = queries.filter((name) => !path.includes(name) && !parameters.includes(name))
    const odd = formBody(Object.fromEntries(others.map((name) => [name, '\0'])))
    expect((await ada.get(path + odd)).status).toBe(200)
  })

  test.for<[name: string, value: string]>([
    ...queries.flatMap((name) => [...values, huge].map((value): [string, string] => [name, value])),
    ['decided', '999999999999999 1'],
    ['refused', '2147483648'],
    ['next', '999999999999999'],
    ['text', '999999999999999'],
    ['text', '#2147483648@a'],
    ['before', '999999999999999'],
    ['after', '2026-01-01T00:00:00.000Z~999999999999999'],
    ['after', '9999-99-99T99:99:99.999Z~1'],
    ['until', '2026-02-30'],
    ['app', '999999999999999'],
    ['entry', '999999999999999'],
    ['review', '999999999999999'],
    ['app', '1e3'],
    ['app', '0x1'],
    ['since', '2026-02-30'],
    ['since', '+275760-09-13'],
  ])('in the query, %s=%j is a page, and no error of ours', async ([name, value]) => {
    const readers = pages.filter(([, parameters]) => parameters.includes(name))
    for (const [path] of readers) {
      const { status, text } = await ada.get(path + formBody({ [name]: value }))
      expect([path, text.includes('Internal error')]).toEqual([path, false])
      // An app may have no such review.
      expect(name === 'review' ? [200, 400, 404] : [200, 400]).toContain(status)
    }
  })

  test.for([
    ...values,
    huge,
    '999999999999999',
    '2147483648',
    '9007199254740993',
    '0',
    '-1',
    '1.5',
  ])('the id %j is an error of the caller everywhere', async (value) => {
    const before = await newestEntries(page, 1)
    const reason = 'Spam'
    const responses = [
      await ada.get(`/apps/${encodeURIComponent(value)}`),
      await ada.post('/removed-reviews', { app: '1', review: value, reason }),
      await ada.post('/removed-reviews', { app: value, review: '999999', reason }),
      await ada.post('/restorations', { app: `${value}@a` }),
      await ada.post('/decisions', { app: `${value}@a`, decision: 'approve', seen: '1' }),
    ]
    expectStatuses(responses, [404, 400, 400, 400, 400])
    expect(await newestEntries(page, 1)).toEqual(before)
  })

  test.for(values)('in each field of a form, %j is an error of the caller', async (value) => {
    const before = await newestEntries(page, 1)
    const decision = { app: '1@a', decision: 'reject', reason: 'Spam', seen: '1', next: '1' }
    const forms: [path: string, fields: Fields][] = [
      ['/decisions', decision],
      ['/restorations', { app: '1@a' }],
      // No such review, since this could remove one.
      ['/removed-reviews', { app: '1', review: '999999', reason: 'Spam' }],
      ['/sign-in', { key: 'x', next: '/' }],
    ]
    for (const [path, right] of forms) {
      for (const name of [...Object.keys(right), 'key']) {
        const { status, text } = await ada.post(path, { ...right, [name]: value })
        expect([path, name, text.includes('Internal error')]).toEqual([path, name, false])
        expect([400, 401, 409]).toContain(status)
      }
    }
    expect(await newestEntries(page, 1)).toEqual(before)
  })
})

test('of a repeated field, the first value counts, and the app is decided once', async () => {
  const own = await startModerationPage()
  const bo = await own.signIn('Bo')
  const app = await referenceTo(own, apps.pending)
  const before = await newestEntries(own, 1)
  const { status, headers } = await bo.post('/decisions', {
    app: [app, app],
    decision: ['reject', 'approve'],
    reason: ['Spam', 'Ham'],
  })
  const id = apps.pending
  expect([status, headers.location]).toEqual([303, `/?queue=pending&decided=${id}`])
  expect(await stateOf(own, apps.pending)).toMatchObject({
    status: 'rejected',
    rejection_reason: 'Spam',
  })
  const [newest, second] = await newestEntries(own, 2)
  expect([newest?.action, second?.id]).toEqual(['app reject', before[0]?.id])
})

test('wrong keys beyond the limit leave no rows, and the page usable from elsewhere', async () => {
  freezeMonotonicClock()
  const own = await startModerationPage({ refusedKeyLimit: 60, trustProxy: 1 })
  const bo = await own.signIn('Bo')
  const { key } = await own.addModerator('Cy')
  const attacker = { 'X-Forwarded-For': '192.0.2.1' }
  const statuses = { 401: 0, 429: 0 }
  const attack = async (count: number) => {
    for (let index = 0; index < count; index++) {
      const { status } = await fetch(`http://127.0.0.1:${own.port}/sign-in`, {
        method: 'POST',
        headers: { ...own.ownHeaders, ...attacker },
        body: new URLSearchParams({ key: `wrong${Math.random()}` }),
      })
      if (status !== 401 && status !== 429) expect.fail(`the status ${status}`)
      statuses[status]++
    }
  }
  // Its token is known before the attack.
  expect((await bo.get('/', { headers: attacker })).status).toBe(200)
  await Promise.all(Array.from({ length: 20 }, () => attack(4)))
  expect(statuses).toEqual({ 401: 60, 429: 20 })
  expect((await bo.get('/', { headers: attacker })).status).toBe(200)
  expect((await own.post('/sign-in', { key })).status).toBe(303)
  expect(await own.database.read(({ sql }) => sql('operator_sessions'))).toHaveLength(2)
})

test.for<[what: string, head: string, status: number, message: string]>([
  [
    'two Host headers',
    'HTTP/1.1\r\nHost: moderation.test\r\nHost: evil.example\r\n',
    400,
    'Host must be given once.',
  ],
  ['no Host header', 'HTTP/1.1\r\n', 400, 'Host must be given once.'],
  [
    'a Host that is none',
    'HTTP/1.1\r\nHost: a b\r\n',
    400,
    'Host must be a host name or address, and may have a port.',
  ],
  [
    'an unknown version',
    'HTTP/1.2\r\nHost: moderation.test\r\n',
    505,
    'The HTTP version is not supported; use HTTP/1.1.',
  ],
])('%s are refused, as by the public service', async ([, head, status, message]) => {
  const response = await sendBytes(page, `GET /sign-in ${head}Connection: close\r\n\r\n`)
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(response).toContain(message)
})

test.for<[what: string, trustProxy: number, warnings: number]>([
  ['once if no proxy is trusted', 0, 1],
  ['not if one is', 1, 0],
])('warns of addresses that a proxy claims: %s', async ([, trustProxy, warnings]) => {
  const own = await startModerationPage({ trustProxy })
  for (const _ of [1, 2]) await own.get('/sign-in', { headers: { 'X-Forwarded-For': '192.0.2.1' } })
  expect(own.log.filter((line) => line.includes('X-Forwarded-For is ignored'))).toHaveLength(
    warnings,
  )
})

test('a path with percent signs that encode no text is not found', async () => {
  const page = await startModerationPage()
  const { status } = await page.get('/apps/%E0')
  expect(status).toBe(404)
})
