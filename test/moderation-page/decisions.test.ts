import { describe, expect, inject, test } from 'vitest'
import { expectConsistent } from '../support/consistency.ts'
import {
  addressOf,
  formOf,
  problemOf,
  reportOf,
  textOf,
  titleOf,
  valuesOf,
} from '../support/html.ts'
import {
  addApps,
  decide,
  type Fields,
  follow,
  type ModerationPage,
  newestEntries,
  newsOf,
  referenceTo,
  startWithAda,
  startWithService,
  stateOf,
  submit,
  type Visitor,
} from '../support/moderation-page.ts'

/** The forms that decide, and the other forms of an app's page. walk.test.ts has the way on. */

const { apps, keys } = inject('world')

const countEntries = async ({ database }: ModerationPage, action: string): Promise<number> =>
  (await database.read(({ sql }) => sql('audit').where({ action }))).length

describe('several selected apps', () => {
  test('are approved, and named in the queue, with links', async () => {
    const { service, page, ada } = await startWithService()
    const { text } = await ada.get('/')
    const selected = { app: valuesOf(text, 'app'), reason: ' ' }
    const done = (await follow(ada, await decide(ada, text, 'approve', selected))).text
    expect(reportOf(done)).toBe('Approved Cloud Atlas, Night Train. 0 wait.')
    // A double click.
    expect((await decide(ada, text, 'approve', selected)).status).toBe(303)
    expect(addressOf(done, 'Night Train')).toBe(`/apps/${apps.bobsPending}?queue=pending`)
    expect(textOf(done)).toContain('No apps wait for a decision.')
    for (const id of [apps.pending, apps.bobsPending]) {
      expect((await service.get(`/apps/${id}`)).status).toBe(200)
      expect(await stateOf(page, id)).toMatchObject({ rejection_reason: null })
    }
    await expectConsistent(page.database)
  })

  test('are decided each on its own: a refusal does not affect the others', async () => {
    const { service, page, ada } = await startWithService()
    const before = await referenceTo(page, apps.approved)
    const json = { name: 'Tide Table' }
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
    const stale = [
      before,
      await referenceTo(page, apps.rejected),
      await referenceTo(page, apps.deleted),
      '999@a',
    ]
    const right = [await referenceTo(page, apps.pending), await referenceTo(page, apps.bobs)]
    const refusals =
      'Not decided Tide Table (changed meanwhile), Broken Compass (rejected meanwhile), Gone (deleted meanwhile). 1 waits.'
    const decided = await ada.post('/decisions?queue=changed&developer=Ada', {
      app: [...stale, ...right],
      decision: 'reject',
      reason: '  The link is dead. ',
    })
    expect(decided.headers.location).toBe(
      `/?queue=changed&developer=Ada&decided=${apps.pending}+${apps.bobs}&refused=1+${apps.rejected}+${apps.deleted}+999`,
    )
    expect(reportOf((await follow(ada, decided)).text)).toBe(
      `Rejected Cloud Atlas, Bird Song. ${refusals}`,
    )
    for (const id of [apps.pending, apps.bobs])
      expect(await stateOf(page, id)).toMatchObject({
        status: 'rejected',
        rejection_reason: 'The link is dead.',
      })
    expect(await stateOf(page, apps.approved)).toMatchObject({ status: 'approved' })
    // Taken down at once.
    expect((await service.get(`/apps/${apps.bobs}`)).status).toBe(404)

    const newest = await newestEntries(page, 1)
    const again = await ada.post('/decisions', { app: stale, decision: 'reject', reason: 'No.' })
    expect([again.status, reportOf(again.text)]).toEqual([409, refusals])
    expect(await newestEntries(page, 1)).toEqual(newest)
    await expectConsistent(page.database)
  })

  test('keep the reason if none is decided, and what has changed is not ticked', async () => {
    const { service, page, ada } = await startWithService()
    const shown = (await ada.get('/?queue=pending&developer=Ada')).text
    const json = { version: '2' }
    await service.request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json })
    const app = valuesOf(shown, 'app')
    const refused = await decide(ada, shown, 'reject', { app, reason: 'It "rains".' })
    expect([refused.status, reportOf(refused.text)]).toEqual([
      409,
      'Not decided Cloud Atlas (changed meanwhile). 1 waits.',
    ])
    expect(formOf(refused.text, '/decisions')?.fields).toEqual({ reason: ['It "rains".'] })
    expect(formOf(refused.text, '/')).toEqual(formOf(shown, '/'))
    // This page has been seen, so its form decides.
    const again = { app: valuesOf(refused.text, 'app') }
    expect((await decide(ada, refused.text, 'reject', again)).status).toBe(303)
    expect(await stateOf(page, apps.pending)).toMatchObject({ rejection_reason: 'It "rains".' })
  })

  test('may be fifty, which are all named', async () => {
    const { page, ada } = await startWithAda()
    const ids = await addApps(page, Array(50).fill({}))
    const app = await Promise.all(ids.map((id) => referenceTo(page, id)))
    const reason = '𝐱'.repeat(1000)
    const decided = await ada.post('/decisions', { app, decision: 'reject', reason })
    const report = reportOf((await follow(ada, decided)).text)
    expect(report).toBe(`Rejected ${ids.map((_, index) => `App ${index}`).join(', ')}. 2 wait.`)
    const states = await Promise.all(ids.map((id) => stateOf(page, id)))
    expect(states.map((state) => state?.rejection_reason)).toEqual(ids.map(() => reason))
  })
})

