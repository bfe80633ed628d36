import { describe, expect, inject, test } from 'vitest'
import { freezeClock } from '../support/clock.ts'
import { formOf, problemOf, reportOf, titleOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  cookieOf,
  decide,
  type Fields,
  follow,
  type ModerationPage,
  newestEntries,
  newsOf,
  referenceTo,
  startModerationPage,
  startWithAda,
  stateOf,
  submit,
} from '../support/moderation-page.ts'

/** A form that was filled in while a session ended goes on with what was typed. */

const { apps, keys } = inject('world')
const hour = 60 * 60 * 1000

const browserAfter = (page: ModerationPage, response: Parameters<typeof cookieOf>[0]) =>
  page.visitor(cookieOf(response))

test('a decision after the session is asked for the key, made then, and leads on', async () => {
  const { page, ada } = await startWithAda()
  const ids = await addApps(page, [{}, {}])
  const view = 'queue=pending&developer=Bob&category=games'
  const { text } = await ada.get(`/apps/${ids[0]}?${view}`)
  freezeClock(Date.now() + 13 * hour)
  const before = await newestEntries(page, 1)
  const asked = await decide(ada, text, 'reject', { reason: 'It "sank" & <more>.' })
  expect([asked.status, titleOf(asked.text), problemOf(asked.text)]).toEqual([
    401,
    'Sign in to go on – Moderation',
    'Your session has ended.',
  ])
  expect(asked.headers['set-cookie']).toBeUndefined()
  const sent = formOf(text, '/decisions')
  const typed = { reason: ['It "sank" & <more>.'], decision: ['reject'], key: [''] }
  expect(formOf(asked.text, '/decisions')).toEqual({
    action: sent?.action,
    fields: { ...sent?.fields, ...typed },
  })
  expect(await newestEntries(page, 1)).toEqual(before)

  const done = await submit(ada, asked.text, '/decisions', { key: ` ${ada.key}\n` })
  expect(done.headers.location).toBe(`/apps/${ids[1]}?${view}&decided=${ids[0]}`)
  expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({
    status: 'rejected',
    rejection_reason: 'It "sank" & <more>.',
  })
  // The next page and decision need no key.
  const browser = browserAfter(page, done)
  const next = (await follow(browser, done)).text
  expect(reportOf(next)).toContain('App 0')
  expect((await decide(browser, next, 'approve')).status).toBe(303)
})

type Form = {
  what: string
  path: string
  fields: (page: ModerationPage) => Promise<Fields>
  location: string
}

describe.for<Form>([
  {
    what: 'several decisions in a queue',
    path: '/decisions?queue=pending&developer=Ada',
    fields: async (page) => ({
      app: [await referenceTo(page, apps.pending), await referenceTo(page, apps.bobsPending)],
      decision: 'approve',
      reason: '',
    }),
    location: `/?queue=pending&developer=Ada&decided=${apps.pending}+${apps.bobsPending}`,
  },
  {
    what: 'a decision on an app',
    path: '/decisions',
    fields: async (page) => ({
      app: await referenceTo(page, apps.pending),
      seen: '1',
      decision: 'reject',
      reason: 'No.',
    }),
    location: `/apps/${apps.pending}?decided=${apps.pending}`,
  },
  {
    what: 'an app that goes back to the queue',
    path: '/reopenings',
    fields: async (page) => ({ reopened: await referenceTo(page, apps.approved) }),
    location: `/?queue=pending&decided=${apps.approved}`,
  },
  {
    what: 'an app to be restored',
    path: '/restorations',
    fields: async (page) => ({ app: await referenceTo(page, apps.deleted) }),
    location: `/apps/${apps.deleted}?decided=${apps.deleted}`,
  },
  {
    what: 'a review to be removed',
    path: '/removed-reviews',
    fields: async () => ({ app: String(apps.approved), review: '1', reason: 'An advert.' }),
    location: `/apps/${apps.approved}?decided=${apps.approved}`,
  },
])('$what, without a session,', ({ path, fields, location }) => {
  const start = async () => {
    const page = await startModerationPage()
    const asked = await page.post(path, await fields(page))
    expect(asked.status).toBe(401)
    return { page, asked, action: path.split('?', 1).join() }
  }

  test('is done once with the key of another moderator, in that name', async () => {
    const { page, asked, action } = await start()
    const bo = await page.addModerator('Bo')
    const done = await submit(page, asked.text, action, { key: bo.key })
    expect([done.status, done.headers.location]).toEqual([303, location])
    const newest = await newestEntries(page, 1)
    expect(newest).toMatchObject([
      { operator_name: 'Bo', operator_id: bo.id, operator: 'root', key_id: null },
    ])
    const again = await submit(browserAfter(page, done), asked.text, action, { key: bo.key })
    expect([303, 400, 409]).toContain(again.status)
    expect(await newestEntries(page, 1)).toEqual(newest)
  })

  test('does nothing with a wrong key, and asks again', async () => {
    const { page, asked, action } = await start()
    const expired = await page.addModerator('Ada', '2020-01-01T00:00:00.000Z')
    const before = await newestEntries(page, 1)
    for (const key of ['open sesame', keys.ada, expired.key, '']) {
      const refused = await submit(page, asked.text, action, { key })
      expect([refused.status, titleOf(refused.text)]).toEqual([
        401,
        'Sign in to go on – Moderation',
      ])
      expect(refused.headers['set-cookie']).toBeUndefined()
      // The same form, without the wrong key.
      expect(formOf(refused.text, action)).toEqual(formOf(asked.text, action))
    }
    expect(await newestEntries(page, 1)).toEqual(before)
  })

  test('does nothing if another site sends it with a key', async () => {
    const { page, asked, action } = await start()
    const { key } = await page.addModerator('Bo')
    const before = await newestEntries(page, 1)
    const form = formOf(asked.text, action)
    const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    const refused = await page.post(form?.action ?? '', { ...form?.fields, key }, { headers })
    expect([refused.status, refused.headers['set-cookie']]).toEqual([403, undefined])
    expect(await newestEntries(page, 1)).toEqual(before)
  })
})

test('the session begins even if the form is refused then', async () => {
  const { page, ada } = await startWithAda()
  const { text } = await ada.get(`/apps/${apps.pending}`)
  await ada.post('/sign-out')
  const asked = await decide(ada, text, 'reject', { reason: 'It sank.' })
  const bo = await page.signIn('Bo')
  await decide(bo, (await bo.get(`/apps/${apps.pending}`)).text, 'approve')
  const refused = await submit(ada, asked.text, '/decisions', { key: ada.key })
  expect([refused.status, valuesOf(refused.text, 'reason')]).toEqual([409, ['It sank.']])
  expect(newsOf(refused.text)).toMatch(/^Approved by Bo/)
  expect((await browserAfter(page, refused).get('/')).status).toBe(200)
})

test('the key of a form counts more than a valid session, and ends it', async () => {
  const { page, ada } = await startWithAda()
  const bo = await page.addModerator('Bo')
  const app = await referenceTo(page, apps.pending)
  const done = await ada.post('/decisions', { app, decision: 'approve', key: bo.key })
  expect(done.status).toBe(303)
  expect(await newestEntries(page, 1)).toMatchObject([{ operator_name: 'Bo' }])
  expect((await ada.get('/')).status).toBe(303)
  expect((await browserAfter(page, done).get('/')).status).toBe(200)
})
