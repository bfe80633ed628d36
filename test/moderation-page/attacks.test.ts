import { gzipSync } from 'node:zlib'
import { describe, expect, inject, test } from 'vitest'
import { textOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  type Fields,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startModerationPage,
  startWithAda,
  stateOf,
} from '../support/moderation-page.ts'
import { sendBytes } from '../support/raw-http.ts'

/** Requests and forms that no browser of a moderator sends. own-origin.test.ts has other addresses. */

const { apps } = inject('world')

/** For the attacks that change nothing. */
let page: ModerationPage
let ada: Moderator
share(async () => {
  ;({ page, ada } = await startWithAda())
})

const evil = 'https://evil.example'

describe('a form of another site', () => {
  const own = 'http://moderation.test'
  const origins = [
    ...[own, 'null', undefined, ''],
    ...['https://moderation.test', `${own}:8080`, `${own}.evil.example`, `${own}, ${evil}`, evil],
  ]
  const sites = [
    ...['same-origin', 'same-site', 'cross-site', 'none', undefined],
    ...['', 'Same-Origin', 'same-origin, cross-site'],
  ]

  /**
   * Browsers send no Sec-Fetch-Site on plain http, where only the Origin says who sent the form. A
   * proxy's Referrer-Policy can turn the Origin into null.
   */
  const accepted: { origin: string | undefined; site: string | undefined }[] = [
    { origin: own, site: 'same-origin' },
    { origin: own, site: undefined },
    { origin: 'null', site: 'same-origin' },
    { origin: undefined, site: 'same-origin' },
  ]

  test.for(origins.flatMap((origin) => sites.map((site) => ({ origin, site }))))(
    'is recognized with Origin $origin and Sec-Fetch-Site $site',
    async ({ origin, site }) => {
      const isOwn = accepted.some((one) => one.origin === origin && one.site === site)
      const headers = { Origin: origin, 'Sec-Fetch-Site': site }
      expect((await page.post('/sign-in', {}, { headers })).status).toBe(isOwn ? 401 : 403)
    },
  )

  test('does nothing, whatever it is for', async () => {
    const app = await referenceTo(page, apps.pending)
    const attempts: [path: string, fields: Fields][] = [
      ['/decisions', { app, decision: 'approve' }],
      ['/reopenings', { reopened: await referenceTo(page, apps.approved) }],
      ['/restorations', { app: await referenceTo(page, apps.deleted) }],
      ['/removed-reviews', { app: String(apps.approved), review: '1', reason: 'Spam' }],
      ['/sign-out', {}],
      ['/sign-in', { key: ada.key }],
    ]
    const before = await newestEntries(page, 1)
    for (const [path, fields] of attempts) {
      const headers = { Origin: evil, 'Sec-Fetch-Site': 'cross-site' }
      const response = await ada.post(path, fields, { headers })
      expect([path, response.status, response.headers['set-cookie']]).toEqual([
        path,
        403,
        undefined,
      ])
    }
    expect(await newestEntries(page, 1)).toEqual(before)
    expect((await ada.get('/')).status).toBe(200)
  })

  test.for([
    {
      what: 'with another Origin',
      headers: { Origin: 'https://staff.test' },
      problem: 'This form does not come from https://staff.test:8443/mod/',
    },
    {
      what: 'with the Referer alone',
      headers: {
        Origin: undefined,
        'Sec-Fetch-Site': undefined,
        Referer: 'https://staff.test:8443/mod/',
      },
      problem: 'Your browser does not say where this form comes from',
    },
  ])('$what is told what to do', async ({ headers, problem }) => {
    const prefixed = await startModerationPage({
      origin: 'https://staff.test:8443',
      prefix: '/mod',
    })
    const { status, text } = await prefixed.post('/sign-in', {}, { headers })
    expect([status, textOf(text)]).toEqual([403, expect.stringContaining(problem)])
  })
})

