import { describe, expect, inject, test, vi } from 'vitest'
import { renameDeveloper } from '../../src/accounts/account-store.ts'
import { recordEntry } from '../../src/audit/audit-store.ts'
import type { NewAppRow } from '../../src/catalogue/app-store.ts'
import { queueTimeout } from '../../src/moderation-page/parts/context.ts'
import { required } from '../../src/util/helpers.ts'
import { stopTimers } from '../support/clock.ts'
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
  follow,
  type ModerationPage,
  newestEntries,
  newsOf,
  queued,
  queuedIds,
  skip,
  startWithAda,
  startWithService,
  stateOf,
  submit,
} from '../support/moderation-page.ts'
import { concurrency, saturate } from '../support/saturate.ts'

/** Deciding the apps of a queue one after the other, each on its page, without a list between. */

const { apps, categories, keys } = inject('world')
const [adasId, bobsId] = [1, 2]
const hour = 60 * 60 * 1000

/** The app that a page is about. */
const shownId = (page: string): number | undefined => queuedIds(page)[0]

const isQueue = (page: string) => /^(Pending|Changed) apps – /.test(titleOf(page))

/** A queue, and the name of the apps in it. All others pass no filter, as those of the world. */
type Walk = { view: string; name: string }

const games: Walk = { view: 'queue=pending&developer=Bob&category=games', name: 'Needle' }
const changed: Walk = { view: 'queue=changed&category=games', name: 'Needle' }
const allFilters: Walk = { view: 'queue=changed&developer=Bob&category=games', name: 'Needle' }

/** Changed apps, which wait from one minute to the next. */
const toChanged = (app: Partial<NewAppRow>, index: number): Partial<NewAppRow> => ({
  ...app,
  status: 'approved',
  approved_at: '2026-01-01T00:00:00.000Z',
  unreviewed_since: new Date(Date.UTC(2026, 0, 2, 0, index)).toISOString(),
  unreviewed_changes: JSON.stringify({ version: '0.9.0' }),
})

/** A queue of so many apps, each behind one that does not pass the filter. */
async function start(count: number, { view, name }: Walk) {
  const { service, page, ada } = await startWithService()
  const hay = { developer_id: adasId, category_id: categories.tools, name: 'Hay' }
  const added = Array.from({ length: count * 2 }, (_, index) => (index % 2 === 0 ? hay : { name }))
  const all = await addApps(page, view.includes('changed') ? added.map(toChanged) : added)
  const ids = all.filter((_, index) => index % 2 === 1)
  /** The page of an app in the queue. */
  const open = async (index: number, visitor = ada) =>
    (await visitor.get(`/apps/${ids[index]}?${view}`)).text
  const changeAsOwner = async (index: number, version: string) => {
    const { status } = await service.request('PUT', `/apps/${ids[index]}`, {
      key: keys.bob,
      json: { version },
    })
    expect(status).toBe(200)
  }
  const statusOf = async (index: number) => (await stateOf(page, ids[index] ?? 0))?.status
  return { service, page, ids, ada, view, open, changeAsOwner, statusOf }
}

type Start = Awaited<ReturnType<typeof start>>

test.for([
  // More than a page of the queue has.
  { count: 60, walk: games },
  { count: 6, walk: allFilters },
])('each of $count apps is decided once, and no other: $walk.view', async ({ count, walk }) => {
  const { page, ids, ada, view, open } = await start(count, walk)
  const [before] = await newestEntries(page, 1)
  let text = await open(0)
  for (const [index, id] of ids.entries()) {
    expect(shownId(text)).toBe(id)
    expect(textOf(text)).toContain(` 1 of ${count - index} `)
    const isRejected = index % 3 === 0
    const decided = await (isRejected
      ? decide(ada, text, 'reject', { reason: 'No.' })
      : decide(ada, text, 'approve'))
    const next = ids[index + 1]
    expect(decided.headers.location).toBe(
      `${next === undefined ? '/' : `/apps/${next}`}?${view}&decided=${id}`,
    )
    text = (await follow(ada, decided)).text
    const left = count - index - 1
    expect(reportOf(text)).toBe(
      `${isRejected ? 'Rejected' : 'Approved'} ${walk.name}. ${left} ${left === 1 ? 'waits' : 'wait'}.`,
    )
    expect((await stateOf(page, id))?.status).toBe(isRejected ? 'rejected' : 'approved')
  }
  expect([isQueue(text), queued(text)]).toEqual([true, []])
  const entries = await page.database.read(({ sql }) =>
    sql('audit')
      .where('id', '>', before?.id ?? 0)
      .whereNotNull('app_id')
      .orderBy('id'),
  )
  expect(entries.map(({ app_id }) => app_id)).toEqual(ids)
})

