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
  startWithAda,
  startWithService,
  stateOf,
  submit,
  type Visitor,
} from '../support/moderation-page.ts'
import { commandLine } from '../support/process.ts'

/** Apps that are reopened: on the page, by Undo and by the command. */

const { apps, keys } = inject('world')
const reasonOf = { approve: '', reject: 'It sank.' }

/** Presses Undo in the line that reports a decision. */
const undo = (visitor: Visitor, text: string) =>
  submit(visitor, text, '/reopenings', { reopened: valuesOf(text, 'reopened') })

const hasUndo = (text: string) => formOf(text, '/reopenings') !== undefined

describe('a reopened app', () => {
  test.for<['approved' | 'rejected']>([['approved'], ['rejected']])(
    'that was %s is pending for its owner, without a reason, and hidden from others',
    async ([state]) => {
      const { service, page } = await startWithService()
      const id = apps[state]
      await service.decide('reopen', id)
      expect((await service.get(`/apps/${id}`)).status).toBe(404)
      const found = await service.get('/apps?search=tide')
      expect(found.body.data.apps.map((app: { id: number }) => app.id)).not.toContain(id)
      const own = await service.get('/developer/apps', { key: keys.ada })
      const [app] = own.body.data.apps
      expect(app).toMatchObject({ id, status: 'pending', waiting_since: app.updated_at })
      expect(app).not.toHaveProperty('decided_at')
      expect(app).not.toHaveProperty('rejection_reason')
      await expectConsistent(page.database)
    },
  )

  test('waits from then on, as the last one, and says nothing of changes', async () => {
    const { page, ada } = await startWithService()
    await addApps(page, [{ name: 'Waiting' }])
    const shown = (await ada.get(`/apps/${apps.rejected}`)).text
    const { text } = await follow(ada, await decide(ada, shown, 'reopen'))
    expect(reportOf(text)).toMatch(/^Reopened Broken Compass\./)
    expect(barOf(text)).toMatch(/Pending waits (a moment|\d+ (ms|seconds?))/)
    expect(textOf(text)).not.toContain('Changed and reverted')
    expect(queued((await ada.get('/')).text).slice(-2)).toEqual(['Waiting', 'Broken Compass'])
    expect(queued((await ada.get('/?queue=changed')).text)).toEqual([])
    expect(await newestEntries(page, 1)).toMatchObject([
      { action: 'app reopen', app_id: apps.rejected, operator_name: 'Ada' },
    ])
  })

  test('keeps the changes of its owner that nobody has reviewed', async () => {
    const { service, ada } = await startWithService()
    const json = { name: 'Tide Casino' }
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
    await service.decide('reopen', apps.approved)
    const { text } = await ada.get(`/apps/${apps.approved}`)
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

describe('no button takes a listed app offline without a reason', () => {
  test('on its page, in the walk through changes, and in the lines after each decision', async () => {
    const { service, page, ada } = await startWithService()
    const id = apps.approved
    const change = (name: string) =>
      service.request('PUT', `/apps/${id}`, { key: keys.ada, json: { name } })
    await change('Tide Casino')
    const alone = (await ada.get(`/apps/${id}`)).text
    const inWalk = (await ada.get(`/apps/${id}?queue=changed`)).text
    for (const text of [alone, inWalk])
      expect(valuesOf(text, 'decision')).toEqual(['approve', 'reject'])
    const approved = (await follow(ada, await decide(ada, inWalk, 'approve'))).text
    expect([reportOf(approved), hasUndo(approved)]).toEqual([
      'Approved Tide Casino. 0 wait.',
      false,
    ])
    await change('Tide Clock')
    const list = (await ada.get('/?queue=changed')).text
    const selected = { app: valuesOf(list, 'app') }
    const fromList = (await follow(ada, await decide(ada, list, 'approve', selected))).text
    expect([reportOf(fromList), hasUndo(fromList)]).toEqual(['Approved Tide Clock. 0 wait.', false])
    expect(await stateOf(page, id)).toMatchObject({ status: 'approved' })
  })

  test('what was not pending has no Undo: an app that was taken down, or was rejected', async () => {
    const { ada } = await startWithService()
    const shown = (await ada.get(`/apps/${apps.approved}`)).text
    const reason = { reason: 'It sank.' }
    const down = (await follow(ada, await decide(ada, shown, 'reject', reason))).text
    expect([reportOf(down), hasUndo(down)]).toEqual(['Rejected Tide Clock.', false])
    const up = (await follow(ada, await decide(ada, down, 'approve'))).text
    expect([reportOf(up), hasUndo(up)]).toEqual(['Approved Tide Clock.', false])
  })
})

describe('Undo, in the line that reports a decision, reopens the app', () => {
  const view = 'queue=pending&developer=Bob&category=games'

  test('and leads back to where one was', async () => {
    const { page, ada } = await startWithService()
    const ids = await addApps(page, [{ name: 'One' }, { name: 'Two' }, { name: 'Three' }])
    const { text } = await ada.get(`/apps/${ids[0]}?${view}`)
    const next = (await follow(ada, await decide(ada, text, 'approve'))).text
    const done = await undo(ada, next)
    expect(done.headers.location).toBe(`/apps/${ids[1]}?${view}&decided=${ids[0]}`)
    const back = (await follow(ada, done)).text
    expect(reportOf(back)).toContain('One')
    // Nothing is left to undo.
    expect(hasUndo(back)).toBe(false)
    // Twice, as by a double click.
    expect((await undo(ada, next)).headers.location).toBe(done.headers.location)
    const entries = await newestEntries(page, 2)
    expect(entries.map(({ action }) => action)).toEqual(['app reopen', 'app approve'])
  })

  test('also from the queue, at the end of the walk', async () => {
    const { page, ada } = await startWithService()
    const [id] = await addApps(page, [{ name: 'One' }])
    const { text } = await ada.get(`/apps/${id}?${view}`)
    const decided = await decide(ada, text, 'reject', { reason: 'It sank.' })
    const queue = (await follow(ada, decided)).text
    const back = await follow(ada, await undo(ada, queue))
    expect(queued(back.text)).toEqual(['One'])
    expect(await stateOf(page, id ?? 0)).toMatchObject({ rejection_reason: null })
  })

  test('unless the app has changed since: then its page says so', async () => {
    const { service, page, ada } = await startWithService()
    const { text } = await ada.get(`/apps/${apps.pending}?queue=pending`)
    const next = (await follow(ada, await decide(ada, text, 'approve'))).text
    const json = { version: '7.0.0' }
    await service.request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json })
    const refused = await undo(ada, next)
    expect([refused.status, queuedIds(refused.text)]).toEqual([409, [apps.pending]])
    expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'approved' })
    // A reload offers nothing that would hide the new version.
    expect(hasUndo((await ada.get(`/?decided=${apps.pending}`)).text)).toBe(false)
  })

  test('unless somebody else has decided since, and only for the one who decided', async () => {
    const { service, page, ada } = await startWithService()
    const bo = await page.signIn('Bo')
    const { text } = await ada.get(`/apps/${apps.pending}?queue=pending`)
    const next = (await follow(ada, await decide(ada, text, 'approve'))).text
    const address = `/?decided=${apps.pending}`
    expect(hasUndo((await bo.get(address)).text)).toBe(false)
    const bos = (await bo.get(`/apps/${apps.pending}`)).text
    await decide(bo, bos, 'reject', { reason: 'It rains.' })
    expect((await undo(ada, next)).status).toBe(409)
    expect(hasUndo((await ada.get(address)).text)).toBe(false)
    expect(await stateOf(page, apps.pending)).toMatchObject({ rejection_reason: 'It rains.' })
    // Reopened and approved again, by others: still not Ada's own last decision.
    await service.decide('reopen', apps.pending)
    await service.decide('approve', apps.pending)
    expect(hasUndo((await ada.get(address)).text)).toBe(false)
    expect((await undo(ada, next)).status).toBe(409)
  })

  test('again after it is decided again', async () => {
    const { page, ada } = await startWithAda()
    let { text } = await ada.get(`/apps/${apps.pending}`)
    for (const decision of ['approve', 'reject'] as const) {
      text = (await follow(ada, await decide(ada, text, decision, { reason: reasonOf[decision] })))
        .text
      await follow(ada, await undo(ada, text))
      expect(await stateOf(page, apps.pending)).toMatchObject({
        status: 'pending',
        rejection_reason: null,
      })
      text = (await ada.get(`/apps/${apps.pending}`)).text
    }
  })

  test('only if one app was decided, and it is not deleted', async () => {
    const { service, page, ada } = await startWithService()
    const ids = await addApps(page, [{ name: 'One' }, { name: 'Two' }])
    const { text } = await ada.get(`/?${view}`)
    const both = await decide(ada, text, 'approve', { app: valuesOf(text, 'app') })
    const report = (await follow(ada, both)).text
    expect(reportOf(report)).toContain('One, Two')
    expect(hasUndo(report)).toBe(false)
    const isOffered = async () => hasUndo((await ada.get(`/?decided=${ids[0]}`)).text)
    expect(await isOffered()).toBe(true)
    await service.request('DELETE', `/apps/${ids[0]}`, { key: keys.bob })
    expect(await isOffered()).toBe(false)
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
