import { describe, expect, inject, test } from 'vitest'
import { expectStatuses } from '../support/check.ts'
import { expectConsistent } from '../support/consistency.ts'
import { formOf, linksOf, problemOf, reportOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  decide,
  type Fields,
  follow,
  type ModerationPage,
  newestEntries,
  referenceTo,
  startModerationPage,
  stateOf,
  type Visitor,
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

test('approves several selected apps, and says so in the queue, with links', async () => {
  const { service, page, ada } = await startBoth()
  const queue = (await ada.get('/')).text
  const chosen = await ada.post('/decisions', {
    app: valuesOf(queue, 'app'),
    decision: 'approve',
    // Filled in, and then Approve was chosen.
    reason: 'Not needed.',
  })
  const { status, text } = await follow(ada, chosen)
  expect([status, titleOf(text)]).toEqual([200, 'Pending apps – Moderation'])
  expect(reportOf(text)).toBe('Approved Cloud Atlas, Night Train. 0 wait.')
  expect(linksOf(text)).toEqual(
    expect.arrayContaining([
      ['Cloud Atlas', `/apps/${apps.pending}?queue=pending`],
      ['Night Train', `/apps/${apps.bobsPending}?queue=pending`],
    ]),
  )
  for (const id of [apps.pending, apps.bobsPending]) {
    expect((await service.get(`/apps/${id}`)).status).toBe(200)
    expect(await stateOf(page, id)).toMatchObject({ rejection_reason: null })
  }
  expect(textOf(text)).toContain('No apps wait for a decision.')
  await expectConsistent(page.database)
})

test('rejects several with one reason, each on its own: a refusal does not affect the others', async () => {
  const { service, page, ada } = await startBoth()
  const changed = await referenceTo(page, apps.approved)
  await service.request('PUT', `/apps/${apps.approved}`, {
    key: adasKey,
    json: { name: 'Tide Table' },
  })
  const stale = [
    changed,
    await referenceTo(page, apps.rejected),
    await referenceTo(page, apps.deleted),
    `${missing}@a`,
  ]
  const [one, other] = [apps.pending, apps.bobs]
  const decided = await ada.post('/decisions?queue=changed&developer=Ada', {
    app: [stale, await referenceTo(page, one), await referenceTo(page, other)].flat(),
    decision: 'reject',
    reason: '  The link is dead. ',
  })
  expect(decided.headers.location).toBe(
    `/?queue=changed&developer=Ada&decided=${one}+${other}&refused=1+${apps.rejected}+${apps.deleted}+${missing}`,
  )
  const { text } = await follow(ada, decided)
  expect(reportOf(text)).toBe(
    'Rejected Cloud Atlas, Bird Song. Not decided Tide Table (changed meanwhile), Broken Compass (rejected meanwhile), Gone (deleted meanwhile). 1 waits.',
  )
  expect(await stateOf(page, apps.pending)).toMatchObject({
    status: 'rejected',
    rejection_reason: 'The link is dead.',
  })
  expect(await stateOf(page, apps.approved)).toMatchObject({ status: 'approved' })
  // Taken down at once, and its owner reads why.
  expect((await service.get(`/apps/${apps.bobs}`)).status).toBe(404)
  const { body } = await service.get(`/apps/${apps.bobs}`, { key: bobsKey })
  expect(body.data.app.rejection_reason).toBe('The link is dead.')
  // Once more, nothing is decided, and each one is said to be so.
  const newest = await newestEntries(page, 1)
  const again = await ada.post('/decisions', { app: stale, decision: 'reject', reason: 'No.' })
  expect([again.status, reportOf(again.text)]).toEqual([
    409,
    'Not decided Tide Table (changed meanwhile), Broken Compass (rejected meanwhile), Gone (deleted meanwhile). 1 waits.',
  ])
  expect(await newestEntries(page, 1)).toEqual(newest)
  await expectConsistent(page.database)
})

test('if none of several is decided, the reason is kept, and what has changed is not ticked', async () => {
  const { service, page, ada } = await startBoth()
  const filter = '/?queue=pending&developer=Ada'
  const shown = (await ada.get(filter)).text
  await service.request('PUT', `/apps/${apps.pending}`, { key: adasKey, json: { version: '2' } })
  const form = formOf(shown, '/decisions')
  const sent = { app: findApp(shown), decision: 'reject', reason: 'It "rains".' }
  const refused = await ada.post(form?.action ?? '', sent)
  expect([refused.status, reportOf(refused.text)]).toEqual([
    409,
    'Not decided Cloud Atlas (changed meanwhile). 1 waits.',
  ])
  expect(valuesOf(refused.text, 'reason')).toEqual(['It "rains".'])
  expect(formOf(refused.text, '/decisions')?.fields.app).toBeUndefined()
  expect(formOf(refused.text, '/')).toEqual(formOf(shown, '/'))
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
  const app = findApp(refused.text)
  expect((await ada.post(form?.action ?? '', { ...sent, app })).status).toBe(303)
  expect(await stateOf(page, apps.pending)).toMatchObject({ rejection_reason: 'It "rains".' })
})

describe('a decision that is sent twice, as by a double click, is made once, and not refused', () => {
  const view = 'queue=pending&developer=Ada'

  test.for<[what: string, path: string, location: string]>([
    ['from the queue', `/?${view}`, `/?${view}&decided=${apps.pending}`],
    ['from the page of the app', `/apps/${apps.pending}`, ''],
    ['in a queue', `/apps/${apps.pending}?${view}`, ''],
  ])('%s', async ([, path, location]) => {
    const { page, ada } = await startBoth()
    const bo = await page.signIn('Bo')
    const { text } = await ada.get(path)
    const send = (visitor: Visitor) =>
      decide(visitor, text, 'reject', { app: findApp(text), reason: 'It rains.' })
    const first = await send(ada)
    expect(first.status).toBe(303)
    if (location !== '') expect(first.headers.location).toBe(location)
    const newest = await newestEntries(page, 1)
    const second = await send(ada)
    expect([second.status, second.headers.location]).toEqual([303, first.headers.location])
    expect(reportOf((await follow(ada, second)).text)).toMatch(/^Rejected Cloud Atlas\./)
    // Another moderator, and with another reason.
    expect((await send(bo)).status).toBe(409)
    const other = { app: findApp(text), reason: 'It snows.' }
    expect((await decide(ada, text, 'reject', other)).status).toBe(409)
    expect(await newestEntries(page, 1)).toEqual(newest)
    // Nor after somebody else has decided.
    await decide(bo, (await bo.get(`/apps/${apps.pending}`)).text, 'approve')
    expect((await send(ada)).status).toBe(409)
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'approved' })
  })
})