test('an app that is skipped waits on, and the others are decided', async () => {
  const { ids, ada, open, statusOf } = await start(4, games)
  let text = await open(0)
  for (const isSkipped of [true, false, true, false]) {
    if (isSkipped) text = (await skip(ada, text)).text
    else text = (await follow(ada, await decide(ada, text, 'approve'))).text
    expect(reportOf(text) === '').toBe(isSkipped)
  }
  expect([isQueue(text), queuedIds(text)]).toEqual([true, [ids[0], ids[2]]])
  expect(await Promise.all([0, 1, 2, 3].map(statusOf))).toEqual([
    ...['pending', 'approved', 'pending', 'approved'],
  ])
  // The second time, they can be decided.
  const next = (await follow(ada, await decide(ada, await open(0), 'approve'))).text
  expect(shownId(next)).toBe(ids[2])
})

describe('the next of five apps is right', () => {
  /** Others decide these apps. */
  const take =
    (...indexes: number[]) =>
    async ({ page, open }: Start) => {
      const cy = await page.signIn('Cy')
      for (const index of indexes)
        expect((await decide(cy, await open(index, cy), 'reject', { reason: 'No.' })).status).toBe(
          303,
        )
    }
  const deleteAsOwner =
    (index: number) =>
    async ({ service, ids }: Start) => {
      const { status } = await service.request('DELETE', `/apps/${ids[index]}`, { key: keys.bob })
      expect(status).toBe(200)
    }
  const nothing = async () => {}

  /** `next` is a place in the queue; undefined is the list. */
  test.for<{
    walk: Walk
    decided: number
    what: string
    meanwhile: (start: Start) => Promise<void>
    next: number | undefined
  }>([
    { walk: games, decided: 4, what: 'nothing', meanwhile: nothing, next: undefined },
    { walk: games, decided: 2, what: 'nothing', meanwhile: nothing, next: 3 },
    { walk: games, decided: 0, what: 'others take the next', meanwhile: take(1), next: 2 },
    { walk: games, decided: 2, what: 'others take the former', meanwhile: take(0, 1), next: 3 },
    { walk: games, decided: 3, what: 'others take the rest', meanwhile: take(4), next: undefined },
    { walk: games, decided: 0, what: 'its owner deletes it', meanwhile: deleteAsOwner(1), next: 2 },
    { walk: changed, decided: 1, what: 'others take two', meanwhile: take(2, 3), next: 4 },
    { walk: allFilters, decided: 1, what: 'others take two', meanwhile: take(2, 3), next: 4 },
  ])('after $decided in $walk.view if $what', async ({ walk, decided, meanwhile, next }) => {
    const all = await start(5, walk)
    const text = await all.open(decided)
    await meanwhile(all)
    const { headers } = await decide(all.ada, text, 'approve')
    const path = next === undefined ? '/' : `/apps/${all.ids[next]}`
    expect(headers.location).toBe(`${path}?${all.view}&decided=${all.ids[decided]}`)
  })

  test('if another app came to the end of the queue meanwhile', async () => {
    const { page, ada, open } = await start(2, games)
    const text = await open(1)
    const [late] = await addApps(page, [{ name: 'Late', created_at: '2026-02-01T00:00:00.000Z' }])
    const done = await follow(ada, await decide(ada, text, 'approve'))
    expect(shownId(done.text)).toBe(late)
  })

  test('if the owner changes a decided one again, which comes back at the end', async () => {
    const { ids, ada, open, changeAsOwner } = await start(3, changed)
    const decided = await decide(ada, await open(0), 'approve')
    await changeAsOwner(0, '7.0.0')
    let text = (await follow(ada, decided)).text
    expect(reportOf(text)).toBe('Approved Needle. 3 wait.')
    for (const index of [1, 2, 0]) {
      expect(shownId(text)).toBe(ids[index])
      text = (await follow(ada, await decide(ada, text, 'approve'))).text
    }
    expect([isQueue(text), queued(text)]).toEqual([true, []])
  })

  test('after the decision of another moderator, which moves the app in the queue', async () => {
    const { page, ids, ada, open } = await start(4, changed)
    const bo = await page.signIn('Bo')
    const text = await open(1)
    // The approved app no longer says since when it waited, so its own place is the first one.
    await decide(bo, await open(1, bo), 'approve')
    const lost = await decide(ada, text, 'approve')
    expect(lost.status).toBe(409)
    expect(shownId((await skip(ada, lost.text)).text)).toBe(ids[2])
    const done = await decide(ada, lost.text, 'reject', { reason: 'No.' })
    expect(shownId((await follow(ada, done)).text)).toBe(ids[2])
  })
})

