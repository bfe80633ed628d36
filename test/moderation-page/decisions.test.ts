import { expect, inject, test } from 'vitest'
import { expectStatuses } from '../support/check.ts'
import { expectConsistent } from '../support/consistency.ts'
import { linksOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  type ModerationPage,
  newestEntries,
  referenceTo,
  startModerationPage,
  stateOf,
} from '../support/moderation-page.ts'
import { startService } from '../support/service.ts'

const { apps, keys } = inject('world')
const [adasKey, bobsKey] = [keys.ada, keys.bob]
const missing = 999

/** The public service and the page on one database, and Ada, who has signed in. */
async function startBoth() {
  const service = await startService()
  const page = await startModerationPage({ databaseUrl: service.databaseUrl })
  return { service, page, ada: await page.signIn('Ada') }
}

const findApp = (text: string): string => valuesOf(text, 'app')[0] ?? ''

test('approves several selected apps, and lists each result with a link', async () => {
  const { service, page, ada } = await startBoth()
  const queue = (await ada.get('/')).text
  const { status, text } = await ada.post('/decisions', {
    app: valuesOf(queue, 'app'),
    decision: 'approve',
    // Filled in, and then Approve was chosen.
    reason: 'Not needed.',
  })
  expect([status, titleOf(text)]).toEqual([200, 'Decided 2 of 2 – Moderation'])
  expect(textOf(text)).toMatch(
    /Cloud Atlas \(2\) is approved now Night Train \(6\) is approved now Go to the queue/,
  )
  expect(linksOf(text)).toEqual(
    expect.arrayContaining([
      ['Cloud Atlas', `/apps/${apps.pending}`],
      ['Night Train', `/apps/${apps.bobsPending}`],
    ]),
  )
  for (const id of [apps.pending, apps.bobsPending])
    expect((await service.get(`/apps/${id}`)).status).toBe(200)
  expect(textOf((await ada.get('/')).text)).toContain('Nothing waits here.')
  await expectConsistent(page.database)
})

test('rejects several with one reason, each on its own: a refusal does not affect the others', async () => {
  const { service, page, ada } = await startBoth()
  const changed = await referenceTo(page, apps.approved)
  await service.request('PUT', `/apps/${apps.approved}`, {
    key: adasKey,
    json: { name: 'Tide Table' },
  })
  const chosen = [
    changed,
    await referenceTo(page, apps.pending),
    await referenceTo(page, apps.rejected),
    await referenceTo(page, apps.deleted),
    `${missing}@a`,
    await referenceTo(page, apps.bobs),
  ]
  const { status, text } = await ada.post('/decisions', {
    app: chosen,
    decision: 'reject',
    reason: '  The link is dead. ',
  })
  expect([status, titleOf(text)]).toEqual([200, 'Decided 2 of 6 – Moderation'])
  const shown = textOf(text)
  expect(shown).toContain('Cloud Atlas (2) is rejected now')
  expect(shown).toMatch(/Nothing was decided: app 1 has changed since revision \w+/)
  expect(shown).toContain(`Nothing was decided: app ${apps.rejected} is already rejected`)
  expect(shown).toContain(`Nothing was decided: app ${apps.deleted} is deleted now`)
  expect(shown).toContain(`Nothing was decided: there is no app ${missing}`)
  expect(shown).toContain('Bird Song (5) is rejected now')
  expect(await stateOf(page, apps.pending)).toMatchObject({
    status: 'rejected',
    rejection_reason: 'The link is dead.',
  })
  expect(await stateOf(page, apps.approved)).toMatchObject({ status: 'approved' })
  // Taken down at once, and its owner reads why.
  expect((await service.get(`/apps/${apps.bobs}`)).status).toBe(404)
  const { body } = await service.get(`/apps/${apps.bobs}`, { key: bobsKey })
  expect(body.data.app.rejection_reason).toBe('The link is dead.')
  await expectConsistent(page.database)
})

test.for<[what: string, reason: string]>([
  ['one character', '.'],
  ['1,000 characters', '𝐱'.repeat(1000)],
])('a reason may have %s', async ([, reason]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const app = await referenceTo(page, apps.pending)
  expect((await ada.post('/decisions', { app, decision: 'reject', reason })).status).toBe(200)
  expect(await stateOf(page, apps.pending)).toMatchObject({ rejection_reason: reason })
})

test('decides a thousand selected apps', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(
    page,
    Array.from({ length: 998 }, () => ({})),
  )
  const pending = await page.database.read(({ sql }) =>
    sql('apps').where({ status: 'pending' }).select('id', 'revision'),
  )
  const app = pending.map(({ id, revision }) => `${id}@${revision}`)
  const tooMany = await ada.post('/decisions', { app: [...app, '1@a'], decision: 'approve' })
  expect([tooMany.status, textOf(tooMany.text)]).toEqual([
    400,
    expect.stringContaining('choose 1 to 1000 apps, not 1001'),
  ])
  const longest = { decision: 'reject', reason: '𝐱'.repeat(1000) }
  const { status, text } = await ada.post('/decisions', { app, ...longest })
  expect([status, titleOf(text)]).toEqual([200, 'Decided 1,000 of 1,000 – Moderation'])
  expect(
    await page.database.read(({ sql }) => sql('apps').where({ status: 'pending' }).select('id')),
  ).toEqual([])
})

