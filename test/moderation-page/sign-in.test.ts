import { hash } from 'node:crypto'
import { describe, expect, inject, test } from 'vitest'
import { generateKey } from '../../src/accounts/keys.ts'
import { revokeModerator } from '../../src/accounts/moderator-store.ts'
import { freezeClock } from '../support/clock.ts'
import { copyWorld } from '../support/database.ts'
import { textOf, titleOf, valuesOf } from '../support/html.ts'
import {
  cookieOf,
  type ModerationPage,
  newestEntries,
  referenceTo,
  startModerationPage,
  stateOf,
  type Visitor,
} from '../support/moderation-page.ts'
import { startService } from '../support/service.ts'

const { keys, apps } = inject('world')
const past = '2020-01-01T00:00:00.000Z'
const minute = 60 * 1000

const revoke = ({ database }: ModerationPage, id: string) =>
  database.write((runner) => revokeModerator(runner, id, { operator: 'test' }))

const sessionsOf = ({ database }: ModerationPage) =>
  database.read(({ sql }) => sql('operator_sessions'))

/** Whether the visitor is signed in. */
async function isSignedIn(visitor: Visitor): Promise<boolean> {
  const { status, headers } = await visitor.get('/')
  if (status === 303) expect(headers.location).toMatch(/\/sign-in\?next=/)
  return status === 200
}

test('a key signs in, and its holder is shown the page that was asked for', async () => {
  const page = await startModerationPage()
  const { key, id } = await page.addModerator('Ada Lovelace')
  const asked = await page.get(`/apps/${apps.pending}?from=mail`)
  expect([asked.status, asked.headers.location]).toEqual([
    303,
    `/sign-in?next=%2Fapps%2F${apps.pending}%3Ffrom%3Dmail`,
  ])
  const form = await page.get(String(asked.headers.location))
  expect([form.status, titleOf(form.text)]).toEqual([200, 'Sign in – Moderation'])
  const [next = ''] = valuesOf(form.text, 'next')
  // Pasted with white space.
  const signedIn = await page.post('/sign-in', { key: ` ${key}\n`, next })
  expect([signedIn.status, signedIn.headers.location]).toEqual([
    303,
    `/apps/${apps.pending}?from=mail`,
  ])
  const ada = page.visitor(cookieOf(signedIn))
  expect((await ada.get(`/apps/${apps.pending}`)).text).toContain('Ada Lovelace')
  // The use is stored without a wait.
  await expect
    .poll(() =>
      page.database.read(({ sql }) => sql('operators').where({ id }).first('last_used_at')),
    )
    .toEqual({ last_used_at: expect.stringMatching(/Z$/) })
})

test('the form has one visible field, which password managers fill', async () => {
  const page = await startModerationPage()
  const { text } = await page.get('/sign-in')
  const fields = [...text.matchAll(/<input\b[^>]*>/g)].map(([field]) => field)
  const visible = fields.filter((field) => !/ hidden| type="hidden"/.test(field))
  expect(visible).toHaveLength(1)
  expect(visible[0]).toMatch(/ type="password".* autocomplete="current-password"/)
})

test('neither the key nor the token is stored or logged', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await ada.get('/')
  await page.get(`/sign-in?next=/&key=${ada.key}`)
  await page.get(`/${ada.key}`)
  const token = ada.cookie.replace(/^.*=/, '')
  const stored = JSON.stringify(
    await page.database.read(async ({ sql }) => [
      await sql('operators'),
      await sql('operator_sessions'),
      await sql('audit'),
    ]),
  )
  for (const text of [stored, page.log.join()]) {
    expect(text).not.toContain(token)
    expect(text).not.toContain(ada.key.slice(22, 60))
  }
  expect(stored).toContain(hash('sha256', ada.key))
  expect(stored).toContain(hash('sha256', token))
})

const mistyped = (key: string) => key.replace(/.$/, (last) => (last === '0' ? '1' : '0'))