describe('a wrong decision', () => {
  const reasonFor = { approve: {}, reject: { reason: 'It sank.' } }

  test.for([
    { wrong: 'approve', shows: ['reject'], right: 'reject', reports: ['Approved', 'Rejected'] },
    {
      wrong: 'reject',
      shows: ['approve', 'reopen'],
      right: 'approve',
      reports: ['Rejected', 'Approved'],
    },
  ] as const)('to $wrong is reversed with two requests, back to where one was', async (row) => {
    const { ids, ada, view, open, statusOf } = await start(4, games)
    const wrong = await decide(ada, await open(0), row.wrong, reasonFor[row.wrong])
    const next = (await follow(ada, wrong)).text
    expect([shownId(next), reportOf(next)]).toEqual([ids[1], `${row.reports[0]} Needle. 3 wait.`])

    const shown = (await ada.get(addressOf(next, 'Needle'))).text
    expect([shownId(shown), valuesOf(shown, 'decision')]).toEqual([ids[0], row.shows])
    const reversed = await decide(ada, shown, row.right, reasonFor[row.right])
    expect(reversed.headers.location).toBe(`/apps/${ids[1]}?${view}&decided=${ids[0]}`)
    expect(await statusOf(0)).toBe(row.reports[1].toLowerCase())

    // And on from there.
    const back = (await follow(ada, reversed)).text
    expect(reportOf(back)).toBe(`${row.reports[1]} Needle. 3 wait.`)
    const on = (await follow(ada, await decide(ada, back, 'approve'))).text
    expect(shownId(on)).toBe(ids[2])
  })

  test('about the last app of a queue is reversed from the list', async () => {
    const { ada, open, statusOf } = await start(1, games)
    const list = (await follow(ada, await decide(ada, await open(0), 'approve'))).text
    expect(isQueue(list)).toBe(true)
    const shown = (await ada.get(addressOf(list, 'Needle'))).text
    const back = (await follow(ada, await decide(ada, shown, 'reject', reasonFor.reject))).text
    expect([isQueue(back), reportOf(back)]).toEqual([true, 'Rejected Needle. 0 wait.'])
    expect(await statusOf(0)).toBe('rejected')
  })

  test('leads back to where one was, not to an app that was skipped', async () => {
    const { ids, ada, open } = await start(4, changed)
    const skipped = (await skip(ada, await open(0))).text
    const next = (await follow(ada, await decide(ada, skipped, 'approve'))).text
    expect([shownId(skipped), shownId(next)]).toEqual([ids[1], ids[2]])
    const shown = (await ada.get(addressOf(next, 'Needle'))).text
    expect(shownId((await skip(ada, shown)).text)).toBe(ids[2])
    const back = await follow(ada, await decide(ada, shown, 'reject', reasonFor.reject))
    expect(shownId(back.text)).toBe(ids[2])
  })
})

test('a decision that is refused keeps the queue, the reason, and the way on', async () => {
  const { page, ids, ada, open, changeAsOwner } = await start(3, games)
  const text = await open(0)
  await changeAsOwner(0, '7.0.0')
  const refused = await decide(ada, text, 'reject', { reason: 'It "sank" & more.' })
  expect([refused.status, shownId(refused.text)]).toEqual([409, ids[0]])
  expect(valuesOf(refused.text, 'reason')).toEqual(['It "sank" & more.'])
  expect(shownId((await skip(ada, refused.text)).text)).toBe(ids[1])
  // Changed once more, so that the second attempt is refused, too.
  await changeAsOwner(0, '8.0.0')
  const again = await decide(ada, refused.text, 'reject')
  expect(again.status).toBe(409)
  expect(newsOf(again.text)).toContain('Version 7.0.0 → 8.0.0')
  expect(newsOf(again.text)).not.toContain('1.0.0 → 7.0.0')
  const done = await follow(ada, await decide(ada, again.text, 'reject'))
  expect([shownId(done.text), reportOf(done.text)]).toEqual([ids[1], 'Rejected Needle. 2 wait.'])
  expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ rejection_reason: 'It "sank" & more.' })
})

test.for<{ what: string; fields: Record<string, string> }>([
  { what: 'too long a reason', fields: { decision: 'reject', reason: 'x'.repeat(1001) } },
  { what: 'no decision', fields: { reason: 'Spam & "ham"' } },
])('a form with $what is shown again as it was', async ({ fields }) => {
  const { page, ids, ada, view } = await start(3, games)
  const before = await newestEntries(page, 1)
  // Which leads to another app than the next one of the queue.
  const { text } = await ada.get(`/apps/${ids[0]}?${view}&next=${ids[2]}`)
  const form = required(formOf(text, '/decisions'), 'the form')
  const refused = await submit(ada, text, '/decisions', fields)
  expect([refused.status, titleOf(refused.text)]).toEqual([400, 'Needle – Moderation'])
  expect(problemOf(refused.text)).not.toBe('')
  expect(await newestEntries(page, 1)).toEqual(before)
  expect(formOf(refused.text, '/decisions')).toEqual({
    ...form,
    fields: { ...form.fields, reason: [fields.reason] },
  })
  expect(textOf(refused.text)).toContain(' 1 of 3 ')
  const done = await follow(ada, await decide(ada, refused.text, 'reject', { reason: 'No.' }))
  expect(shownId(done.text)).toBe(ids[2])
})