test('decides on the page of an app, and follows it to the next state', async () => {
  const { page, ada } = await startBoth()
  const decide = async (decision: string, reason = '') => {
    const { text } = await ada.get(`/apps/${apps.pending}`)
    const [seen = ''] = valuesOf(text, 'seen')
    const app = findApp(text)
    const response = await ada.post('/decisions', { app, seen, decision, reason })
    const { status } = (await stateOf(page, apps.pending)) ?? {}
    return [response.status, status]
  }
  expect(await decide('approve')).toEqual([200, 'approved'])
  expect(await decide('approve')).toEqual([409, 'approved'])
  expect(await decide('reject')).toEqual([400, 'approved'])
  expect(await decide('reject', 'It sank.')).toEqual([200, 'rejected'])
  expect(await decide('approve')).toEqual([200, 'approved'])
})

test('if the owner changed the app meanwhile, nothing is decided, and the page shows what changed', async () => {
  const { service, page, ada } = await startBoth()
  // This is seen, so it is no news.
  await service.request('PUT', `/apps/${apps.pending}`, { key: adasKey, json: { version: '2' } })
  const before = (await ada.get(`/apps/${apps.pending}`)).text
  const [seen = ''] = valuesOf(before, 'seen')
  for (const json of [{ name: 'Cloud <Atlas> 2' }, { description: 'Now with ads.' }])
    await service.request('PUT', `/apps/${apps.pending}`, { key: adasKey, json })
  const form = { app: findApp(before), seen, decision: 'approve' }
  const refused = await ada.post('/decisions', form)
  expect(refused.status).toBe(409)
  expect(refused.text).toMatch(/<p role="alert"[^>]*>Nothing was decided/)
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
  const [, news = ''] =
    /<h2>Changed since you looked<\/h2>([\s\S]*?)<\/table>/.exec(refused.text) ?? []
  expect(textOf(refused.text)).toMatch(/Nothing was decided: app 2 has changed since revision \w+/)
  expect(textOf(`<body>${news}`)).toContain('name: Cloud Atlas Cloud <Atlas> 2')
  expect(textOf(`<body>${news}`)).toContain('description: Cloud Atlas is here. Now with ads.')
  // Only what is new.
  expect(news.match(/<tr><td>/g)).toHaveLength(2)
  // The history has the others.
  const entries = await page.database.read(({ sql }) =>
    sql('audit').where({ app_id: apps.pending }),
  )
  expect(entries.length).toBeGreaterThan(2)
  expect(refused.text.match(/<tr><td>/g)).toHaveLength(entries.length)
  expect(refused.text).toContain('<h2>History before</h2>')
  expect(titleOf(refused.text)).toBe('Cloud <Atlas> 2 – Moderation')
  // This page has been seen, so its form decides.
  const [seenNow = ''] = valuesOf(refused.text, 'seen')
  const again = { app: findApp(refused.text), seen: seenNow, decision: 'approve' }
  expect((await ada.post('/decisions', again)).status).toBe(200)
  expect(await stateOf(page, apps.pending)).toMatchObject({
    status: 'approved',
    name: 'Cloud <Atlas> 2',
  })
})

test('of two moderators on one app, the second sees what the first decided', async () => {
  const { page, ada } = await startBoth()
  const bo = await page.signIn('Bo Diddley')
  const form = async () => {
    const { text } = await ada.get(`/apps/${apps.pending}`)
    return { app: findApp(text), seen: valuesOf(text, 'seen') }
  }
  const shown = await form()
  const won = await bo.post('/decisions', { ...shown, decision: 'reject', reason: 'It rains.' })
  const lost = await ada.post('/decisions', { ...shown, decision: 'approve' })
  expectStatuses([won, lost], [200, 409])
  expect(textOf(lost.text)).toMatch(
    /Changed since you looked .*Bo Diddley \(signed in\) app reject status: pending rejected rejection_reason: – It rains\./,
  )
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'rejected' })
  // At the same time, one of them wins.
  const at = { ...(await form()), decision: 'approve' }
  const both = await Promise.all([ada.post('/decisions', at), bo.post('/decisions', at)])
  expectStatuses(
    both.toSorted((one, other) => one.status - other.status),
    [200, 409],
  )
  expect((await newestEntries(page, 2)).map(({ action }) => action)).toEqual([
    'app approve',
    'app reject',
  ])
})