describe('a refused key', () => {
  test.for<
    [what: string, key: (page: ModerationPage) => Promise<string> | string, message: string]
  >([
    ['nothing', () => '', 'This is not a sign-in key; check that it was copied completely.'],
    ['a word', () => 'open sesame', 'This is not a sign-in key'],
    ['an API key', () => keys.ada, 'This is not a sign-in key'],
    [
      'a mistyped key',
      async (page) => mistyped((await page.addModerator('Ada')).key),
      'This is not a sign-in key',
    ],
    ['a key that was never issued', () => generateKey('moderator').key, 'is not known'],
    [
      'a key with the id of another',
      async ({ addModerator, database }) => {
        const { id, key } = await addModerator('Ada')
        const { sha256 } = generateKey('moderator')
        await database.write(({ sql }) => sql('operators').where({ id }).update({ sha256 }))
        return key
      },
      'is not known',
    ],
    [
      'an expired key',
      async (page) => (await page.addModerator('Ada', past)).key,
      `expired at ${past}`,
    ],
    [
      'a revoked key',
      async (page) => {
        const { id, key } = await page.addModerator('Ada')
        await revoke(page, id)
        return key
      },
      'was revoked',
    ],
    ['a key with markup', () => '"><script>alert(1)</script>', 'This is not a sign-in key'],
    ['a key of 90,000 characters', () => 'x'.repeat(90_000), 'This is not a sign-in key'],
  ])('%s: the form says why, and nobody is signed in', async ([, makeKey, message]) => {
    const page = await startModerationPage()
    const response = await page.post('/sign-in', { key: await makeKey(page), next: '/audit' })
    expect([response.status, titleOf(response.text)]).toEqual([401, 'Sign in – Moderation'])
    expect(/<p role="alert"[^>]*>(.*)<\/p>/.exec(response.text)?.[1]).toContain(message)
    expect(response.headers['set-cookie']).toBeUndefined()
    // The second attempt leads to the same page.
    expect(valuesOf(response.text, 'next')).toEqual(['/audit'])
    expect(await sessionsOf(page)).toEqual([])
  })

  test('the key of a moderator is no API key', async () => {
    const service = await startService()
    const page = await startModerationPage({ databaseUrl: service.databaseUrl })
    const { key } = await page.addModerator('Ada')
    const { status, body } = await service.get('/apps', { key })
    expect([status, body.message]).toEqual([
      401,
      'This is not an API key; check that it was copied completely.',
    ])
    expect((await service.get('/moderation')).status).toBe(404)
  })
})

describe('refused keys and tokens', () => {
  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })

  test.for<[what: string, refuse: (page: ModerationPage) => Promise<{ status: number }>]>([
    ['wrong keys', (page) => page.post('/sign-in', { key: 'wrong' }, from('192.0.2.1'))],
    [
      'wrong tokens',
      (page) => page.visitor(`moderation_session=${'A'.repeat(43)}`).get('/', from('192.0.2.1')),
    ],
  ])('%s: more than the limit are a 429, for that address only', async ([, refuse]) => {
    const page = await startModerationPage({ refusedKeyLimit: 3, trustProxy: 1 })
    const { key } = await page.addModerator('Ada')
    const bo = await page.signIn('Bo')
    expect((await bo.get('/', from('192.0.2.1'))).status).toBe(200)
    for (const _ of [1, 2, 3]) expect((await refuse(page)).status).not.toBe(429)

    const wrongKey = generateKey('moderator').key
    const expectRefused = async () => {
      const refused = await page.post('/sign-in', { key: wrongKey }, from('192.0.2.1'))
      expect(refused.status).toBe(429)
      expect(refused.text).toMatch(
        /Too many keys from this address were refused; try again in \d+ s\./,
      )
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
      expect(refused.headers['set-cookie']).toBeUndefined()
    }
    await expectRefused()
    // Who is signed in goes on, and other addresses are not affected.
    expect((await bo.get('/', from('192.0.2.1'))).status).toBe(200)
    expect((await page.post('/sign-in', { key: 'x' }, from('192.0.2.2'))).status).toBe(401)

    // A key that this process has not seen signs in, which ends no limit; so does the next one.
    const signedIn = await page.post('/sign-in', { key }, from('192.0.2.1'))
    expect(signedIn.status).toBe(303)
    const ada = page.visitor(cookieOf(signedIn))
    expect((await ada.get('/', from('192.0.2.1'))).status).toBe(200)
    await expectRefused()
    const cy = await page.addModerator('Cy')
    expect((await page.post('/sign-in', { key: cy.key }, from('192.0.2.1'))).status).toBe(303)
    await revoke(page, cy.id)
    expect((await page.post('/sign-in', { key: cy.key }, from('192.0.2.1'))).status).toBe(429)
    await expectRefused()
  })

  test.for<[what: string, key: () => string, statements: number]>([
    ['a word', () => 'open sesame', 0],
    ['a mistyped key', () => mistyped(generateKey('moderator').key), 0],
    ['a key that was never issued', () => generateKey('moderator').key, 1],
  ])('over the limit, %s is refused with few statements', async ([, makeKey, count]) => {
    const page = await startModerationPage({ refusedKeyLimit: 1 })
    for (const _ of [1, 2]) await page.post('/sign-in', { key: 'x' })
    const statements: string[] = []
    page.database.onStatement((sql) => statements.push(sql))
    expect((await page.post('/sign-in', { key: makeKey() })).status).toBe(429)
    const lookUp = expect.stringMatching(/^select \* from operators where id in /)
    expect(statements).toEqual(Array(count).fill(lookUp))
  })
})

