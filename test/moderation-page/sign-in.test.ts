import { hash } from 'node:crypto'
import { describe, expect, inject, test } from 'vitest'
import { generateKey } from '../../src/accounts/keys.ts'
import { revokeModerator } from '../../src/accounts/moderator-store.ts'
import { freezeClock } from '../support/clock.ts'
import { copyWorld } from '../support/database.ts'
import { problemOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  cookieOf,
  type ModerationPage,
  startModerationPage,
  startWithAda,
  type Visitor,
} from '../support/moderation-page.ts'

/** Signing in and out. session-cookie.test.ts has the names of the cookie. */

const { keys, apps } = inject('world')
const past = '2020-01-01T00:00:00.000Z'
const minute = 60 * 1000
const hour = 60 * minute

const revoke = ({ database }: ModerationPage, id: string) =>
  database.write((runner) => revokeModerator(runner, id, { operator: 'test' }))

const expire = ({ database }: ModerationPage, id: string) =>
  database.write(({ sql }) => sql('operators').where({ id }).update({ expires_at: past }))

const sessionsOf = ({ database }: ModerationPage) =>
  database.read(({ sql }) => sql('operator_sessions'))

/** Who is signed in with these cookies, if anybody is. */
async function whoIs(visitor: Visitor): Promise<string | undefined> {
  const { status, headers, text } = await visitor.get('/audit')
  if (status === 303) expect(headers.location).toMatch(/\/sign-in\?next=/)
  return /<form [^>]*\/sign-out"><bdi>(.*?)<\/bdi>/.exec(text)?.[1]
}