test('an app that was deleted meanwhile is not decided, and can be restored', async () => {
  const { service, page, ada } = await startBoth()
  const before = (await ada.get(`/apps/${apps.pending}`)).text
  await service.request('DELETE', `/apps/${apps.pending}`, { key: adasKey })
  const refused = await ada.post('/decisions', {
    app: findApp(before),
    seen: valuesOf(before, 'seen'),
    decision: 'approve',
  })
  expect(refused.status).toBe(409)
  expect(textOf(refused.text)).toContain(
    'Nothing was decided: app 2 is deleted now; it must be restored first',
  )
  expect(textOf(refused.text)).toContain('Changed since you looked')
  // Its only form is the one that restores it.
  expect(refused.text).not.toContain('action="/decisions"')
  const app = findApp(refused.text)
  const restored = await ada.post('/restorations', { app })
  expect([restored.status, restored.headers.location]).toEqual([303, `/apps/${apps.pending}`])
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending', deleted_at: null })
  expect((await newestEntries(page, 1))[0]).toMatchObject({
    action: 'app restore',
    operator_name: 'Ada',
    operator_id: ada.id,
  })
  const again = await ada.post('/restorations', { app })
  expect([again.status, textOf(again.text)]).toEqual([
    400,
    expect.stringContaining('app 2 is not deleted; it is pending'),
  ])
})

test('a listed app that is restored is public at once, in cached lists, too', async () => {
  const { service, page, ada } = await startBoth()
  await service.request('DELETE', `/apps/${apps.approved}`, { key: adasKey })
  const isListed = async () => (await service.get('/apps')).text.includes('"tide-clock"')
  for (let request = 0; request < 3; request++) expect(await isListed()).toBe(false)
  const app = await referenceTo(page, apps.approved)
  expect((await ada.post('/restorations', { app })).status).toBe(303)
  expect(await isListed()).toBe(true)
  await expectConsistent(page.database)
})

test('an internal error is a 500 that shows nothing internal, decides nothing and is logged', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const app = await referenceTo(page, apps.pending)
  await page.database.write(({ sql }) => sql.raw('alter table audit rename to renamed'))
  const { status, text } = await ada.post('/decisions', { app, decision: 'approve' })
  expect([status, textOf(text)]).toEqual([500, expect.stringContaining('Internal error')])
  expect(text).not.toMatch(/table|relation|insert/i)
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
  expect(page.log.some((line) => JSON.parse(line).level === 50)).toBe(true)
})

test('restores only the revision that was shown', async () => {
  const { page, ada } = await startBoth()
  const app = findApp((await ada.get(`/apps/${apps.deleted}`)).text)
  await page.database.write(({ sql }) =>
    sql('apps').where({ id: apps.deleted }).update({ revision: 'other' }),
  )
  const { status, text } = await ada.post('/restorations', { app })
  expect([status, textOf(text)]).toEqual([
    400,
    expect.stringContaining('app 4 has changed since revision'),
  ])
  expect(await stateOf(page, apps.deleted)).toMatchObject({ deleted_at: expect.any(String) })
})

test('removes a review with a reason, and keeps it in the history', async () => {
  const { service, page, ada } = await startBoth()
  const path = `/apps/${apps.approved}`
  const [review = ''] = valuesOf((await ada.get(path)).text, 'review')
  for (const reason of ['', ' ', 'x'.repeat(1001)])
    expect((await ada.post('/removed-reviews', { review, reason })).status).toBe(400)
  expect((await service.get(path)).body.data.app.review_count).toBe(3)

  const removed = await ada.post('/removed-reviews', { review, reason: 'An advert.' })
  expect([removed.status, removed.headers.location]).toEqual([303, path])
  // The public service sees it at once.
  expect((await service.get(path)).body.data.app.review_count).toBe(2)
  const { text } = await ada.get(path)
  expect(valuesOf(text, 'review')).not.toContain(review)
  expect(textOf(text)).toMatch(/Ada \(signed in\) review remove reason: – An advert\./)
  const again = await ada.post('/removed-reviews', { review, reason: 'Once more.' })
  expect([again.status, textOf(again.text)]).toEqual([
    400,
    expect.stringContaining(`there is no review ${review}`),
  ])
  expect(await entriesAbout(page, 'review remove')).toBe(1)
  await expectConsistent(page.database)
})

async function entriesAbout({ database }: ModerationPage, action: string): Promise<number> {
  return (await database.read(({ sql }) => sql('audit').where({ action }))).length
}

test('accepts the changes of an approved app, or takes it down', async () => {
  const { service, page, ada } = await startBoth()
  const change = (name: string) =>
    service.request('PUT', `/apps/${apps.approved}`, { key: adasKey, json: { name } })
  await change('Tide Table')
  const app = findApp((await ada.get('/?queue=changed')).text)
  expect((await ada.post('/decisions', { app, decision: 'approve' })).status).toBe(200)
  expect(valuesOf((await ada.get('/?queue=changed')).text, 'app')).toEqual([])
  await change('Tide Casino')
  const changed = findApp((await ada.get('/?queue=changed')).text)
  await ada.post('/decisions', { app: changed, decision: 'reject', reason: 'A casino.' })
  expect(await stateOf(page, apps.approved)).toMatchObject({ status: 'rejected' })
  expect((await service.get(`/apps/${apps.approved}`)).status).toBe(404)
})