describe('a form that is sent twice is done once, and not refused', () => {
  const view = 'queue=pending&developer=Ada'

  test.for(['', `?${view}`])('an app is restored, at /apps/4%s', async (query) => {
    const { service, page, ada } = await startBoth()
    const bo = await page.signIn('Bo')
    const path = `/apps/${apps.deleted}${query}`
    const { text } = await ada.get(path)
    const { action, fields } = formOf(text, '/restorations') ?? { action: '', fields: {} }
    const send = (visitor: Visitor) => visitor.post(action, { ...fields, app: findApp(text) })
    for (let time = 0; time < 2; time++) {
      const done = await send(ada)
      expect(done.headers.location).toBe(`${path}${query ? '&' : '?'}decided=${apps.deleted}`)
      expect(reportOf((await follow(ada, done)).text)).toMatch(/^Restored Gone\./)
    }
    expect(await entriesAbout(page, 'app restore')).toBe(1)
    // Another moderator, and after the owner has deleted it again.
    expect((await send(bo)).status).toBe(400)
    await service.request('DELETE', `/apps/${apps.deleted}`, { key: adasKey })
    const late = await send(ada)
    expect([late.status, problemOf(late.text)]).toEqual([
      400,
      expect.stringContaining('Nothing was done: app 4 has changed since revision'),
    ])
    expect(await entriesAbout(page, 'app restore')).toBe(1)
  })

  test.for(['', `?${view}`])('a review is removed, at /apps/1%s', async (query) => {
    const { page, ada } = await startBoth()
    const bo = await page.signIn('Bo')
    const path = `/apps/${apps.approved}${query}`
    const { text } = await ada.get(path)
    const { action, fields } = formOf(text, '/removed-reviews') ?? { action: '', fields: {} }
    const [review = '', next = ''] = valuesOf(text, 'review')
    const send = (visitor: Visitor, reason: string, id = review) =>
      visitor.post(action, { ...fields, review: id, reason })
    for (const reason of ['An advert.', ' An advert. ']) {
      const done = await send(ada, reason)
      expect(done.headers.location).toBe(`${path}${query ? '&' : '?'}decided=${apps.approved}`)
      expect(reportOf((await follow(ada, done)).text)).toMatch(/^Removed a review of Tide Clock\./)
    }
    // Another reason, another moderator, and after another entry.
    expect((await send(ada, 'Spam.')).status).toBe(400)
    expect((await send(ada, ' ')).status).toBe(400)
    expect((await send(bo, 'An advert.')).status).toBe(400)
    expect(await entriesAbout(page, 'review remove')).toBe(1)
    expect((await send(ada, 'An advert.', next)).status).toBe(303)
    expect((await send(ada, 'An advert.')).status).toBe(400)
    expect(await entriesAbout(page, 'review remove')).toBe(2)
    await expectConsistent(page.database)
  })
})