describe('Approve with a reason is refused, and the form keeps its contents', () => {
  const view = '?queue=pending&developer=Ada'

  test.for([
    { path: `/${view}`, where: 'in a queue', button: 'Reject' },
    { path: `/apps/${apps.pending}`, where: 'on the page of an app', button: 'Reject' },
    { path: `/apps/${apps.pending}${view}`, where: 'within a queue', button: 'Reject' },
    { path: '/?queue=changed', where: 'in the queue of changes', button: 'Take down' },
    {
      path: `/apps/${apps.approved}?queue=changed`,
      where: 'within the queue of changes',
      button: 'Take down',
    },
  ])('$where', async ({ path, button }) => {
    const { service, page, ada } = await startWithService()
    const json = { name: 'Tide Table' }
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
    const { text } = await ada.get(path)
    const newest = await newestEntries(page, 1)
    const app = valuesOf(text, 'app').filter((reference) => reference.includes('@'))
    const form = { app, reason: 'It "rains".' }
    const refused = await decide(ada, text, 'approve', form)
    expect([refused.status, problemOf(refused.text)]).toEqual([
      400,
      'Nothing was decided: approve takes no reason; remove it, or reject the app.',
    ])
    expect(refused.text).toMatch(new RegExp(`class="reject">${button}<`))
    expect(await newestEntries(page, 1)).toEqual(newest)
    expect(formOf(refused.text, '/decisions')?.fields).toMatchObject({
      app,
      reason: [form.reason],
    })
    // With what was typed, the other button rejects.
    expect((await submit(ada, refused.text, '/decisions', { decision: 'reject' })).status).toBe(303)
    expect((await newestEntries(page, 1))[0]).toMatchObject({ action: 'app reject' })
  })
})