describe('a session', () => {
  test('ends twelve hours after its last use', async () => {
    const page = await startModerationPage()
    const start = freezeClock(Date.parse('2026-03-01T08:00:00Z'))
    const ada = await page.signIn('Ada')
    const at = (time: number) => {
      freezeClock(start + time)
      return isSignedIn(ada)
    }
    const isUsedAt = async (time: number) => {
      expect(await at(time)).toBe(true)
      // The use is stored after the response.
      const last_used_at = new Date(start + time).toISOString()
      await expect.poll(() => sessionsOf(page)).toMatchObject([{ last_used_at }])
    }
    await isUsedAt(12 * 60 * minute)
    // Each use counts, within some minutes.
    await isUsedAt(23 * 60 * minute)
    expect(await at(35 * 60 * minute + minute)).toBe(false)
    expect(await at(35 * 60 * minute)).toBe(true)
    // The row stays until the next sign-in removes it.
    expect(await at(60 * 60 * minute)).toBe(false)
    expect(await sessionsOf(page)).toHaveLength(1)
    await page.signIn('Bo')
    expect(await sessionsOf(page)).toHaveLength(1)
  })

  test('stores its use at most every five minutes, so that reading pages writes little', async () => {
    const page = await startModerationPage()
    const start = freezeClock(Date.parse('2026-03-01T08:00:00Z'))
    const ada = await page.signIn('Ada')
    const usedAt = async () =>
      (await sessionsOf(page)).map(({ last_used_at }) => Date.parse(last_used_at) - start)
    freezeClock(start + 4 * minute)
    for (let request = 0; request < 5; request++) expect(await isSignedIn(ada)).toBe(true)
    // A write after which an earlier one is stored, too.
    await page.addModerator('Bo')
    expect(await usedAt()).toEqual([0])
    freezeClock(start + 5 * minute)
    expect(await isSignedIn(ada)).toBe(true)
    await expect.poll(usedAt).toEqual([5 * minute])
  })

  test('is shared by all processes', async () => {
    const databaseUrl = await copyWorld()
    const one = await startModerationPage({ databaseUrl })
    const other = await startModerationPage({ databaseUrl })
    const ada = await one.signIn('Ada')
    const there = other.visitor(ada.cookie)
    expect(await isSignedIn(there)).toBe(true)
    expect((await there.post('/sign-out')).status).toBe(303)
    expect(await isSignedIn(ada)).toBe(false)
    expect(await sessionsOf(one)).toEqual([])
  })

  test.for<[minutes: number, isStored: boolean]>([
    [4, false],
    [5, true],
    [6, true],
  ])('used again after %i minutes: its use is stored: %s', async ([minutes, isStored]) => {
    const page = await startModerationPage()
    const start = freezeClock(Date.parse('2026-03-01T08:00:00Z'))
    const ada = await page.signIn('Ada')
    const now = freezeClock(start + minutes * minute)
    expect(await isSignedIn(ada)).toBe(true)
    // Ends after the write, which nobody waits for.
    await page.database.write(async () => {})
    const stored = new Date(isStored ? now : start).toISOString()
    await expect.poll(() => sessionsOf(page)).toMatchObject([{ last_used_at: stored }])
  })

  test.for<
    [what: string, end: (page: ModerationPage, id: string) => Promise<unknown>, sessions: number]
  >([
    // The other's session.
    ['revoked', revoke, 1],
    [
      'expired',
      ({ database }, id) =>
        database.write(({ sql }) => sql('operators').where({ id }).update({ expires_at: past })),
      2,
    ],
  ])('ends at the next request if its key is %s', async ([, end, sessions]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const bo = await page.signIn('Bo')
    const app = await referenceTo(page, apps.pending)
    await end(page, ada.id)
    const refused = await ada.post('/decisions', { app, decision: 'approve' })
    expect(refused.status).toBe(401)
    expect(refused.text).toContain('Sign in')
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
    expect(await isSignedIn(ada)).toBe(false)
    expect(await isSignedIn(bo)).toBe(true)
    expect(await sessionsOf(page)).toHaveLength(sessions)
  })

  test('is left by signing out, and its cookie is removed', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const elsewhere = page.visitor(cookieOf(await page.post('/sign-in', { key: ada.key })))
    const left = await ada.post('/sign-out')
    expect([left.status, left.headers.location]).toEqual([303, '/sign-in'])
    expect(String(left.headers['set-cookie'])).toMatch(
      /^moderation_session=;.*Expires=Thu, 01 Jan 1970/,
    )
    expect(await isSignedIn(ada)).toBe(false)
    expect(await isSignedIn(elsewhere)).toBe(true)
    // Once more, and without any session.
    expect((await ada.post('/sign-out')).status).toBe(303)
    expect((await page.post('/sign-out')).status).toBe(303)
  })

  test('is never one that was set before signing in', async () => {
    const page = await startModerationPage()
    const planted = `moderation_session=${'p'.repeat(43)}`
    const { key } = await page.addModerator('Ada')
    const signedIn = await page.visitor(planted).post('/sign-in', { key })
    expect(cookieOf(signedIn)).not.toBe(planted)
    expect(await isSignedIn(page.visitor(planted))).toBe(false)
    // Nor is it the session of somebody else, which ends.
    const mallory = await page.signIn('Mallory')
    const again = await page.visitor(mallory.cookie).post('/sign-in', { key })
    expect(cookieOf(again)).not.toBe(mallory.cookie)
    expect((await page.visitor(cookieOf(again)).get('/')).text).toContain('Ada')
    expect(await isSignedIn(mallory)).toBe(false)
    expect(new Set([cookieOf(signedIn), cookieOf(again)]).size).toBe(2)
  })
})