test.for<[what: string, reason: string]>([
  ['one character', '.'],
  ['1,000 characters', '𝐱'.repeat(1000)],
])('a reason may have %s', async ([, reason]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const app = await referenceTo(page, apps.pending)
  expect((await ada.post('/decisions', { app, decision: 'reject', reason })).status).toBe(303)
  expect(await stateOf(page, apps.pending)).toMatchObject({ rejection_reason: reason })
})

test('decides fifty selected apps, and names them all', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const ids = await addApps(page, Array(51).fill({}))
  const app = await Promise.all(ids.map((id) => referenceTo(page, id)))
  const longest = { decision: 'reject', reason: '𝐱'.repeat(1000) }
  const tooMany = await ada.post('/decisions', { app, ...longest })
  expect([tooMany.status, problemOf(tooMany.text)]).toEqual([
    400,
    'Select at most 50 apps, not 51.',
  ])
  const { text } = await follow(
    ada,
    await ada.post('/decisions', { app: app.slice(1), ...longest }),
  )
  const names = Array.from({ length: 50 }, (_, index) => `App ${index + 1}`)
  expect(reportOf(text)).toBe(`Rejected ${names.join(', ')}. 3 wait.`)
  const rejected = await page.database.read(({ sql }) =>
    sql('apps').where({ status: 'rejected', rejection_reason: longest.reason }).select('id'),
  )
  expect(rejected).toHaveLength(50)
})

test('decides on the page of an app, which is shown again in its new state', async () => {
  const { page, ada } = await startBoth()
  const path = `/apps/${apps.pending}`
  const shown = async () => (await ada.get(path)).text
  const stateNow = async () => (await stateOf(page, apps.pending))?.status

  const approved = await decide(ada, await shown(), 'approve')
  expect(approved.headers.location).toBe(`${path}?decided=${apps.pending}`)
  const { text } = await follow(ada, approved)
  expect([reportOf(text), await stateNow()]).toEqual(['Approved Cloud Atlas.', 'approved'])
  // An app that is public is taken down; it cannot be approved again.
  expect(valuesOf(text, 'decision')).toEqual(['reject', 'reopen'])
  expect(textOf(text)).toMatch(/Take down/)

  const withoutReason = await decide(ada, text, 'reject')
  expect([withoutReason.status, problemOf(withoutReason.text), await stateNow()]).toEqual([
    400,
    'A reason must have 1 to 1000 characters, not 0.',
    'approved',
  ])
  const rejected = await decide(ada, withoutReason.text, 'reject', { reason: 'It sank.' })
  const again = (await follow(ada, rejected)).text
  expect([reportOf(again), await stateNow()]).toEqual(['Rejected Cloud Atlas.', 'rejected'])
  expect(valuesOf(again, 'decision')).toEqual(['approve', 'reopen'])
  expect((await decide(ada, again, 'approve')).status).toBe(303)
  expect(await stateNow()).toBe('approved')
})