describe('a form that is sent twice, as by a double click, is done once, and not refused', () => {
  const view = '?queue=pending&developer=Ada'

  test.for([
    { path: `/${view}`, what: 'decides in a queue' },
    { path: `/apps/${apps.pending}`, what: 'decides on the page of an app' },
  ])('$path $what', async ({ path }) => {
    const { page, ada } = await startWithAda()
    const bo = await page.signIn('Bo')
    const { text } = await ada.get(path)
    const [app = ''] = valuesOf(text, 'app')
    const send = (visitor: Visitor, reason = 'It rains.') =>
      decide(visitor, text, 'reject', { app, reason })
    const first = await send(ada)
    const second = await send(ada)
    expect([second.status, second.headers.location]).toEqual([303, first.headers.location])
    expect(reportOf((await follow(ada, second)).text)).toMatch(/^Rejected Cloud Atlas\./)
    expect(await countEntries(page, 'app reject')).toBe(2)
    // Another moderator, another reason, and after somebody else has decided.
    expect((await send(bo)).status).toBe(409)
    expect((await send(ada, 'It snows.')).status).toBe(409)
    await decide(bo, (await bo.get(`/apps/${apps.pending}`)).text, 'approve')
    expect((await send(ada)).status).toBe(409)
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'approved' })
  })

  test.for(['', view])('/apps/4%s restores the app', async (query) => {
    const { service, page, ada } = await startWithService()
    const bo = await page.signIn('Bo')
    const path = `/apps/${apps.deleted}${query}`
    const { text } = await ada.get(path)
    const app = valuesOf(text, 'app')
    for (const _ of [1, 2]) {
      const done = await submit(ada, text, '/restorations', { app })
      expect(done.headers.location).toBe(`${path}${query ? '&' : '?'}decided=${apps.deleted}`)
      expect(reportOf((await follow(ada, done)).text)).toMatch(/^Restored Gone\./)
    }
    expect(await countEntries(page, 'app restore')).toBe(1)
    expect((await newestEntries(page, 1))[0]).toMatchObject({
      operator_name: 'Ada',
      operator_id: ada.id,
    })
    // Another moderator, and after the owner has deleted it again.
    expect((await submit(bo, text, '/restorations', { app })).status).toBe(400)
    await service.request('DELETE', `/apps/${apps.deleted}`, { key: keys.ada })
    expect((await submit(ada, text, '/restorations', { app })).status).toBe(400)
    expect(await countEntries(page, 'app restore')).toBe(1)
  })

  test('an app that is restored without its package name says which app has it', async () => {
    const { service, ada } = await startWithService()
    const taken = await service.request('PUT', `/apps/${apps.pending}`, {
      key: keys.ada,
      json: { package_name: 'org.example.gone' },
    })
    expect(taken.status).toBe(200)
    const { text } = await ada.get(`/apps/${apps.deleted}`)
    expect(text).toContain('Package name given up by')
    const restored = await submit(ada, text, '/restorations', { app: valuesOf(text, 'app') })
    const report = async () => reportOf((await follow(ada, restored)).text)
    const sentence = 'Its package name org.example.gone belongs to app'
    expect(await report()).toMatch(`Restored Gone. ${sentence} ${apps.pending} now.`)
    // After another exchange, the page says what is true then.
    await service.request('DELETE', `/apps/${apps.pending}`, { key: keys.ada })
    await service.request('PUT', `/apps/${apps.deleted}`, {
      key: keys.ada,
      json: { package_name: 'org.example.gone' },
    })
    expect(await report()).toMatch(/^Restored Gone\./)
    expect(await report()).not.toContain('package name')
  })

  test.for(['', view])('/apps/1%s removes a review', async (query) => {
    const { page, ada } = await startWithAda()
    const bo = await page.signIn('Bo')
    const path = `/apps/${apps.approved}${query}`
    const { text } = await ada.get(path)
    const [review = '', next = ''] = valuesOf(text, 'review')
    const send = (visitor: Visitor, reason: string, id = review) =>
      submit(visitor, text, '/removed-reviews', { review: id, reason })
    for (const reason of ['An advert.', ' An advert. ']) {
      const done = await send(ada, reason)
      expect(done.headers.location).toBe(`${path}${query ? '&' : '?'}decided=${apps.approved}`)
      expect(reportOf((await follow(ada, done)).text)).toMatch(/^Removed a review of Tide Clock\./)
    }
    // Another reason, another moderator, and after another entry.
    expect((await send(ada, 'Spam.')).status).toBe(400)
    expect((await send(bo, 'An advert.')).status).toBe(400)
    expect((await send(ada, 'An advert.', next)).status).toBe(303)
    expect((await send(ada, 'An advert.')).status).toBe(400)
    expect(await countEntries(page, 'review remove')).toBe(2)
    await expectConsistent(page.database)
  })
})