describe('cookies', () => {
  test.for<[address: string, name: string]>([
    ['http://moderation.test', 'moderation_session'],
    ['http://moderation.test:80', 'moderation_session'],
    ['http://localhost:3001', 'moderation_session_3001'],
    ['http://moderation.test/mod', 'moderation_session'],
    ['http://localhost:3001/mod', 'moderation_session_3001'],
    ['https://moderation.test', '__Host-moderation_session'],
    ['https://moderation.test:443', '__Host-moderation_session'],
    ['https://moderation.test:8443', '__Host-moderation_session_8443'],
    ['https://moderation.test/mod', 'moderation_session'],
    ['https://moderation.test:8443/mod', 'moderation_session_8443'],
  ])('at %s, the cookie %s is set, used and removed', async ([address, name]) => {
    const { origin, pathname } = new URL(address)
    const page = await startModerationPage({ origin, prefix: pathname.replace(/\/$/, '') })
    const ada = await page.signIn('Ada')
    expect(ada.cookie).toMatch(new RegExp(`^${name}=[\\w-]{43}$`))
    expect(await isSignedIn(ada)).toBe(true)
    // The checker of pages compares the attributes, which have to be those of the cookie set.
    const left = await ada.post('/sign-out')
    expect(cookieOf(left)).toBe(`${name}=`)
    expect(await isSignedIn(ada)).toBe(false)
  })

  test('two pages on one host do not end the sessions of each other', async () => {
    const databaseUrl = await copyWorld()
    const start = (port: number) =>
      startModerationPage({ databaseUrl, origin: `http://localhost:${port}` })
    const [one, other] = [await start(3001), await start(3002)]
    const ada = await one.signIn('Ada')
    // The browser sends the cookies of one port to the other.
    const { key } = await one.addModerator('Bo')
    const bo = cookieOf(await other.visitor(ada.cookie).post('/sign-in', { key }))
    const browserAt = ({ visitor }: ModerationPage, theirs = bo) =>
      visitor(`${ada.cookie}; ${theirs}`)
    expect((await browserAt(one).get('/')).text).toContain('Ada')
    expect((await browserAt(other).get('/')).text).toContain('Bo')
    // Again, which replaces the session there, and then it is left.
    const again = cookieOf(await browserAt(other).post('/sign-in', { key }))
    expect(await isSignedIn(browserAt(other))).toBe(false)
    expect(await isSignedIn(browserAt(other, again))).toBe(true)
    expect((await browserAt(other, again).post('/sign-out')).status).toBe(303)
    expect(await isSignedIn(browserAt(other, again))).toBe(false)
    expect(await isSignedIn(browserAt(one, again))).toBe(true)
  })

  const planted = (letter: string) => `moderation_session=${letter.repeat(43)}`

  test.for<[what: string, cookies: (own: string) => string[], isFound: boolean]>([
    ['behind one that a sibling host has set', (own) => [planted('a'), own], true],
    ['behind three', (own) => [planted('a'), planted('b'), planted('c'), own], true],
    ['behind four', (own) => [...['a', 'b', 'c', 'd'].map(planted), own], false],
    ['before four', (own) => [own, ...['a', 'b', 'c', 'd'].map(planted)], true],
    ['twice', (own) => [own, own], true],
    [
      'behind others that are no tokens',
      (own) => [...Array(9).fill('moderation_session=x'), own],
      true,
    ],
  ])('the session is found %s: with one statement', async ([, cookies, isFound]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const statements: string[] = []
    page.database.onStatement((sql) => statements.push(sql))
    expect(await isSignedIn(page.visitor(cookies(ada.cookie).join('; ')))).toBe(isFound)
    expect(statements.filter((sql) => sql.includes('operator_sessions.sha256 in'))).toHaveLength(1)
  })

  test('of two valid ones, the first counts, and its use is stored', async () => {
    const page = await startModerationPage()
    const start = freezeClock(Date.parse('2026-03-01T08:00:00Z'))
    const [ada, bo] = [await page.signIn('Ada'), await page.signIn('Bo')]
    const now = freezeClock(start + 60 * minute)
    const first = page.visitor([planted('a'), ada.cookie, bo.cookie].join('; '))
    expect((await first.get('/audit')).text).toContain('<bdi>Ada</bdi>')
    await expect
      .poll(async () => (await sessionsOf(page)).map((row) => Date.parse(row.last_used_at)))
      .toEqual(expect.arrayContaining([start, now]))
    const second = page.visitor([bo.cookie, ada.cookie].join('; '))
    expect((await second.get('/audit')).text).toContain('<bdi>Bo</bdi>')
  })
})