describe('the header Cookie', () => {
  test.for<{ what: string; cookie: (own: string) => string; isSignedIn: boolean }>([
    { what: 'other cookies around it', cookie: (own) => `a=b; ${own}; c=d`, isSignedIn: true },
    { what: 'no space before it', cookie: (own) => `a=b;${own};c=d`, isSignedIn: true },
    { what: 'a name that ends like it', cookie: (own) => `x${own}`, isSignedIn: false },
    { what: 'one character less', cookie: (own) => own.slice(0, -1), isSignedIn: false },
    { what: 'one character more', cookie: (own) => `${own}A`, isSignedIn: false },
    { what: '2,000 cookies', cookie: () => 'a=b; '.repeat(2000), isSignedIn: false },
  ])('with $what', async ({ cookie, isSignedIn }) => {
    const { status } = await page.visitor(cookie(ada.cookie)).get('/')
    expect(status).toBe(isSignedIn ? 200 : 303)
  })
})

test.for(['/style.css/../../../package.json', '/..%2f..%2fpackage.json', '/style.css%00.ts'])(
  '%s is no file',
  async (path) => {
    // A client would resolve the dots.
    const response = await sendBytes(
      page,
      `GET ${path} HTTP/1.1\r\nHost: moderation.test\r\nConnection: close\r\n\r\n`,
    )
    expect(response).toMatch(/^HTTP\/1\.1 (404|303) /)
    expect(response).not.toMatch(/color-scheme|import |"name"/)
  },
)