describe('what others did since the page was shown', () => {
  test('if the owner changed the app, nothing is decided, and the page shows the changes', async () => {
    const { service, page, ada } = await startWithService()
    const change = (json: object) =>
      service.request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json })
    // This is seen, so it is no news.
    await change({ version: '2' })
    const shown = (await ada.get(`/apps/${apps.pending}`)).text
    await change({ name: 'Cloud <Atlas> 2' })
    await change({ description: 'Now with ads.' })
    const refused = await decide(ada, shown, 'reject', { reason: 'It "rains".' })
    expect([refused.status, titleOf(refused.text)]).toEqual([409, 'Cloud <Atlas> 2 – Moderation'])
    expect(problemOf(refused.text)).toMatch(
      /^Nothing was decided: app 2 has changed since revision \w+; look at it again\.$/,
    )
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
    const news = newsOf(refused.text)
    expect(news).toContain('Name Cloud Atlas → Cloud <Atlas> 2')
    expect(news).toContain('Description Cloud Atlas is here. → Now with ads.')
    expect(news).not.toContain('Version')
    // What is new is unfolded.
    expect(refused.text.match(/<details open>/g)).toHaveLength(2)
    expect(textOf(refused.text)).toMatch(/History before .*→ 2 /)
    // The reason is kept. This page has been seen, so its form decides.
    expect(valuesOf(refused.text, 'reason')).toEqual(['It "rains".'])
    expect((await decide(ada, refused.text, 'approve', { reason: '' })).status).toBe(303)
  })

  test('a form that is wrong says it, too', async () => {
    const { service, page, ada } = await startWithService()
    const open = async (id: number) => (await ada.get(`/apps/${id}`)).text
    await service.request('DELETE', `/apps/${apps.bobs}`, { key: keys.bob })
    const [pending, approved, deleted] = [
      await open(apps.pending),
      await open(apps.approved),
      await open(apps.bobs),
    ]
    for (const id of [apps.pending, apps.approved])
      await service.request('PUT', `/apps/${id}`, { key: keys.ada, json: { version: '2' } })
    const blank = await decide(ada, pending, 'reject', { reason: ' ' })
    const [review = ''] = valuesOf(approved, 'review')
    const kept = await submit(ada, approved, '/removed-reviews', { review, reason: ' ' })
    for (const { status, text } of [blank, kept])
      expect([status, newsOf(text)]).toEqual([400, expect.stringContaining('→ 2')])

    const app = valuesOf(deleted, 'app')
    expect((await submit(ada, deleted, '/restorations', { app })).status).toBe(303)
    const late = await submit(await page.signIn('Bo'), deleted, '/restorations', { app })
    expect([late.status, newsOf(late.text)]).toEqual([
      400,
      expect.stringMatching(/^Restored by Ada/),
    ])
  })

  test('if another moderator decided, it is said who, and why', async () => {
    const { page, ada } = await startWithAda()
    const bo = await page.signIn('Bo Diddley')
    const shown = (await ada.get(`/apps/${apps.pending}`)).text
    expect((await decide(bo, shown, 'reject', { reason: 'It rains.' })).status).toBe(303)
    const lost = await decide(ada, shown, 'approve')
    expect(lost.status).toBe(409)
    expect(problemOf(lost.text)).toMatch(
      /^Nothing was decided: Bo Diddley \(signed in\) rejected it .* ago\.$/,
    )
    expect(newsOf(lost.text)).toMatch(
      /^Rejected by Bo Diddley \(signed in\), .*: It rains\. Status Status pending → rejected$/,
    )
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'rejected' })
  })

  test('an app that was deleted is not decided, and can be restored', async () => {
    const { service, page, ada } = await startWithService()
    const shown = (await ada.get(`/apps/${apps.pending}`)).text
    await service.request('DELETE', `/apps/${apps.pending}`, { key: keys.ada })
    const refused = await decide(ada, shown, 'approve')
    expect(refused.status).toBe(409)
    expect(problemOf(refused.text)).toBe(
      'Nothing was decided: app 2 is deleted now; it must be restored first.',
    )
    expect(newsOf(refused.text)).toMatch(/^Deleted by Ada/)
    expect(formOf(refused.text, '/decisions')).toBeUndefined()
    const app = valuesOf(refused.text, 'app')
    expect((await submit(ada, refused.text, '/restorations', { app })).status).toBe(303)
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending', deleted_at: null })
    // The last entry is Ada's own, but no decision.
    expect((await decide(ada, shown, 'approve')).status).toBe(409)
    // A form that does not say what was seen has no news.
    const late = await (await page.signIn('Bo')).post('/restorations', { app })
    expect([late.status, titleOf(late.text), newsOf(late.text)]).toEqual([
      400,
      'Cloud Atlas – Moderation',
      '',
    ])
  })
})