describe('a browser in which somebody is signed in', () => {
  test('signing in ends that session, and no other, each time', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const bo = await page.signIn('Bo')
    const adaElsewhere = page.visitor(cookieOf(await page.post('/sign-in', { key: ada.key })))
    let current = ada.cookie
    // Somebody else, the same person again, and the first one.
    for (const { key, name } of [bo, bo, ada]) {
      const next = cookieOf(await page.visitor(current).post('/sign-in', { key }))
      expect(await isSignedIn(page.visitor(current))).toBe(false)
      expect((await page.visitor(next).get('/audit')).text).toContain(`<bdi>${name}</bdi>`)
      expect(await isSignedIn(adaElsewhere)).toBe(true)
      expect(await isSignedIn(bo)).toBe(true)
      expect(await sessionsOf(page)).toHaveLength(3)
      current = next
    }
  })

  test('a wrong key ends nothing', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    expect((await ada.post('/sign-in', { key: generateKey('moderator').key })).status).toBe(401)
    expect(await isSignedIn(ada)).toBe(true)
  })

  test.for(['/sign-in', '/sign-out'])(
    'with the session of somebody else, which a sibling host has set, %s ends both',
    async (path) => {
      const page = await startModerationPage()
      const [ada, mallory, bo] = [
        await page.signIn('Ada'),
        await page.signIn('Mallory'),
        await page.signIn('Bo'),
      ]
      const browser = page.visitor(`${mallory.cookie}; ${ada.cookie}`)
      const { key } = await page.addModerator('Cy')
      const response = await browser.post(path, { key })
      expect(response.status).toBe(303)
      for (const visitor of [ada, mallory, browser]) expect(await isSignedIn(visitor)).toBe(false)
      expect(await isSignedIn(bo)).toBe(true)
      if (path === '/sign-out') return
      const next = page.visitor(`${mallory.cookie}; ${cookieOf(response)}`)
      expect((await next.get('/audit')).text).toContain('<bdi>Cy</bdi>')
    },
  )
})

test('each decision is recorded with the person who signed in, and the account of the process', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const app = await referenceTo(page, apps.pending)
  await ada.post('/decisions', { app, decision: 'approve' })
  const [entry] = await newestEntries(page, 1)
  expect(entry).toMatchObject({
    action: 'app approve',
    app_id: apps.pending,
    operator: 'root',
    operator_name: 'Ada',
    operator_id: ada.id,
    key_id: null,
  })
})