const references = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index + 900}@a`)

describe('a form that is wrong says all that is wrong, and decides nothing:', () => {
  test.for<{ what: string; fields: (app: string) => Fields; problem: string }>([
    {
      what: 'a decision of Object',
      fields: (app) => ({ app, decision: 'constructor' }),
      problem: 'Press Approve or Reject.',
    },
    {
      what: 'one wrong app of two',
      fields: (app) => ({ app: [app, 'x'], decision: 'approve' }),
      problem: 'not "x"',
    },
    {
      what: 'a field that is an array in other frameworks',
      fields: (app) => ({ 'app[]': app, decision: 'approve' }),
      problem: 'Select at least one app.',
    },
    {
      what: '51 apps without a reason',
      fields: (app) => ({ app: [app, ...references(50)], decision: 'reject' }),
      problem: 'Select at most 50 apps, not 51. A reason must have',
    },
    {
      what: 'nothing',
      fields: () => ({}),
      problem: 'Select at least one app. Press Approve or Reject.',
    },
  ])('$what', async ({ fields, problem }) => {
    const before = await newestEntries(page, 1)
    const response = await ada.post('/decisions', fields(await referenceTo(page, apps.pending)))
    expect(response.status).toBe(400)
    expect(textOf(response.text)).toContain(problem)
    expect(await newestEntries(page, 1)).toEqual(before)
  })
})

const formType = 'application/x-www-form-urlencoded'
const sentForms = ['/decisions', '/restorations', '/removed-reviews', '/sign-in']

test.for<{
  what: string
  headers?: Record<string, string>
  body: string | Buffer
  status: number
}>([
  {
    what: 'JSON',
    headers: { 'Content-Type': 'application/json' },
    body: '{"key":"x"',
    status: 415,
  },
  {
    what: 'parts',
    headers: { 'Content-Type': 'multipart/form-data; boundary=x' },
    body: '--x',
    status: 415,
  },
  {
    what: 'another charset',
    headers: { 'Content-Type': `${formType}; charset=iso-8859-1` },
    body: 'key=x',
    status: 415,
  },
  { what: 'gzip', headers: { 'Content-Encoding': 'gzip' }, body: gzipSync('key=x'), status: 415 },
  { what: '1,001 fields', body: '&'.repeat(1000), status: 400 },
  { what: 'a byte over 128 KiB', body: 'x'.repeat(128 * 1024 + 1), status: 413 },
])(
  'a form of $what is refused with $status, signed in or not',
  async ({ headers = {}, body, status }) => {
    for (const path of sentForms) {
      for (const visitor of [ada, page]) {
        const refused = await visitor.post(path, {}, { headers, body })
        expect([path, refused.status]).toEqual([path, status])
        const isCoded = 'Content-Encoding' in headers
        expect(refused.headers['accept-encoding']).toBe(isCoded ? 'identity' : undefined)
      }
      // Another site learns nothing about its form.
      const foreign = await page.post(path, {}, { headers: { ...headers, Origin: evil }, body })
      expect(foreign.status).toBe(403)
    }
  },
)

test.for<{ what: string; headers?: Record<string, string | undefined>; body: string | Buffer }>([
  { what: 'no body and no type', headers: { 'Content-Type': undefined }, body: '' },
  {
    what: 'a charset of browsers',
    headers: { 'Content-Type': `${formType};charset=UTF-8` },
    body: 'key=x',
  },
  { what: '1,000 fields', body: '&'.repeat(999) },
  { what: '128 KiB of percent signs', body: '%E0'.repeat(43_000).padEnd(128 * 1024, 'x') },
  { what: 'bytes that are no text', body: Buffer.from('key=\xFF\xC0&app=\xED', 'latin1') },
  { what: 'repeated fields', body: 'key=x&key=y&decision=x&decision=&app=1@a&app=' },
  { what: 'fields without a name or value', body: '&&=&==&key&decision=&app' },
  { what: 'fields of objects', body: '__proto__=x&constructor=x&toString=x&__proto__[a]=x' },
])('a form of $what is read, and wrong', async ({ headers = {}, body }) => {
  const before = await newestEntries(page, 1)
  const logged = page.log.length
  for (const path of sentForms) {
    for (const visitor of [ada, page]) {
      const { status } = await visitor.post(path, {}, { headers, body })
      expect(visitor === ada ? [400, 401] : [401], path).toContain(status)
    }
  }
  await expect.poll(() => page.log.length).toBe(logged + 2 * sentForms.length)
  expect(page.log.slice(logged).filter((line) => JSON.parse(line).level !== 30)).toEqual([])
  expect(await newestEntries(page, 1)).toEqual(before)
})

test('of a repeated field, the first value counts, and the app is decided once', async () => {
  const { page, ada } = await startWithAda()
  const app = await referenceTo(page, apps.pending)
  const before = await newestEntries(page, 1)
  const { status, headers } = await ada.post('/decisions', {
    app: [app, app],
    decision: ['reject', 'approve'],
    reason: ['Spam', 'Ham'],
  })
  expect([status, headers.location]).toEqual([303, `/?queue=pending&decided=${apps.pending}`])
  expect(await stateOf(page, apps.pending)).toMatchObject({
    status: 'rejected',
    rejection_reason: 'Spam',
  })
  const [newest, second] = await newestEntries(page, 2)
  expect([newest?.action, second?.id]).toEqual(['app reject', before[0]?.id])
})

test('a request without a host is refused, as by the public service', async () => {
  const response = await sendBytes(page, 'GET /sign-in HTTP/1.1\r\nConnection: close\r\n\r\n')
  expect(response).toMatch(/^HTTP\/1\.1 400 /)
})

test.for([
  { what: 'once if no proxy is trusted', trustProxy: 0, warnings: 1 },
  { what: 'not if one is', trustProxy: 1, warnings: 0 },
])('warns of addresses that a proxy claims: $what', async ({ trustProxy, warnings }) => {
  const own = await startModerationPage({ trustProxy })
  for (const _ of [1, 2]) await own.get('/sign-in', { headers: { 'X-Forwarded-For': '192.0.2.1' } })
  const found = own.log.filter((line) => line.includes('X-Forwarded-For is ignored'))
  expect(found).toHaveLength(warnings)
})