test('if the owner changed the app meanwhile, nothing is decided, and the page shows what changed', async () => {
  const { service, page, ada } = await startBoth()
  // This is seen, so it is no news.
  await service.request('PUT', `/apps/${apps.pending}`, { key: adasKey, json: { version: '2' } })
  const before = (await ada.get(`/apps/${apps.pending}`)).text
  for (const json of [{ name: 'Cloud <Atlas> 2' }, { description: 'Now with ads.' }])
    await service.request('PUT', `/apps/${apps.pending}`, { key: adasKey, json })
  const refused = await decide(ada, before, 'reject', { reason: 'It "rains".' })
  expect(refused.status).toBe(409)
  expect(problemOf(refused.text)).toMatch(
    /^Nothing was decided: app 2 has changed since revision \w+; look at it again\.$/,
  )
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
  const news = newsOf(refused.text)
  expect(textOf(`<body>${news}`)).toContain('Name Cloud Atlas → Cloud <Atlas> 2')
  expect(textOf(`<body>${news}`)).toContain('Description Cloud Atlas is here. → Now with ads.')
  // Only what is new, unfolded.
  expect(news.match(/<details open>/g)).toHaveLength(2)
  // The history has the others.
  const entries = await page.database.read(({ sql }) =>
    sql('audit').where({ app_id: apps.pending }),
  )
  expect(entries.length).toBeGreaterThan(2)
  expect(refused.text.match(/<details( open)?>\s*<summary>/g)).toHaveLength(entries.length)
  expect(textOf(refused.text)).toContain('History before')
  expect(titleOf(refused.text)).toBe('Cloud <Atlas> 2 – Moderation')
  // The reason is kept. This page has been seen, so its form decides.
  expect(valuesOf(refused.text, 'reason')).toEqual(['It "rains".'])
  expect((await decide(ada, refused.text, 'approve')).status).toBe(303)
  expect(await stateOf(page, apps.pending)).toMatchObject({
    status: 'approved',
    name: 'Cloud <Atlas> 2',
  })
})

test('a form that is wrong says, too, what the owner has changed meanwhile', async () => {
  const { service, page, ada } = await startBoth()
  await service.request('DELETE', `/apps/${apps.bobs}`, { key: bobsKey })
  const pages = {
    decision: (await ada.get(`/apps/${apps.pending}`)).text,
    review: (await ada.get(`/apps/${apps.approved}`)).text,
    restoration: (await ada.get(`/apps/${apps.bobs}`)).text,
  }
  for (const id of [apps.pending, apps.approved])
    await service.request('PUT', `/apps/${id}`, { key: adasKey, json: { version: '2' } })
  const blank = await decide(ada, pages.decision, 'reject', { reason: ' ' })
  expect(blank.status).toBe(400)
  expect(textOf(`<body>${newsOf(blank.text)}`)).toContain('→ 2')

  const removal = formOf(pages.review, '/removed-reviews')
  const [review = ''] = valuesOf(pages.review, 'review')
  const noReason = await ada.post('/removed-reviews', { ...removal?.fields, review, reason: ' ' })
  expect(noReason.status).toBe(400)
  expect(textOf(`<body>${newsOf(noReason.text)}`)).toContain('→ 2')

  const restore = (visitor: Visitor) =>
    visitor.post('/restorations', {
      ...formOf(pages.restoration, '/restorations')?.fields,
      app: findApp(pages.restoration),
    })
  expect((await restore(ada)).status).toBe(303)
  const again = await restore(await page.signIn('Bo'))
  expect(again.status).toBe(400)
  expect(textOf(`<body>${newsOf(again.text)}`)).toMatch(/^Restored by Ada/)
})