test('before signing in, a page that exists and one that does not look the same', async () => {
  const page = await startModerationPage()
  const seen: object[] = []
  for (const path of [`/apps/${apps.pending}`, '/apps/999999', '/apps/0', '/apps/x%00']) {
    const { status, headers, text } = await page.get(path)
    const { date: _, 'x-request-id': __, ...others } = headers
    expect(others.location).toBe(`/sign-in?next=${encodeURIComponent(path)}`)
    seen.push({ status, text: text.replace(String(others.location), ''), ...others, location: '' })
  }
  expect(seen).toEqual(seen.map(() => ({ ...seen[0], 'content-length': expect.anything() })))
})

const pages = ['/', '/apps', '/apps/1', '/audit']
test('the forms for a key say whom to ask for one, without a command of one installation', async () => {
  const page = await startModerationPage()
  for (const { text } of [
    await page.get('/sign-in'),
    await page.post('/sign-in', { key: 'x' }),
    await page.post('/decisions', { app: '2@a', decision: 'approve' }),
  ]) {
    expect(textOf(text)).toContain('Ask the operators of this service for a new sign-in key')
    expect(text).not.toContain('apps-service')
  }
})

const forms = ['/decisions', '/restorations', '/removed-reviews']

test.for<[method: string, path: string, status: number]>([
  ...pages.map((path): [string, string, number] => ['GET', path, 303]),
  ...pages.map((path): [string, string, number] => ['HEAD', path, 303]),
  ...forms.map((path): [string, string, number] => ['POST', path, 401]),
  ['GET', '/sign-in', 200],
  ['HEAD', '/sign-in', 200],
  ['GET', '/style.css', 200],
  ['HEAD', '/style.css', 200],
  ['POST', '/sign-out', 303],
  ['GET', '/sign-out', 404],
  ['GET', '/decisions', 404],
  ['GET', '/queue', 404],
  ['GET', '/apps/', 404],
  ['GET', '/Audit', 404],
  ['GET', '/audit/', 404],
  ['GET', '/status', 404],
  ['POST', '/audit', 404],
  ['DELETE', '/apps/1', 404],
  ['PUT', '/decisions', 404],
  ['GET', '/favicon.ico', 404],
  ['GET', '/robots.txt', 404],
])('without a session, %s %s is a %i', async ([method, path, status]) => {
  const page = await startModerationPage()
  const response = await page.request(method, path)
  expect(response.status).toBe(status)
  if (method === 'HEAD') expect(response.text).toBe('')
  if (status === 404) expect(response.text).toContain('<p role="alert"')
})

test('the health checks are JSON, as those of the public service', async () => {
  let draining = false
  const page = await startModerationPage({ isDraining: () => draining })
  for (const path of ['/healthz', '/readyz']) {
    const { status, text } = await page.get(path)
    expect([status, JSON.parse(text).success]).toEqual([200, true])
    expect((await page.request('HEAD', path)).status).toBe(200)
    expect((await page.request('OPTIONS', path)).status).toBe(204)
    expect((await page.post(path)).status).toBe(405)
  }
  draining = true
  expect((await page.get('/healthz')).status).toBe(200)
  const { status, headers } = await page.get('/readyz')
  expect([status, headers.connection]).toEqual([503, 'close'])
})

test.for<[origin: string, prefix: string]>([
  ['https://moderation.test', ''],
  ['https://moderation.test', '/mod/eration'],
  ['http://moderation.test', '/mod'],
])('behind %s%s, cookies, links and redirects have its path', async ([origin, prefix]) => {
  // The checker of pages compares them with the address.
  const page = await startModerationPage({ origin, prefix })
  const ada = await page.signIn('Ada')
  for (const path of pages) expect((await ada.get(path)).status).toBe(200)
  const asked = await page.get('/audit')
  expect(asked.headers.location).toBe(
    `${prefix}/sign-in?next=${encodeURIComponent(`${prefix}/audit`)}`,
  )
  const { headers } = await page.post('/sign-in', { key: ada.key, next: `${prefix}/audit` })
  expect(headers.location).toBe(`${prefix}/audit`)
  expect((await page.post('/sign-in', { key: ada.key, next: '/' })).headers.location).toBe(
    `${prefix}/`,
  )
})