test('a listed app that is restored is public at once, in cached lists, too', async () => {
  const { service, page, ada } = await startWithService()
  await service.request('DELETE', `/apps/${apps.approved}`, { key: keys.ada })
  const isListed = async () => (await service.get('/apps')).text.includes('"tide-clock"')
  for (const _ of [1, 2, 3]) expect(await isListed()).toBe(false)
  const app = await referenceTo(page, apps.approved)
  expect((await ada.post('/restorations', { app })).status).toBe(303)
  expect(await isListed()).toBe(true)
  await expectConsistent(page.database)
})

test('an internal error is a 500 that shows nothing internal, decides nothing and is logged', async () => {
  const { page, ada } = await startWithAda()
  const app = await referenceTo(page, apps.pending)
  await page.database.write(({ sql }) => sql.raw('alter table audit rename to renamed'))
  const { status, text } = await ada.post('/decisions', { app, decision: 'approve' })
  expect([status, textOf(text)]).toEqual([500, expect.stringContaining('Internal error')])
  expect(text).not.toMatch(/table|relation|insert/i)
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
  expect(page.log.some((line) => JSON.parse(line).level === 50)).toBe(true)
})

test('each form does nothing if its address is wrong, and what it says at the right one', async () => {
  const { page, ada } = await startWithAda()
  const [pending, other, approved, deleted] = await Promise.all(
    [apps.pending, apps.bobsPending, apps.approved, apps.deleted].map((id) =>
      referenceTo(page, id),
    ),
  )
  const forms: [path: string, fields: Fields][] = [
    ['/decisions', { app: pending ?? '', decision: 'approve' }],
    ['/decisions', { app: other ?? '', decision: 'approve', seen: '0' }],
    ['/reopenings', { reopened: approved ?? '' }],
    ['/restorations', { app: deleted ?? '' }],
    ['/removed-reviews', { app: String(apps.approved), review: '1', reason: 'Rude.' }],
  ]
  const before = await newestEntries(page, 1)
  for (const [path, fields] of forms)
    expect((await ada.post(`${path}?queue=pending&after=x`, fields)).status).toBe(400)
  expect(await newestEntries(page, 1)).toEqual(before)
  for (const [path, fields] of forms)
    expect((await ada.post(`${path}?queue=pending`, fields)).status, path).toBe(303)
})

test('a review is removed with a reason, and kept in the history', async () => {
  const { service, ada } = await startWithService()
  const path = `/apps/${apps.approved}`
  const { text } = await ada.get(path)
  const [review = ''] = valuesOf(text, 'review')
  const remove = (reason: string) => submit(ada, text, '/removed-reviews', { review, reason })
  const countReviews = async () => (await service.get(path)).body.data.app.review_count

  const reason = 'x'.repeat(1001)
  const refused = await remove(reason)
  expect([refused.status, titleOf(refused.text), await countReviews()]).toEqual([
    400,
    'Tide Clock – Moderation',
    3,
  ])
  // The form is shown on demand, and open if it was refused. The reason stays with its review.
  expect(refused.text.match(/<details open>\s*<summary>Remove/g)).toHaveLength(1)
  expect(valuesOf(refused.text, 'reason').filter(Boolean)).toEqual([reason])

  const done = (await follow(ada, await remove('An advert.'))).text
  // The public service sees it at once.
  expect(await countReviews()).toBe(2)
  expect(valuesOf(done, 'review')).not.toContain(review)
  expect(textOf(done)).toMatch(/Review removed by Ada \(signed in\), .*: An advert\./)
  expect(textOf((await ada.get('/audit')).text)).toMatch(
    /removed a review of Tide Clock: An advert\..* Rating \d → – .*Reviewer \S+ → –/,
  )
})