test('a key signs in, and its holder is shown the page that was asked for', async () => {
  const page = await startModerationPage()
  const { key, id } = await page.addModerator('Ada Lovelace')
  const path = `/apps/${apps.pending}?from=mail`
  const asked = await page.get(path)
  expect([asked.status, asked.headers.location]).toEqual([
    303,
    `/sign-in?next=${encodeURIComponent(path)}`,
  ])
  const form = await page.get(String(asked.headers.location))
  expect([form.status, titleOf(form.text)]).toEqual([200, 'Sign in – Moderation'])
  const [next = ''] = valuesOf(form.text, 'next')
  // Pasted with white space.
  const signedIn = await page.post('/sign-in', { key: ` ${key}\n`, next })
  expect([signedIn.status, signedIn.headers.location]).toEqual([303, path])
  expect(await whoIs(page.visitor(cookieOf(signedIn)))).toBe('Ada Lovelace')
  // The use is stored after the response.
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

test('neither the key nor the token is stored or logged, nor is what was typed', async () => {
  const { page, ada } = await startWithAda()
  await ada.get('/')
  await page.get(`/sign-in?next=/&key=${ada.key}`)
  await page.get(`/${ada.key}`)
  await page.post('/decisions', { app: '2@a', decision: 'reject', reason: 'Typed.', key: ada.key })
  const token = ada.cookie.replace(/^.*=/, '')
  const stored = JSON.stringify(
    await page.database.read(async ({ sql }) => [
      await sql('operators'),
      await sql('operator_sessions'),
      await sql('audit'),
    ]),
  )
  for (const text of [stored, page.log.join()])
    for (const secret of [token, ada.key.slice(22, 60), 'Typed.'])
      expect(text).not.toContain(secret)
  expect(stored).toContain(hash('sha256', ada.key))
  expect(stored).toContain(hash('sha256', token))
})

describe('a refused key', () => {
  let page: ModerationPage
  share(async () => {
    page = await startModerationPage()
  })

  const mistyped = (key: string) => key.replace(/.$/, (last) => (last === '0' ? '1' : '0'))

  test.for<{ what: string; makeKey: () => Promise<string> | string; problem: string }>([
    { what: 'an API key', makeKey: () => keys.ada, problem: 'This is not a sign-in key' },
    {
      what: 'mistyped',
      makeKey: async () => mistyped((await page.addModerator('Ada')).key),
      problem: 'This is not a sign-in key',
    },
    {
      what: 'one with the id of another',
      async makeKey() {
        const { id, key } = await page.addModerator('Ada')
        const { sha256 } = generateKey('moderator')
        await page.database.write(({ sql }) => sql('operators').where({ id }).update({ sha256 }))
        return key
      },
      problem: 'is not known',
    },
    {
      what: 'expired',
      makeKey: async () => (await page.addModerator('Ada', past)).key,
      problem: `expired at ${past}`,
    },
    {
      what: 'revoked',
      async makeKey() {
        const { id, key } = await page.addModerator('Ada')
        await revoke(page, id)
        return key
      },
      problem: 'was revoked',
    },
  ])('that is $what: the form says why, and nobody is signed in', async ({ makeKey, problem }) => {
    const response = await page.post('/sign-in', { key: await makeKey(), next: '/audit' })
    expect([response.status, titleOf(response.text)]).toEqual([401, 'Sign in – Moderation'])
    expect(problemOf(response.text)).toContain(problem)
    expect(response.headers['set-cookie']).toBeUndefined()
    // The second attempt leads to the same page.
    expect(valuesOf(response.text, 'next')).toEqual(['/audit'])
    expect(await sessionsOf(page)).toEqual([])
  })

  test('ends no session of the browser', async () => {
    const { ada } = await startWithAda()
    expect((await ada.post('/sign-in', { key: 'wrong' })).status).toBe(401)
    expect(await whoIs(ada)).toBe('Ada')
  })
})

describe('refused keys and tokens', () => {
  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
  const attacker = from('192.0.2.1')
  const wrongToken = `moderation_session=${'A'.repeat(43)}`

  test.for<{ what: string; refuse: (page: ModerationPage) => Promise<{ status: number }> }>([
    {
      what: 'keys',
      refuse: (page) => page.post('/sign-in', { key: 'wrong' }, attacker),
    },
    {
      what: 'keys of forms',
      refuse: (page) =>
        page.post('/decisions', { app: '2@a', decision: 'approve', key: 'wrong' }, attacker),
    },
    { what: 'tokens', refuse: (page) => page.visitor(wrongToken).get('/', attacker) },
  ])('over the limit are a 429, for that address only: $what', async ({ refuse }) => {
    const { page, ada } = await startWithAda({ refusedKeyLimit: 3, trustProxy: 1 })
    for (const _ of [1, 2, 3]) expect((await refuse(page)).status).not.toBe(429)
    expect((await refuse(page)).status).toBe(429)
    const refused = await page.post('/sign-in', { key: 'wrong' }, attacker)
    expect([refused.status, refused.headers['set-cookie']]).toEqual([429, undefined])
    expect(textOf(refused.text)).toMatch(/Too many keys from this address were refused/)
    expect((await page.post('/sign-in', { key: 'x' }, from('192.0.2.2'))).status).toBe(401)
    // A form without a key counts nothing.
    const form = { app: '2@a', decision: 'approve' }
    expect((await page.post('/decisions', form, attacker)).status).toBe(401)

    // Valid sessions and keys are accepted, which ends no limit.
    expect((await ada.get('/', attacker)).status).toBe(200)
    const bo = await page.addModerator('Bo')
    expect((await page.post('/sign-in', { key: bo.key }, attacker)).status).toBe(303)
    await revoke(page, bo.id)
    expect((await page.post('/sign-in', { key: bo.key }, attacker)).status).toBe(429)
    expect(await sessionsOf(page)).toHaveLength(1)
  })

  test.for([
    { what: 'a word', key: 'open sesame', statements: 0 },
    { what: 'a key that was never issued', key: generateKey('moderator').key, statements: 1 },
  ])('over the limit, $what takes $statements statements', async ({ key, statements }) => {
    const page = await startModerationPage({ refusedKeyLimit: 1 })
    for (const _ of [1, 2]) await page.post('/sign-in', { key: 'x' })
    const seen: string[] = []
    page.database.onStatement((sql) => seen.push(sql))
    expect((await page.post('/sign-in', { key })).status).toBe(429)
    expect(seen).toHaveLength(statements)
  })
})

describe('a session', () => {
  test('ends twelve hours after its last use, which is stored every five minutes', async () => {
    const page = await startModerationPage()
    const start = freezeClock(Date.parse('2026-03-01T08:00:00Z'))
    const ada = await page.signIn('Ada')
    const visitAt = (time: number) => {
      freezeClock(start + time)
      return whoIs(ada)
    }
    const usedAt = async () =>
      (await sessionsOf(page)).map(({ last_used_at }) => Date.parse(last_used_at) - start)

    for (let request = 0; request < 5; request++) expect(await visitAt(5 * minute - 1)).toBe('Ada')
    // A write after which an earlier one is stored, too.
    await page.addModerator('Bo')
    expect(await usedAt()).toEqual([0])
    let last = 0
    for (const time of [5 * minute, 12 * hour, 23 * hour]) {
      expect(await visitAt(time)).toBe('Ada')
      await expect.poll(usedAt).toEqual([time])
      last = time
    }
    expect(await visitAt(last + 12 * hour + 1)).toBeUndefined()
    expect(await visitAt(last + 12 * hour)).toBe('Ada')
    await expect.poll(usedAt).toEqual([last + 12 * hour])

    // The row stays until the next sign-in removes it.
    expect(await visitAt(60 * hour)).toBeUndefined()
    expect(await sessionsOf(page)).toHaveLength(1)
    await page.signIn('Bo')
    expect(await sessionsOf(page)).toHaveLength(1)
  })

  test('ends on all servers of a database', async () => {
    const databaseUrl = await copyWorld()
    const { ada } = await startWithAda({ databaseUrl })
    const other = await startModerationPage({ databaseUrl })
    const there = other.visitor(ada.cookie)
    expect(await whoIs(there)).toBe('Ada')
    expect((await there.post('/sign-out')).status).toBe(303)
    expect(await whoIs(ada)).toBeUndefined()
  })

  test.for([
    { what: 'revoked', end: revoke },
    { what: 'expired', end: expire },
  ])('ends at the next request if its key is $what', async ({ end }) => {
    const { page, ada } = await startWithAda()
    const bo = await page.signIn('Bo')
    await end(page, ada.id)
    expect([await whoIs(ada), await whoIs(bo)]).toEqual([undefined, 'Bo'])
  })

  test('is left by signing out, and its cookie is removed', async () => {
    const { page, ada } = await startWithAda()
    const elsewhere = page.visitor(cookieOf(await page.post('/sign-in', { key: ada.key })))
    const left = await ada.post('/sign-out')
    expect([left.status, left.headers.location]).toEqual([303, '/sign-in'])
    expect(String(left.headers['set-cookie'])).toMatch(
      /^moderation_session=;.*Expires=Thu, 01 Jan 1970/,
    )
    expect([await whoIs(ada), await whoIs(elsewhere)]).toEqual([undefined, 'Ada'])
    // Once more, and without any session.
    expect((await ada.post('/sign-out')).status).toBe(303)
    expect((await page.post('/sign-out')).status).toBe(303)
  })
})

describe('a browser with other cookies', () => {
  const planted = (letter: string) => `moderation_session=${letter.repeat(43)}`
  const others = (count: number) => ['a', 'b', 'c', 'd'].slice(0, count).map(planted)

  test.for<{ what: string; cookies: (own: string) => string[]; isFound: boolean }>([
    { what: 'behind three of other hosts', cookies: (own) => [...others(3), own], isFound: true },
    { what: 'behind four', cookies: (own) => [...others(4), own], isFound: false },
    { what: 'before four', cookies: (own) => [own, ...others(4)], isFound: true },
    {
      what: 'behind others that are no tokens',
      cookies: (own) => [...Array(9).fill('moderation_session=x'), own],
      isFound: true,
    },
  ])('finds its session $what: $isFound, with one statement', async ({ cookies, isFound }) => {
    const { page, ada } = await startWithAda()
    const statements: string[] = []
    page.database.onStatement((sql) => statements.push(sql))
    const found = await whoIs(page.visitor(cookies(ada.cookie).join('; ')))
    expect(found).toBe(isFound ? 'Ada' : undefined)
    expect(statements.filter((sql) => sql.includes('operator_sessions.sha256 in'))).toHaveLength(1)
  })

  test('uses the first of two valid sessions, and its use is stored', async () => {
    const page = await startModerationPage()
    const start = freezeClock(Date.parse('2026-03-01T08:00:00Z'))
    const ada = await page.signIn('Ada')
    freezeClock(start + minute)
    const bo = await page.signIn('Bo')
    const now = freezeClock(start + hour)
    const cookies = (...all: string[]) => page.visitor(all.join('; '))
    expect(await whoIs(cookies(planted('a'), ada.cookie, bo.cookie))).toBe('Ada')
    await expect
      .poll(async () => (await sessionsOf(page)).map((row) => Date.parse(row.last_used_at)).sort())
      .toEqual([start + minute, now])
    expect(await whoIs(cookies(bo.cookie, ada.cookie))).toBe('Bo')
  })

  test('gets a new session when somebody signs in, which ends the former one alone', async () => {
    const { page, ada } = await startWithAda()
    const bo = await page.signIn('Bo')
    const adaElsewhere = page.visitor(cookieOf(await page.post('/sign-in', { key: ada.key })))
    let current = ada.cookie
    // Somebody else, the same person again, and the first one.
    for (const { key, name } of [bo, bo, ada]) {
      const next = cookieOf(await page.visitor(current).post('/sign-in', { key }))
      expect(await whoIs(page.visitor(current))).toBeUndefined()
      expect(await whoIs(page.visitor(next))).toBe(name)
      expect([await whoIs(adaElsewhere), await whoIs(bo)]).toEqual(['Ada', 'Bo'])
      current = next
    }
    // Nor is a token accepted that was set before.
    const signedIn = await page.visitor(planted('p')).post('/sign-in', { key: ada.key })
    expect(cookieOf(signedIn)).not.toBe(planted('p'))
    expect(await whoIs(page.visitor(planted('p')))).toBeUndefined()
  })

  test.for(['/sign-in', '/sign-out'])(
    'with the session of somebody else, which a sibling host has set, %s ends both',
    async (path) => {
      const { page, ada } = await startWithAda()
      const [mallory, bo] = [await page.signIn('Mallory'), await page.signIn('Bo')]
      const browser = page.visitor(`${mallory.cookie}; ${ada.cookie}`)
      const response = await browser.post(path, { key: bo.key })
      expect(response.status).toBe(303)
      for (const visitor of [ada, mallory, browser]) expect(await whoIs(visitor)).toBeUndefined()
      expect(await whoIs(bo)).toBe('Bo')
      if (path === '/sign-out') return
      expect(await whoIs(page.visitor(`${mallory.cookie}; ${cookieOf(response)}`))).toBe('Bo')
    },
  )

  test('keeps the sessions of two pages on one host apart', async () => {
    const databaseUrl = await copyWorld()
    const at = (port: number) => ({ databaseUrl, origin: `http://localhost:${port}` })
    const { page: one, ada } = await startWithAda(at(3001))
    const other = await startModerationPage(at(3002))
    // The browser sends the cookies of one port to the other.
    const { key } = await one.addModerator('Bo')
    const bo = cookieOf(await other.visitor(ada.cookie).post('/sign-in', { key }))
    const both = `${ada.cookie}; ${bo}`
    expect(await whoIs(one.visitor(both))).toBe('Ada')
    expect(await whoIs(other.visitor(both))).toBe('Bo')
    expect((await other.visitor(both).post('/sign-out')).status).toBe(303)
    expect(await whoIs(other.visitor(both))).toBeUndefined()
    expect(await whoIs(one.visitor(both))).toBe('Ada')
  })
})

describe('without a session', () => {
  let page: ModerationPage
  share(async () => {
    page = await startModerationPage()
  })

  test.for([
    ...['/', '/apps', '/apps/1', '/audit', '/next'].map((path) => ({
      method: 'GET',
      path,
      status: 303,
    })),
    ...['/decisions', '/reopenings', '/restorations', '/removed-reviews'].map((path) => ({
      method: 'POST',
      path,
      status: 401,
    })),
    { method: 'GET', path: '/sign-in', status: 200 },
    { method: 'GET', path: '/style.css', status: 200 },
    { method: 'POST', path: '/sign-out', status: 303 },
    { method: 'GET', path: '/sign-out', status: 404 },
    { method: 'GET', path: '/decisions', status: 404 },
    { method: 'GET', path: '/apps/', status: 404 },
    { method: 'GET', path: '/Audit', status: 404 },
    { method: 'POST', path: '/audit', status: 404 },
    { method: 'DELETE', path: '/apps/1', status: 404 },
    { method: 'GET', path: '/favicon.ico', status: 404 },
  ])('$method $path is a $status', async ({ method, path, status }) => {
    expect((await page.request(method, path)).status).toBe(status)
    if (method === 'GET') expect((await page.request('HEAD', path)).status).toBe(status)
  })

  test('a page that exists and one that does not look the same', async () => {
    const seen: object[] = []
    for (const path of [`/apps/${apps.pending}`, '/apps/999999', '/apps/0', '/apps/x%00']) {
      const { status, headers, text } = await page.get(path)
      const { date: _, 'x-request-id': __, ...others } = headers
      expect(others.location).toBe(`/sign-in?next=${encodeURIComponent(path)}`)
      const shown = text.replace(String(others.location), '')
      seen.push({ status, text: shown, ...others, location: '' })
    }
    expect(seen).toEqual(seen.map(() => ({ ...seen[0], 'content-length': expect.anything() })))
  })
})

test('the health checks are JSON, as those of the public service', async () => {
  let draining = false
  const page = await startModerationPage({ isDraining: () => draining })
  for (const path of ['/healthz', '/readyz']) {
    const { status, text } = await page.get(path)
    expect([status, JSON.parse(text).success]).toEqual([200, true])
    expect((await page.post(path)).status).toBe(405)
  }
  draining = true
  expect((await page.get('/healthz')).status).toBe(200)
  const { status, headers } = await page.get('/readyz')
  expect([status, headers.connection]).toEqual([503, 'close'])
})

test.for([
  { origin: 'https://moderation.test', prefix: '' },
  { origin: 'https://moderation.test', prefix: '/mod/eration' },
  { origin: 'http://moderation.test', prefix: '/mod' },
])('behind $origin$prefix, cookies, links and redirects have its path', async (address) => {
  // The checker of pages compares them with the address.
  const { page, ada } = await startWithAda(address)
  const { prefix } = address
  for (const path of ['/', '/apps', '/apps/1', '/audit'])
    expect((await ada.get(path)).status).toBe(200)
  expect((await page.get('/audit')).headers.location).toBe(
    `${prefix}/sign-in?next=${encodeURIComponent(`${prefix}/audit`)}`,
  )
  for (const { next, location } of [
    { next: `${prefix}/audit`, location: `${prefix}/audit` },
    { next: '//evil.example', location: `${prefix}/` },
  ])
    expect((await page.post('/sign-in', { key: ada.key, next })).headers.location).toBe(location)
  // The attributes of the cookie that is removed are those of the one that was set.
  expect(cookieOf(await ada.post('/sign-out'))).toBe(ada.cookie.replace(/=.*/, '='))
})
