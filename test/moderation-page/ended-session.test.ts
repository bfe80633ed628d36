import { describe, expect, inject, test } from 'vitest'
import { revokeModerator } from '../../src/accounts/moderator-store.ts'
import { freezeClock } from '../support/clock.ts'
import { formOf, problemOf, reportOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  cookieOf,
  decide,
  type Fields,
  follow,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startModerationPage,
  stateOf,
  type Visitor,
} from '../support/moderation-page.ts'

/** A form that was filled in while a session ended goes on with what was typed. */

const { apps, keys } = inject('world')
const hour = 60 * 60 * 1000

const ends: [
  how: string,
  end: (page: ModerationPage, moderator: Moderator) => Promise<unknown>,
  isKeyValid: boolean,
][] = [
  ['expired', async () => freezeClock(Date.now() + 13 * hour), true],
  ['was left elsewhere', (_, moderator) => moderator.post('/sign-out'), true],
  [
    'ended with its key',
    ({ database }, { id }) =>
      database.write((runner) => revokeModerator(runner, id, { operator: 'test' })),
    false,
  ],
]

/** Sends the form of the page that asks for a key. */
async function goOn(visitor: Visitor, page: string, path: string, key: string) {
  const form = formOf(page, path)
  expect(form?.fields.key).toEqual([''])
  return visitor.post(form?.action ?? '', { ...form?.fields, key })
}

const browserAfter = (page: ModerationPage, response: Parameters<typeof cookieOf>[0]) =>
  page.visitor(cookieOf(response))

describe.for(ends)('a session that %s', ([, end, isKeyValid]) => {
  test('is asked for at a decision, which is made then, and leads on', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const ids = await addApps(page, [{}, {}])
    const view = 'queue=pending&developer=Bob&category=games'
    const { text } = await ada.get(`/apps/${ids[0]}?${view}`)
    await end(page, ada)
    const before = await newestEntries(page, 1)
    const asked = await decide(ada, text, 'reject', { reason: 'It "sank" & <more>.' })
    expect([asked.status, titleOf(asked.text), problemOf(asked.text)]).toEqual([
      401,
      'Sign in to go on – Moderation',
      'Your session has ended.',
    ])
    expect(asked.headers['set-cookie']).toBeUndefined()
    // What was typed is in the form; the key is not.
    const form = formOf(asked.text, '/decisions')
    const sent = formOf(text, '/decisions')
    expect(form).toEqual({
      action: sent?.action,
      fields: {
        ...sent?.fields,
        reason: ['It "sank" & <more>.'],
        decision: ['reject'],
        key: [''],
      },
    })
    expect(await newestEntries(page, 1)).toEqual(before)
    expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'pending' })

    const { key } = isKeyValid ? ada : await page.addModerator('Ada')
    const done = await goOn(ada, asked.text, '/decisions', ` ${key}\n`)
    expect(done.headers.location).toBe(`/apps/${ids[1]}?${view}&decided=${ids[0]}`)
    expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({
      status: 'rejected',
      rejection_reason: 'It "sank" & <more>.',
    })
    // The next page needs no key any more, nor does the next decision.
    const browser = browserAfter(page, done)
    const next = (await follow(browser, done)).text
    expect(reportOf(next)).toBe('Rejected App 0. 1 waits.')
    expect((await decide(browser, next, 'approve')).status).toBe(303)
    expect(await stateOf(page, ids[1] ?? 0)).toMatchObject({ status: 'approved' })
  })
})