const recordApproval = (
  { database }: ModerationPage,
  operatorId: string,
  app_id: number,
  time: number,
) =>
  database.write((runner) =>
    recordEntry(
      runner,
      { operator: 'root', operatorName: 'Ada', operatorId },
      {
        action: 'app approve',
        at: new Date(time).toISOString(),
        app_id,
        developer_id: bobsId,
        after: {},
      },
    ),
  )

describe('an address that reports decisions', () => {
  test.for([
    // Ada has approved Bird Song, and nobody has decided about the others.
    { parameters: 'decided=1+2+3+4+5+6+999', report: 'Approved Bird Song.' },
    { parameters: 'decided=1', report: '' },
    { parameters: 'decided=1&refused=1', report: 'Not decided Tide Clock (approved meanwhile).' },
    { parameters: 'decided=5&refused=5', report: 'Not decided Bird Song (approved meanwhile).' },
    {
      parameters: 'refused=4+3+2',
      report:
        'Not decided Cloud Atlas (changed meanwhile), Broken Compass (rejected meanwhile), Gone (deleted meanwhile).',
    },
    { parameters: 'next=999', report: '' },
  ])('says what was decided by who opens it, and decides nothing: $parameters', async (row) => {
    const { page, ada } = await startWithAda()
    const bo = await page.signIn('Bo')
    await recordApproval(page, ada.id, apps.bobs, Date.now())
    const before = await newestEntries(page, 1)
    for (const path of ['/?', '/?queue=changed&', '/apps/5?', '/apps/6?queue=pending&']) {
      const { status, text } = await ada.get(path + row.parameters)
      expect(status).toBe(200)
      expect(reportOf(text).replace(/ \d+ waits?\.$/, ''), path).toBe(row.report)
      expect(reportOf((await bo.get(path + row.parameters)).text)).not.toContain('Approved')
    }
    expect(await newestEntries(page, 1)).toEqual(before)
  })

  test('does so for an hour, whoever else has decided since', async () => {
    const { page, ada } = await startWithAda()
    const report = async () => reportOf((await ada.get(`/?decided=${apps.bobs}`)).text)
    await recordApproval(page, ada.id, apps.bobs, Date.now() - 24 * hour)
    expect(await report()).toBe('')
    await recordApproval(page, ada.id, apps.bobs, Date.now() - hour / 2)
    const bo = await page.signIn('Bo')
    const shown = (await bo.get(`/apps/${apps.bobs}`)).text
    await decide(bo, shown, 'reject', { reason: 'Spam.' })
    expect(await report()).toBe('Approved Bird Song. 2 wait.')
  })
})

describe('once it is made, a decision is never answered as an error', () => {
  test('also if the developer of the filter has another name now', async () => {
    const { page, ada, open, statusOf } = await start(3, games)
    const text = await open(0)
    await page.database.write((runner) =>
      renameDeveloper(runner, 'Bob', 'Robert', { operator: 'test' }),
    )
    const done = await follow(ada, await decide(ada, text, 'approve'))
    expect(await statusOf(0)).toBe('approved')
    expect(textOf(done.text)).toContain('Approved Needle.')
    expect(problemOf(done.text)).toContain('Bob')
  })

  test('also if searches use their whole bulkhead, so that the next app cannot be found', async () => {
    const { page, ids, ada, open, statusOf } = await start(3, games)
    const text = await open(1)
    const release = await saturate(
      (work) => page.database.snapshot(work, { isExpensive: true }),
      concurrency.expensive,
    )
    stopTimers()
    const deciding = decide(ada, text, 'approve')
    // A busy machine may not have come so far, and a read for the session waits, too.
    await expect.poll(() => statusOf(1)).toBe('approved')
    await expect.poll(() => page.database.usage().pools[0]?.queued).toBe(1)
    vi.advanceTimersByTime(2 * queueTimeout)
    const decided = await deciding
    await release()
    expect([decided.status, await statusOf(1)]).toEqual([303, 'approved'])
    const done = (await follow(ada, decided)).text
    expect(reportOf(done)).toBe('Approved Needle. 2 wait.')
    // It goes on behind the app, not from the beginning.
    expect(queuedIds(done)).toEqual([ids[2]])
  })
})
