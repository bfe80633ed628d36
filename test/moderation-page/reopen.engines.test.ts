import { describe, expect, inject, test } from 'vitest'
import { expectStatuses } from '../support/check.ts'
import { expectConsistent } from '../support/consistency.ts'
import { formOf, reportOf, textOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  barOf,
  decide,
  follow,
  newestEntries,
  queued,
  queuedIds,
  startWithService,
  stateOf,
  submit,
  type Visitor,
} from '../support/moderation-page.ts'
import { commandLine } from '../support/process.ts'

/** Decisions that are taken back, on the page and by the command. */

const { apps, keys } = inject('world')

/** Presses "Back to the queue" in the line that reports a decision. */
const pressInReport = (visitor: Visitor, text: string) =>
  submit(visitor, text, '/reopenings', { reopened: valuesOf(text, 'reopened') })

describe('a reopened app', () => {
  test.for<['approved' | 'rejected']>([['approved'], ['rejected']])(
    'that was %s is pending for its owner, without a reason, and hidden from others',
    async ([state]) => {
      const { service, page, ada } = await startWithService()
      const id = apps[state]
      const { text } = await ada.get(`/apps/${id}`)
      const reopened = await follow(ada, await decide(ada, text, 'reopen'))
      expect(reportOf(reopened.text)).toMatch(/Tide Clock|Broken Compass/)

      expect((await service.get(`/apps/${id}`)).status).toBe(404)
      const found = await service.get('/apps?search=tide')
      expect(found.body.data.apps.map((app: { id: number }) => app.id)).not.toContain(id)
      const own = await service.get('/developer/apps', { key: keys.ada })
      const [app] = own.body.data.apps
      expect(app).toMatchObject({ id, status: 'pending', waiting_since: app.updated_at })
      expect(app).not.toHaveProperty('decided_at')
      expect(app).not.toHaveProperty('rejection_reason')
      await expectConsistent(page.database)
      expect(await newestEntries(page, 1)).toMatchObject([
        { action: 'app reopen', app_id: id, operator_name: 'Ada' },
      ])
    },
  )

  test('waits from then on, as the last one, and says nothing of changes', async () => {
    const { page, ada } = await startWithService()
    await addApps(page, [{ name: 'Waiting' }])
    const shown = (await ada.get(`/apps/${apps.approved}`)).text
    const { text } = await follow(ada, await decide(ada, shown, 'reopen'))
    expect(barOf(text)).toMatch(/Pending waits (a moment|\d+ (ms|seconds?))/)
    expect(textOf(text)).not.toContain('Changed and reverted')
    expect(queued((await ada.get('/')).text).slice(-2)).toEqual(['Waiting', 'Tide Clock'])
    expect(queued((await ada.get('/?queue=changed')).text)).toEqual([])
  })

  test('keeps the changes of its owner that nobody has reviewed', async () => {
    const { service, ada } = await startWithService()
    const json = { name: 'Tide Casino' }
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
    const shown = (await ada.get(`/apps/${apps.approved}`)).text
    const { text } = await follow(ada, await decide(ada, shown, 'reopen'))
    expect(textOf(text)).toMatch(/Tide Clock .*Tide Casino/)
    expect(queued((await ada.get('/?queue=changed')).text)).toEqual([])
  })

  test('is approved again with its first approval, or rejected', async () => {
    const { service, page } = await startWithService()
    const approvedAt = async () =>
      (await service.get(`/apps/${apps.approved}`)).body.data.app.approved_at
    const first = await approvedAt()
    await service.decide('reopen', apps.approved)
    await service.decide('approve', apps.approved)
    expect(await approvedAt()).toBe(first)
    await service.decide('reopen', apps.approved)
    await service.decide('reject', apps.approved)
    expect(await stateOf(page, apps.approved)).toMatchObject({ status: 'rejected' })
    await expectConsistent(page.database)
  })
})

describe('the line that reports a decision puts the app back', () => {
  const view = 'queue=pending&developer=Bob&category=games'

  test('and leads back to where one was', async () => {
    const { page, ada } = await startWithService()
    const ids = await addApps(page, [{ name: 'One' }, { name: 'Two' }, { name: 'Three' }])
    const { text } = await ada.get(`/apps/${ids[0]}?${view}`)
    const next = (await follow(ada, await decide(ada, text, 'approve'))).text
    const done = await pressInReport(ada, next)
    expect(done.headers.location).toBe(`/apps/${ids[1]}?${view}&decided=${ids[0]}`)
    const back = (await follow(ada, done)).text
    expect(reportOf(back)).toContain('One')
    // Nothing is left to take back.
    expect(formOf(back, '/reopenings')).toBeUndefined()
    // Twice, as by a double click.
    expect((await pressInReport(ada, next)).headers.location).toBe(done.headers.location)
    const entries = await newestEntries(page, 2)
    expect(entries.map(({ action }) => action)).toEqual(['app reopen', 'app approve'])
  })

  test('also from the queue, at the end of the walk', async () => {
    const { page, ada } = await startWithService()
    const [id] = await addApps(page, [{ name: 'One' }])
    const { text } = await ada.get(`/apps/${id}?${view}`)
    const decided = await decide(ada, text, 'reject', { reason: 'It sank.' })
    const queue = (await follow(ada, decided)).text
    const back = await follow(ada, await pressInReport(ada, queue))
    expect(queued(back.text)).toEqual(['One'])
    expect(await stateOf(page, id ?? 0)).toMatchObject({ rejection_reason: null })
  })

  test('unless the app has changed since: then its page says so', async () => {
    const { service, page, ada } = await startWithService()
    const { text } = await ada.get(`/apps/${apps.pending}?queue=pending`)
    const next = (await follow(ada, await decide(ada, text, 'approve'))).text
    const json = { version: '7.0.0' }
    await service.request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json })
    const refused = await pressInReport(ada, next)
    expect([refused.status, queuedIds(refused.text)]).toEqual([409, [apps.pending]])
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'approved' })
  })

  test('only if one app was decided, by whoever reads it, and not deleted', async () => {
    const { service, page, ada } = await startWithService()
    const ids = await addApps(page, [{ name: 'One' }, { name: 'Two' }])
    const { text } = await ada.get(`/?${view}`)
    const both = await decide(ada, text, 'approve', { app: valuesOf(text, 'app') })
    const report = (await follow(ada, both)).text
    expect(reportOf(report)).toContain('One, Two')
    expect(formOf(report, '/reopenings')).toBeUndefined()
    const bo = await page.signIn('Bo')
    const isOffered = async (visitor: Visitor) =>
      formOf((await visitor.get(`/?decided=${ids[0]}`)).text, '/reopenings') !== undefined
    expect([await isOffered(ada), await isOffered(bo)]).toEqual([true, false])
    await service.request('DELETE', `/apps/${ids[0]}`, { key: keys.bob })
    expect(await isOffered(ada)).toBe(false)
  })
})

test('the command reopens each app, and refuses one that is pending, deleted or changed', async () => {
  const { service } = await startWithService()
  const cli = commandLine(service.databaseUrl)
  const ids = [apps.approved, apps.pending, apps.deleted, `${apps.rejected}@00000`]
  const { code, stdout, stderr } = await cli.run('moderation', 'reopen', ...ids.map(String))
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(
      /^App 1 \(tide-clock\) is now pending\. Its name is "Tide Clock"; before the decision, it last changed .*\n$/,
    ),
  ])
  expect(stderr).toMatch(/app 2 .*\n.*app 4 .*\n.*app 3 /)
  expectStatuses([await service.get(`/apps/${apps.approved}`)], [404])
})