/** Forms, and whether they have done what they say. */
const forms: [
  what: string,
  form: (page: ModerationPage) => Promise<{ path: string; fields: Fields }>,
  isDone: (page: ModerationPage) => Promise<boolean>,
  location: string,
][] = [
  [
    'several decisions in a queue',
    async (page) => ({
      path: '/decisions?queue=pending&developer=Ada',
      fields: {
        app: [await referenceTo(page, apps.pending), await referenceTo(page, apps.bobsPending)],
        decision: 'approve',
        reason: '',
      },
    }),
    async (page) => (await stateOf(page, apps.bobsPending))?.status === 'approved',
    `/?queue=pending&developer=Ada&decided=${apps.pending}+${apps.bobsPending}`,
  ],
  [
    'a decision on an app',
    async (page) => ({
      path: '/decisions',
      fields: {
        app: await referenceTo(page, apps.pending),
        seen: '1',
        decision: 'reject',
        reason: 'No.',
      },
    }),
    async (page) => (await stateOf(page, apps.pending))?.status === 'rejected',
    `/apps/${apps.pending}?decided=${apps.pending}`,
  ],
  [
    'an app to be restored',
    async (page) => ({
      path: '/restorations',
      fields: { app: await referenceTo(page, apps.deleted) },
    }),
    async (page) => (await stateOf(page, apps.deleted))?.deleted_at === null,
    `/apps/${apps.deleted}?decided=${apps.deleted}`,
  ],
  [
    'a review to be removed',
    async () => ({
      path: '/removed-reviews',
      fields: { app: String(apps.approved), review: '1', reason: 'An advert.' },
    }),
    async ({ database }) =>
      (await database.read(({ sql }) => sql('reviews').where({ id: 1 }))).length === 0,
    `/apps/${apps.approved}?decided=${apps.approved}`,
  ],
]

describe.for(forms)('%s without a session', ([, formIn, isDone, location]) => {
  const start = async () => {
    const page = await startModerationPage()
    const { path, fields } = await formIn(page)
    const asked = await page.post(path, fields)
    expect(asked.status).toBe(401)
    expect(await isDone(page)).toBe(false)
    return { page, asked, path: path.split('?', 1).join() }
  }

  test('goes on with the key of another moderator, in that name', async () => {
    const { page, asked, path } = await start()
    const bo = await page.addModerator('Bo')
    const done = await goOn(page, asked.text, path, bo.key)
    expect([done.status, done.headers.location, await isDone(page)]).toEqual([303, location, true])
    expect(await newestEntries(page, 1)).toMatchObject([
      { operator_name: 'Bo', operator_id: bo.id, operator: 'root', key_id: null },
    ])
    expect((await browserAfter(page, done).get('/audit')).text).toContain('<bdi>Bo</bdi>')
  })

  test.for<
    [what: string, key: (page: ModerationPage) => string | Promise<string>, message: string]
  >([
    ['a word', () => 'open sesame', 'This is not a sign-in key'],
    ['an API key', () => keys.ada, 'This is not a sign-in key'],
    [
      'an expired key',
      async (page) => (await page.addModerator('Ada', '2020-01-01T00:00:00.000Z')).key,
      'expired at',
    ],
  ])('does nothing with %s, and asks again', async ([, makeKey, message]) => {
    const { page, asked, path } = await start()
    const wrong = await makeKey(page)
    const before = await newestEntries(page, 1)
    const refused = await goOn(page, asked.text, path, wrong)
    expect([refused.status, titleOf(refused.text)]).toEqual([401, 'Sign in to go on – Moderation'])
    expect(problemOf(refused.text)).toContain(message)
    expect(refused.headers['set-cookie']).toBeUndefined()
    // The same form, without the wrong key.
    expect(formOf(refused.text, path)).toEqual(formOf(asked.text, path))
    expect(refused.text).not.toContain(wrong)
    expect([await newestEntries(page, 1), await isDone(page)]).toEqual([before, false])
    // Without any key, it asks again, too.
    const empty = await goOn(page, refused.text, path, '')
    expect([empty.status, formOf(empty.text, path)]).toEqual([401, formOf(asked.text, path)])
    // A right key goes on.
    const { key } = await page.addModerator('Ada')
    const done = await goOn(page, empty.text, path, key)
    expect([done.status, await isDone(page)]).toEqual([303, true])
  })

  test('does nothing if another site sends it with a key', async () => {
    const { page, asked, path } = await start()
    const { key } = await page.addModerator('Bo')
    const form = formOf(asked.text, path)
    const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    const fields = { ...form?.fields, key }
    const refused = await page.post(form?.action ?? '', fields, { headers })
    expect([refused.status, refused.headers['set-cookie'], await isDone(page)]).toEqual([
      403,
      undefined,
      false,
    ])
  })

  test('does it once, if its last page is sent again', async () => {
    const { page, asked, path } = await start()
    const { key } = await page.addModerator('Ada')
    const done = await goOn(page, asked.text, path, key)
    const before = await newestEntries(page, 1)
    const again = await goOn(browserAfter(page, done), asked.text, path, key)
    expect([303, 400, 409]).toContain(again.status)
    expect(await newestEntries(page, 1)).toEqual(before)
  })
})