const newsOf = (page: string): string =>
  /<h2>Changed since you looked<\/h2>([\s\S]*?)<\/section>/.exec(page)?.[1] ?? ''

test('of two moderators on one app, the second sees what the first decided', async () => {
  const { page, ada } = await startBoth()
  const bo = await page.signIn('Bo Diddley')
  const shown = async () => (await ada.get(`/apps/${apps.pending}`)).text
  const before = await shown()
  const won = await decide(bo, before, 'reject', { reason: 'It rains.' })
  const lost = await decide(ada, before, 'approve')
  expectStatuses([won, lost], [303, 409])
  expect(problemOf(lost.text)).toMatch(
    /^Nothing was decided: Bo Diddley \(signed in\) rejected it (?:a moment|\d+ seconds?) ago\.$/,
  )
  expect(textOf(`<body>${newsOf(lost.text)}`)).toMatch(
    /^Rejected by Bo Diddley \(signed in\), .*: It rains\. Status Status pending → rejected$/,
  )
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'rejected' })
  // At the same time, one of them wins.
  const now = await shown()
  const both = await Promise.all([decide(ada, now, 'approve'), decide(bo, now, 'approve')])
  expectStatuses(
    both.toSorted((one, other) => one.status - other.status),
    [303, 409],
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
  expect(problemOf(refused.text)).toBe(
    'Nothing was decided: app 2 is deleted now; it must be restored first.',
  )
  expect(textOf(`<body>${newsOf(refused.text)}`)).toMatch(/^Deleted by Ada/)
  // Its only form is the one that restores it.
  expect(formOf(refused.text, '/decisions')).toBeUndefined()
  const app = findApp(refused.text)
  const restored = await ada.post('/restorations', { app })
  expect([restored.status, restored.headers.location]).toEqual([
    303,
    `/apps/${apps.pending}?decided=${apps.pending}`,
  ])
  expect(reportOf((await follow(ada, restored)).text)).toBe('Restored Cloud Atlas.')
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending', deleted_at: null })
  expect((await newestEntries(page, 1))[0]).toMatchObject({
    action: 'app restore',
    operator_name: 'Ada',
    operator_id: ada.id,
  })
  // The last entry is Ada's own, but no decision.
  const stale = { app: findApp(before), seen: valuesOf(before, 'seen'), decision: 'approve' }
  expect((await ada.post('/decisions', stale)).status).toBe(409)
  const bo = await page.signIn('Bo')
  const again = await bo.post('/restorations', { app })
  expect([again.status, titleOf(again.text), problemOf(again.text)]).toEqual([
    400,
    'Cloud Atlas – Moderation',
    'Nothing was done: app 2 is not deleted; it is pending.',
  ])
  // This form did not say what had been seen, so nothing is pointed out.
  expect(textOf(again.text)).not.toContain('Changed since you looked')
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

test.for<[what: string, path: string, id: number, fields: (app: string) => Fields]>([
  ['decides in a queue', '/decisions', apps.pending, (app) => ({ app, decision: 'approve' })],
  [
    'decides on the page of an app',
    '/decisions',
    apps.pending,
    (app) => ({ app, decision: 'approve', seen: '0' }),
  ],
  ['takes a decision back', '/reopenings', apps.approved, (app) => ({ reopened: app })],
  ['restores an app', '/restorations', apps.deleted, (app) => ({ app })],
  [
    'removes a review',
    '/removed-reviews',
    apps.approved,
    (app) => ({ app: app.split('@', 1), review: '1', reason: 'Rude.' }),
  ],
])('a form that %s does nothing if its address is wrong', async ([, path, id, fields]) => {
  const { page, ada } = await startBoth()
  const form = fields(await referenceTo(page, id))
  const entries = await newestEntries(page, 1)
  const refused = await ada.post(`${path}?queue=pending&after=x`, form)
  expect(problemOf(refused.text)).toContain('After must be a place in the queue')
  expect(refused.status).toBe(400)
  expect(await newestEntries(page, 1)).toEqual(entries)
  // The same form is accepted at the right address.
  expect((await ada.post(`${path}?queue=pending`, form)).status).toBe(303)
})

test('restores only the revision that was shown', async () => {
  const { page, ada } = await startBoth()
  const app = findApp((await ada.get(`/apps/${apps.deleted}`)).text)
  await page.database.write(({ sql }) =>
    sql('apps').where({ id: apps.deleted }).update({ revision: 'other' }),
  )
  const { status, text } = await ada.post('/restorations', { app })
  expect([status, problemOf(text)]).toEqual([
    400,
    expect.stringContaining('Nothing was done: app 4 has changed since revision'),
  ])
  expect(await stateOf(page, apps.deleted)).toMatchObject({ deleted_at: expect.any(String) })
})

test('removes a review with a reason, and keeps it in the history', async () => {
  const { service, page, ada } = await startBoth()
  const path = `/apps/${apps.approved}`
  const before = (await ada.get(path)).text
  const [review = ''] = valuesOf(before, 'review')
  const { action, fields } = formOf(before, '/removed-reviews') ?? { action: '', fields: {} }
  expect([action, fields]).toEqual([
    '/removed-reviews',
    { app: ['1'], seen: [expect.any(String)], reason: [''] },
  ])
  const remove = (reason: string) => ada.post(action, { ...fields, review, reason })
  for (const [reason, length] of [
    ['', 0],
    [' ', 0],
    ['x'.repeat(1001), 1001],
  ] as const) {
    const refused = await remove(reason)
    expect([refused.status, titleOf(refused.text), problemOf(refused.text)]).toEqual([
      400,
      'Tide Clock – Moderation',
      `Nothing was done: a reason must have 1 to 1000 characters, not ${length}.`,
    ])
    // The form is shown on demand, and open if it was refused.
    expect(refused.text.match(/<details open>\s*<summary>Remove/g)).toHaveLength(1)
    // The reason stays with its review, and is not in the fields of the decision and other reviews.
    expect(valuesOf(refused.text, 'reason').filter(Boolean)).toEqual([reason].filter(Boolean))
    expect(formOf(refused.text, action)?.fields.reason).toEqual([reason])
  }
  expect((await service.get(path)).body.data.app.review_count).toBe(3)

  const removed = await remove('An advert.')
  expect([removed.status, removed.headers.location]).toEqual([
    303,
    `${path}?decided=${apps.approved}`,
  ])
  // The public service sees it at once.
  expect((await service.get(path)).body.data.app.review_count).toBe(2)
  const { text } = await follow(ada, removed)
  expect(reportOf(text)).toBe('Removed a review of Tide Clock.')
  expect(valuesOf(text, 'review')).not.toContain(review)
  expect(textOf(text)).toMatch(/Review removed by Ada \(signed in\), .*: An advert\./)
  // What it was is in the audit log, too.
  expect(textOf((await ada.get('/audit')).text)).toMatch(
    /removed a review of Tide Clock: An advert\..* Rating \d → – .*Reviewer \S+ → –/,
  )
  const again = await remove('Once more.')
  expect([again.status, titleOf(again.text), problemOf(again.text)]).toEqual([
    400,
    'Tide Clock – Moderation',
    `Nothing was done: there is no review ${review}.`,
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
  expect((await ada.post('/decisions', { app, decision: 'approve' })).status).toBe(303)
  expect(valuesOf((await ada.get('/?queue=changed')).text, 'app')).toEqual([])
  await change('Tide Casino')
  const changed = findApp((await ada.get('/?queue=changed')).text)
  await ada.post('/decisions', { app: changed, decision: 'reject', reason: 'A casino.' })
  expect(await stateOf(page, apps.approved)).toMatchObject({ status: 'rejected' })
  expect((await service.get(`/apps/${apps.approved}`)).status).toBe(404)
})