test('a form that is wrong is asked for a key first, and is shown again then', async () => {
  const page = await startModerationPage()
  const { key } = await page.addModerator('Ada')
  const app = await referenceTo(page, apps.pending)
  const asked = await page.post('/decisions?queue=pending&developer=Ada', {
    app,
    decision: 'reject',
  })
  expect(asked.status).toBe(401)
  const refused = await goOn(page, asked.text, '/decisions', key)
  expect([refused.status, problemOf(refused.text)]).toEqual([
    400,
    'A reason must have 1 to 1000 characters, not 0.',
  ])
  const browser = browserAfter(page, refused)
  const done = await decide(browser, refused.text, 'reject', { app, reason: 'No.' })
  expect(reportOf((await follow(browser, done)).text)).toBe('Rejected Cloud Atlas. 0 wait.')
})

test('an app that was changed while somebody signed in is not decided', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const { text } = await ada.get(`/apps/${apps.pending}`)
  await ada.post('/sign-out')
  const asked = await decide(ada, text, 'reject', { reason: 'It sank.' })
  const bo = await page.signIn('Bo')
  await decide(bo, (await bo.get(`/apps/${apps.pending}`)).text, 'approve')
  const refused = await goOn(ada, asked.text, '/decisions', ada.key)
  expect([refused.status, valuesOf(refused.text, 'reason')]).toEqual([409, ['It sank.']])
  expect(textOf(refused.text)).toMatch(/Changed since you looked Approved by Bo/)
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'approved' })
  // The session has begun, whatever became of the form.
  expect((await browserAfter(page, refused).get('/')).status).toBe(200)
})

test('a valid session and the key of somebody else: the key counts, and ends that session', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const bo = await page.addModerator('Bo')
  const app = await referenceTo(page, apps.pending)
  const done = await ada.post('/decisions', { app, decision: 'approve', key: bo.key })
  expect(done.status).toBe(303)
  expect(await newestEntries(page, 1)).toMatchObject([{ operator_name: 'Bo' }])
  expect((await ada.get('/')).status).toBe(303)
  expect((await browserAfter(page, done).get('/')).status).toBe(200)
})

test('wrong keys in these forms count in the same limit as those of the sign-in page', async () => {
  const page = await startModerationPage({ refusedKeyLimit: 2 })
  const app = await referenceTo(page, apps.pending)
  const form = { app, decision: 'approve' }
  for (const status of [401, 401, 429, 429])
    expect((await page.post('/decisions', { ...form, key: 'wrong' })).status).toBe(status)
  expect((await page.post('/sign-in', { key: 'wrong' })).status).toBe(429)
  // Without a key, nothing is counted; a right one is accepted.
  expect((await page.post('/decisions', form)).status).toBe(401)
  const { key } = await page.addModerator('Ada')
  expect((await page.post('/decisions', { ...form, key })).status).toBe(303)
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'approved' })
})

test('neither the key nor what was typed is logged', async () => {
  const page = await startModerationPage()
  const { key } = await page.addModerator('Ada')
  const app = await referenceTo(page, apps.pending)
  for (const typed of ['wrong', key])
    await page.post('/decisions', { app, decision: 'reject', reason: 'Secret.', key: typed })
  expect(page.log.join()).not.toContain('Secret')
  expect(page.log.join()).not.toContain(key.slice(22, 60))
})
