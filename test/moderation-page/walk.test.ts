import { describe, expect, inject, test } from 'vitest'
import { renameDeveloper } from '../../src/accounts/account-store.ts'
import { recordEntry } from '../../src/audit/audit-store.ts'
import type { NewAppRow } from '../../src/catalogue/app-store.ts'
import { expectStatuses } from '../support/check.ts'
import { formOf, linksOf, problemOf, reportOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  decide,
  follow,
  type ModerationPage,
  newestEntries,
  queued,
  skip,
  startModerationPage,
  stateOf,
  type Visitor,
} from '../support/moderation-page.ts'
import { concurrency, saturate } from '../support/saturate.ts'
import { startService } from '../support/service.ts'

/** Deciding the apps of a queue one after the other, each on its page. */

const { apps, categories, keys } = inject('world')
const [adasId, bobsId] = [1, 2]

/** The id of the app that a page is about. */
const shownId = (page: string): number => Number.parseInt(valuesOf(page, 'app')[0] ?? '', 10)

const addressOf = (page: string, name: string): string =>
  linksOf(page).find(([link]) => link === name)?.[1] ?? ''

const isQueue = (page: string) => /^(Pending|Changed) apps – /.test(titleOf(page))

/** Changed apps, which wait from one minute to the next. */
const changedApps = (added: Partial<NewAppRow>[]): Partial<NewAppRow>[] =>
  added.map((app, index) => ({
    ...app,
    status: 'approved',
    approved_at: '2026-01-01T00:00:00.000Z',
    unreviewed_since: new Date(Date.UTC(2026, 0, 2, 0, index)).toISOString(),
    unreviewed_changes: JSON.stringify({ version: '0.9.0' }),
  }))

const asIs = (added: Partial<NewAppRow>[]) => added

/**
 * Queues with filters, and what makes an app pass. All other apps pass none of them, as those of the
 * world, except in the queue without a filter.
 */
const views: [
  view: string,
  prepare: (added: Partial<NewAppRow>[]) => Partial<NewAppRow>[],
  name: string,
][] = [
  ['queue=pending&developer=Bob&category=games', asIs, 'Needle'],
  ['queue=pending&category=games', asIs, 'Needle'],
  ['queue=pending&look-alikes=on', asIs, 'Tide Cl0ck'],
  ['queue=pending&developer=Bob&look-alikes=on', asIs, 'Tide Cl0ck'],
  ['queue=changed&category=games', changedApps, 'Needle'],
  ['queue=changed&developer=Bob&category=games&look-alikes=on', changedApps, 'Tide Cl0ck'],
]

/** Adds apps that pass the filters, each behind one that passes none. Returns the ids of these. */
async function addBetweenOthers(
  page: ModerationPage,
  count: number,
  prepare: (added: Partial<NewAppRow>[]) => Partial<NewAppRow>[],
  name: string,
): Promise<number[]> {
  const added = Array.from({ length: count * 2 }, (_, index) =>
    index % 2 === 0
      ? { developer_id: adasId, category_id: categories.tools, name: `Hay ${index}` }
      : { developer_id: bobsId, category_id: categories.games, name },
  )
  const ids = await addApps(page, prepare(added))
  return ids.filter((_, index) => index % 2 === 1)
}

const start = async (count: number, view: string) => {
  const [, prepare, name] = views.find(([one]) => one === view) ?? ['', asIs, 'Needle']
  const service = await startService({ limits: { writeLimit: 0 } })
  const page = await startModerationPage({ databaseUrl: service.databaseUrl })
  const ids = await addBetweenOthers(page, count, prepare, name)
  return { service, page, ids, name, ada: await page.signIn('Ada') }
}

const games = 'queue=pending&developer=Bob&category=games'

describe('each app is decided with one form, without a list between', () => {
  test.for<[count: number, view: string]>([
    // More than a page of the queue has.
    [60, games],
    [12, 'queue=pending&look-alikes=on'],
    [12, 'queue=changed&developer=Bob&category=games&look-alikes=on'],
  ])('%i in %s', async ([count, view]) => {
    const { page, ids, name, ada } = await start(count, view)
    const before = await newestEntries(page, 1)
    let { text } = await ada.get(`/apps/${ids[0]}?${view}`)
    const seen: number[] = []
    for (const [index, id] of ids.entries()) {
      expect(shownId(text)).toBe(id)
      seen.push(id)
      const decision = index % 3 === 0 ? 'reject' : 'approve'
      const decided = await decide(ada, text, decision, { reason: 'It sank.' })
      expect(decided.headers.location).toBe(
        index === count - 1
          ? `/?${view}&decided=${id}`
          : `/apps/${ids[index + 1]}?${view}&decided=${id}`,
      )
      text = (await follow(ada, decided)).text
      const verb = decision === 'reject' ? 'Rejected' : 'Approved'
      expect(reportOf(text)).toMatch(new RegExp(`^${verb} ${name}\\.( \\d+ waits?\\.)?$`))
      expect(await stateOf(page, id)).toMatchObject({
        status: decision === 'reject' ? 'rejected' : 'approved',
      })
    }
    // Each once, and no other app.
    expect([seen, isQueue(text), queued(text)]).toEqual([ids, true, []])
    const entries = await page.database.read(({ sql }) =>
      sql('audit')
        .where('id', '>', before[0]?.id ?? 0)
        .orderBy('id')
        .select('app_id'),
    )
    expect(entries.filter(({ app_id }) => app_id !== null).map(({ app_id }) => app_id)).toEqual(ids)
  })
})

test('the line after a decision says how many wait, and the number goes with it', async () => {
  const { ada, ids } = await start(3, games)
  let { text } = await ada.get(`/apps/${ids[0]}?${games}`)
  expect(textOf(text)).toContain(' 1 of 3 ')
  for (const [report, place] of [
    ['Approved Needle. 2 wait.', '1 of 2'],
    ['Approved Needle. 1 waits.', '1 of 1'],
  ]) {
    text = (await follow(ada, await decide(ada, text, 'approve'))).text
    expect(reportOf(text)).toBe(report)
    expect(textOf(text)).toContain(` ${place} `)
  }
  text = (await follow(ada, await decide(ada, text, 'approve'))).text
  expect([isQueue(text), reportOf(text)]).toEqual([true, 'Approved Needle. 0 wait.'])
})

test('an app that is skipped waits on, and the others are decided', async () => {
  const { page, ada, ids } = await start(9, games)
  let { text } = await ada.get(`/apps/${ids[0]}?${games}`)
  const skipped: number[] = []
  while (!isQueue(text)) {
    const id = shownId(text)
    if (ids.indexOf(id) % 3 === 0) {
      skipped.push(id)
      text = (await skip(ada, text)).text
      // Nothing was decided.
      expect(reportOf(text)).toBe('')
    } else text = (await follow(ada, await decide(ada, text, 'approve'))).text
  }
  expect(skipped).toEqual([ids[0], ids[3], ids[6]])
  for (const id of ids)
    expect([id, (await stateOf(page, id))?.status]).toEqual([
      id,
      skipped.includes(id) ? 'pending' : 'approved',
    ])
  // Back at the queue, these are the ones that are left; the second time, they can be decided.
  expect(valuesOf(text, 'app').map((app) => Number.parseInt(app, 10))).toEqual(skipped)
  text = (await ada.get(`/apps/${skipped[0]}?${games}`)).text
  for (const id of skipped) {
    expect(shownId(text)).toBe(id)
    text = (await follow(ada, await decide(ada, text, 'approve'))).text
  }
  expect([isQueue(text), queued(text)]).toEqual([true, []])
})

test('two moderators who began at different places never get the same app', async () => {
  const { page, ada, ids } = await start(20, games)
  const bo = await page.signIn('Bo')
  const shown = { ada: [] as number[], bo: [] as number[] }
  let adas = (await ada.get(`/apps/${ids[0]}?${games}`)).text
  let bos = (await bo.get(`/apps/${ids[10]}?${games}`)).text
  const decideNext = async (visitor: Visitor, seen: number[], page: string) => {
    seen.push(shownId(page))
    return (await follow(visitor, await decide(visitor, page, 'approve'))).text
  }
  bos = await decideNext(bo, shown.bo, bos)
  // At the same time.
  for (let round = 0; round < 9; round++)
    [adas, bos] = await Promise.all([
      decideNext(ada, shown.ada, adas),
      decideNext(bo, shown.bo, bos),
    ])
  adas = await decideNext(ada, shown.ada, adas)
  expect([shown.ada, shown.bo]).toEqual([ids.slice(0, 10), ids.slice(10)])
  // Ada comes to all that Bo has decided, and nothing is left.
  expect([isQueue(adas), queued(adas)]).toEqual([true, []])
})

test('of two moderators who have opened the same app, one decides', async () => {
  const { page, ada, ids } = await start(3, games)
  const bo = await page.signIn('Bo')
  const bos = (await bo.get(`/apps/${ids[1]}?${games}`)).text
  const adas = (await ada.get(`/apps/${ids[1]}?${games}`)).text
  const [won, lost] = [await decide(bo, bos, 'approve'), await decide(ada, adas, 'approve')]
  expectStatuses([won, lost], [303, 409])
  // Both go on with the same app, and Ada sees what Bo has done.
  expect(shownId((await follow(bo, won)).text)).toBe(ids[2])
  expect(textOf(lost.text)).toMatch(/Changed since you looked Approved by Bo /)
  expect(shownId((await skip(ada, lost.text)).text)).toBe(ids[2])
})

test('after the decision of another moderator, Skip goes on from the place that was shown', async () => {
  const view = 'queue=changed&category=games'
  const { page, ada, ids } = await start(4, view)
  const bo = await page.signIn('Bo')
  const { text } = await ada.get(`/apps/${ids[1]}?${view}`)
  const bos = await decide(bo, (await bo.get(`/apps/${ids[1]}`)).text, 'approve')
  expect(bos.status).toBe(303)
  // The approved app no longer says since when it waited, so its own place is the first one.
  const lost = await decide(ada, text, 'approve')
  expect(lost.status).toBe(409)
  const next = shownId((await skip(ada, lost.text)).text)
  expect(
    shownId((await follow(ada, await decide(ada, lost.text, 'reject', { reason: 'No.' }))).text),
  ).toBe(next)
  expect(next).not.toBe(ids[0])
})

describe('the next app is right', () => {
  type Situation = Awaited<ReturnType<typeof start>>

  /** Approves apps elsewhere. */
  async function take({ page, ids }: Situation, ...indexes: number[]) {
    const cy = await page.signIn('Cy')
    for (const index of indexes) {
      const { text } = await cy.get(`/apps/${ids[index]}`)
      const decision = valuesOf(text, 'decision').includes('approve') ? 'approve' : 'reject'
      expect((await decide(cy, text, decision, { reason: 'No.' })).status).toBe(303)
    }
  }
  const asOwner = async ({ service }: Situation, method: string, id: number | undefined) => {
    const json = method === 'PUT' ? { json: { version: '7.0.0' } } : {}
    const response = await service.request(method, `/apps/${id}`, { key: keys.bob, ...json })
    expect(response.status).toBeLessThan(300)
  }

  /** What happens between Ada's view of the app and her decision; `next` is what she gets. */
  const events: [
    what: string,
    decided: number,
    meanwhile: (situation: Situation) => Promise<unknown>,
    next: number | undefined,
  ][] = [
    ['if nothing happens', 0, async () => {}, 1],
    ['if the decided one is the last', 4, async () => {}, undefined],
    ['if others before it wait', 2, async () => {}, 3],
    ['if another moderator took the next one', 0, (all) => take(all, 1), 2],
    ['if others took the next ones', 1, (all) => take(all, 2, 3), 4],
    ['if others took all that follow', 1, (all) => take(all, 2, 3, 4), undefined],
    ['if others took all before it', 2, (all) => take(all, 0, 1), 3],
    ['if its owner deleted the next one', 0, (all) => asOwner(all, 'DELETE', all.ids[1]), 2],
  ]

  // Each event with each filter alone, and one event with the others.
  const isAlone = (view: string) => view.split('&').length === 2
  test.for(
    views.flatMap(([view]) =>
      events
        .map(([what, decided, meanwhile, next]) => ({ view, what, decided, meanwhile, next }))
        .filter(({ what }) => isAlone(view) || what === 'if others took the next ones'),
    ),
  )('$what, in $view', async ({ view, decided, meanwhile, next }) => {
    const situation = await start(5, view)
    const { ada, ids } = situation
    const { text } = await ada.get(`/apps/${ids[decided]}?${view}`)
    await meanwhile(situation)
    const done = await follow(ada, await decide(ada, text, 'approve'))
    expect(reportOf(done.text)).toMatch(/^Approved /)
    if (next === undefined) expect([isQueue(done.text), done.status]).toEqual([true, 200])
    else expect(shownId(done.text)).toBe(ids[next])
    // The address keeps the queue and the filter.
    const { searchParams } = new URL(done.path, 'http://moderation.test')
    searchParams.delete('decided')
    expect(searchParams.toString()).toBe(new URLSearchParams(view).toString())
  })

  test('if another app came to the end of the queue meanwhile', async () => {
    const situation = await start(2, games)
    const { page, ada, ids } = situation
    const { text } = await ada.get(`/apps/${ids[1]}?${games}`)
    const [late] = await addApps(page, [{ name: 'Late', created_at: '2026-02-01T00:00:00.000Z' }])
    const done = await follow(ada, await decide(ada, text, 'approve'))
    expect(shownId(done.text)).toBe(late)
  })

  test('if its owner changes the next one before, it is shown as it is now', async () => {
    const situation = await start(3, games)
    const { ada, ids } = situation
    const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
    await asOwner(situation, 'PUT', ids[1])
    const done = await follow(ada, await decide(ada, text, 'approve'))
    expect([shownId(done.text), textOf(done.text).includes('Version 7.0.0')]).toEqual([
      ids[1],
      true,
    ])
    // And it can be decided, since that is what is shown.
    expect((await decide(ada, done.text, 'approve')).status).toBe(303)
  })

  test('if the owner changes the decided one again, which comes back at the end of its queue', async () => {
    const view = 'queue=changed&category=games'
    const situation = await start(3, view)
    const { page, ada, ids } = situation
    const { text } = await ada.get(`/apps/${ids[0]}?${view}`)
    const decided = await decide(ada, text, 'approve')
    await asOwner(situation, 'PUT', ids[0])
    let shown = (await follow(ada, decided)).text
    expect([shownId(shown), reportOf(shown)]).toEqual([ids[1], 'Approved Needle. 3 wait.'])
    for (const id of [ids[1], ids[2], ids[0]]) {
      expect(shownId(shown)).toBe(id)
      shown = (await follow(ada, await decide(ada, shown, 'approve'))).text
    }
    expect([isQueue(shown), queued(shown)]).toEqual([true, []])
    expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'approved' })
  })

  /** Adds pending apps that look like no other one, but for those at the places. */
  const addHidden = (page: ModerationPage, count: number, places: number[]) =>
    addApps(
      page,
      Array.from({ length: count }, (_, index) => ({
        name: places.includes(index) ? 'Tide Cl0ck' : 'Hay',
      })),
    )

  test('if five hundred others were read without finding a look-alike', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const ids = await addHidden(page, 1040, [0, 1, 520, 1030])
    const view = 'queue=pending&look-alikes=on'
    // The first one is skipped, and must not come back before the end.
    let { text } = await ada.get(`/apps/${ids[1]}?${view}`)
    for (const index of [520, 1030]) {
      text = (await follow(ada, await decide(ada, text, 'approve'))).text
      expect(reportOf(text)).toMatch(/^Approved Tide Cl0ck\./)
      for (let steps = 0; isQueue(text) && steps < 3; steps++) {
        // The report has a link of this name, too.
        const list = text.slice(text.indexOf('<ul class="queue">'))
        const next =
          queued(text).length > 0
            ? addressOf(list, 'Tide Cl0ck')
            : addressOf(text, 'Search the next ones')
        text = (await ada.get(next)).text
      }
      expect(shownId(text)).toBe(ids[index])
    }
  })

  test('also after Skip, if five hundred others were read without finding a look-alike', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const ids = await addHidden(page, 530, [0, 520])
    let { text } = await ada.get(`/apps/${ids[0]}?queue=pending&look-alikes=on`)
    text = (await skip(ada, text)).text
    for (let steps = 0; isQueue(text) && steps < 3; steps++) {
      // The skipped one does not come back.
      expect(valuesOf(text, 'app').map((app) => Number.parseInt(app, 10))).not.toContain(ids[0])
      const next = addressOf(text, 'Tide Cl0ck') || addressOf(text, 'Search the next ones')
      text = (await ada.get(next)).text
    }
    expect(shownId(text)).toBe(ids[520])
  })
})

describe('a wrong decision', () => {
  test.for<['approve' | 'reject', 'approve' | 'reject', string, string]>([
    ['approve', 'reject', 'Approved', 'Rejected'],
    ['reject', 'approve', 'Rejected', 'Approved'],
  ])(
    'to %s is seen and reversed with two requests, back to where one was',
    async ([wrong, right, first, second]) => {
      const { page, ada, ids } = await start(4, games)
      const reason = { reason: 'It sank.' }
      const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
      const next = (await follow(ada, await decide(ada, text, wrong, reason))).text
      expect([shownId(next), reportOf(next)]).toEqual([ids[1], `${first} Needle. 3 wait.`])

      const shown = (await ada.get(addressOf(next, 'Needle'))).text
      expect([shownId(shown), valuesOf(shown, 'decision')]).toEqual([ids[0], [right, 'reopen']])
      const reversed = await decide(ada, shown, right, reason)
      expect(reversed.headers.location).toBe(`/apps/${ids[1]}?${games}&decided=${ids[0]}`)
      expect((await stateOf(page, ids[0] ?? 0))?.status).toBe(second.toLowerCase())

      // Once more, and on from there.
      const back = (await follow(ada, reversed)).text
      expect([shownId(back), reportOf(back)]).toEqual([ids[1], `${second} Needle. 3 wait.`])
      const again = (await ada.get(addressOf(back, 'Needle'))).text
      expect(valuesOf(again, 'decision')).toEqual([wrong, 'reopen'])
      const backAgain = await follow(ada, await decide(ada, again, wrong, reason))
      expect([shownId(backAgain.text), reportOf(backAgain.text)]).toEqual([
        ids[1],
        `${first} Needle. 3 wait.`,
      ])
      const on = await follow(ada, await decide(ada, backAgain.text, 'approve'))
      expect(shownId(on.text)).toBe(ids[2])
    },
  )

  test('about the last app of a queue is reversed from the queue, which follows again', async () => {
    const { page, ada, ids } = await start(1, games)
    const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
    const queue = (await follow(ada, await decide(ada, text, 'approve'))).text
    expect(isQueue(queue)).toBe(true)
    const shown = (await ada.get(addressOf(queue, 'Needle'))).text
    const reversed = await decide(ada, shown, 'reject', { reason: 'It sank.' })
    const back = (await follow(ada, reversed)).text
    expect([isQueue(back), reportOf(back)]).toEqual([true, 'Rejected Needle. 0 wait.'])
    expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'rejected' })
  })

  test('about a changed app leads back to where one was, not to an app that was skipped', async () => {
    const view = 'queue=changed&category=games'
    const { ada, ids } = await start(4, view)
    const { text } = await ada.get(`/apps/${ids[0]}?${view}`)
    const skipped = (await skip(ada, text)).text
    const next = (await follow(ada, await decide(ada, skipped, 'approve'))).text
    expect([shownId(skipped), shownId(next)]).toEqual([ids[1], ids[2]])
    const shown = (await ada.get(addressOf(next, 'Needle'))).text
    const back = await follow(ada, await decide(ada, shown, 'reject', { reason: 'It sank.' }))
    expect([shownId(back.text), reportOf(back.text)]).toEqual([ids[2], 'Rejected Needle. 3 wait.'])
  })

  test('without a reason, it is asked for, and still leads back', async () => {
    const { page, ada, ids } = await start(3, games)
    const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
    const next = (await follow(ada, await decide(ada, text, 'approve'))).text
    const shown = (await ada.get(addressOf(next, 'Needle'))).text
    const refused = await decide(ada, shown, 'reject')
    expect([refused.status, problemOf(refused.text)]).toEqual([
      400,
      'A reason must have 1 to 1000 characters, not 0.',
    ])
    expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'approved' })
    const done = await follow(ada, await decide(ada, refused.text, 'reject', { reason: 'No.' }))
    expect([shownId(done.text), reportOf(done.text)]).toEqual([ids[1], 'Rejected Needle. 2 wait.'])
  })

  test('that another moderator has reversed already is refused, and still leads back', async () => {
    const { page, ada, ids } = await start(3, games)
    const bo = await page.signIn('Bo')
    const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
    await decide(ada, text, 'approve')
    // From the page of the last app, so that the next one in the queue would be another.
    const shown = (await ada.get(`/apps/${ids[0]}?${games}&next=${ids[2]}`)).text
    await decide(bo, shown, 'reject', { reason: 'Spam.' })
    const refused = await decide(ada, shown, 'reject', { reason: 'It sank.' })
    expect([refused.status, shownId(refused.text)]).toEqual([409, ids[0]])
    expect(textOf(refused.text)).toMatch(/Changed since you looked Rejected by Bo .*: Spam\./)
    expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ rejection_reason: 'Spam.' })
    // Only the opposite of Bo's decision is offered now.
    const done = await follow(ada, await decide(ada, refused.text, 'approve'))
    expect([shownId(done.text), reportOf(done.text)]).toEqual([ids[2], 'Approved Needle. 2 wait.'])
  })
})

test('a decision that is refused keeps the queue, the reason, and the way on', async () => {
  const { service, page, ada, ids } = await start(3, games)
  const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
  await service.request('PUT', `/apps/${ids[0]}`, { key: keys.bob, json: { version: '7.0.0' } })
  const refused = await decide(ada, text, 'reject', { reason: 'It "sank" & more.' })
  expect([refused.status, shownId(refused.text)]).toEqual([409, ids[0]])
  expect(textOf(refused.text)).toContain('Changed since you looked')
  expect(valuesOf(refused.text, 'reason')).toEqual(['It "sank" & more.'])
  expect(shownId((await skip(ada, refused.text)).text)).toBe(ids[1])
  // Changed once more, so that the second attempt is refused, too.
  await service.request('PUT', `/apps/${ids[0]}`, { key: keys.bob, json: { version: '8.0.0' } })
  const again = await decide(ada, refused.text, 'reject')
  expect([again.status, valuesOf(again.text, 'reason')]).toEqual([409, ['It "sank" & more.']])
  expect(textOf(again.text)).toContain('Version 7.0.0 → 8.0.0')
  expect(textOf(again.text)).not.toMatch(/Changed since you looked .*1\.0\.0 → 7\.0\.0.*History/)
  const done = await follow(ada, await decide(ada, again.text, 'reject'))
  expect([shownId(done.text), reportOf(done.text)]).toEqual([ids[1], 'Rejected Needle. 2 wait.'])
  expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ rejection_reason: 'It "sank" & more.' })
})

describe('a form of an app that is wrong is shown again as it was', () => {
  test.for<[what: string, fields: Record<string, string>, message: string]>([
    [
      'without a reason',
      { decision: 'reject', reason: '' },
      'A reason must have 1 to 1000 characters, not 0.',
    ],
    [
      'with a blank reason',
      { decision: 'reject', reason: '   ' },
      'A reason must have 1 to 1000 characters, not 0.',
    ],
    [
      'with too long a reason',
      { decision: 'reject', reason: 'x'.repeat(1001) },
      'A reason must have 1 to 1000 characters, not 1001.',
    ],
    ['without a decision', { reason: 'Spam & "ham"' }, 'Press Approve or Reject.'],
    ['with another decision', { decision: 'remove', reason: 'Spam' }, 'Press Approve or Reject.'],
  ])('%s', async ([, fields, message]) => {
    const { page, ada, ids } = await start(3, games)
    const before = await newestEntries(page, 1)
    const { text } = await ada.get(`/apps/${ids[0]}?${games}&next=${ids[2]}`)
    const form = formOf(text, '/decisions')
    const refused = await ada.post(form?.action ?? '', { ...form?.fields, ...fields })
    expect([refused.status, titleOf(refused.text), problemOf(refused.text)]).toEqual([
      400,
      'Needle – Moderation',
      message,
    ])
    expect(await newestEntries(page, 1)).toEqual(before)
    const again = formOf(refused.text, '/decisions')
    expect(again).toEqual({
      action: form?.action,
      fields: { ...form?.fields, reason: [fields.reason] },
    })
    expect(textOf(refused.text)).toContain(' 1 of 3 ')
    // The second attempt goes on where the first one would have.
    const done = await follow(ada, await decide(ada, refused.text, 'reject', { reason: 'No.' }))
    expect(shownId(done.text)).toBe(ids[2])
  })
})

test('opening the address that a decision led to decides nothing again', async () => {
  const { page, ada, ids } = await start(3, games)
  const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
  const onPage = await decide(ada, text, 'approve')
  const queue = (await ada.get(`/?${games}`)).text
  const inQueue = await decide(ada, queue, 'reject', {
    app: valuesOf(queue, 'app'),
    reason: 'It sank.',
  })
  const before = await newestEntries(page, 1)
  for (const { headers } of [onPage, inQueue])
    for (const method of ['GET', 'GET', 'HEAD'])
      expect((await ada.request(method, String(headers.location))).status).toBe(200)
  expect(await newestEntries(page, 1)).toEqual(before)
  // It is Ada's decision that is reported, whoever else has decided since.
  const bo = await page.signIn('Bo')
  const shown = (await bo.get(`/apps/${ids[0]}`)).text
  await decide(bo, shown, 'reject', { reason: 'Spam.' })
  expect(reportOf((await ada.get(String(onPage.headers.location))).text)).toBe(
    'Approved Needle. 0 wait.',
  )
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

describe('a report that somebody typed does no harm', () => {
  test.for<[parameters: string, message: string]>([
    // Ada has approved app 5, and nobody has decided about the others.
    ['decided=1', ''],
    ['decided=2', ''],
    ['decided=3', ''],
    ['decided=4', ''],
    ['decided=999+x+5', 'Approved Bird Song.'],
    ['decided=1+2+3+4+5+6', 'Approved Bird Song.'],
    ['decided=x', ''],
    ['decided=', ''],
    ['decided=1&refused=1', 'Not decided Tide Clock (approved meanwhile).'],
    ['decided=5&refused=5', 'Not decided Bird Song (approved meanwhile).'],
    ['decided=5+5+5', 'Approved Bird Song.'],
    ['decided=5&decided=2', 'Approved Bird Song.'],
    ['decided=5,2', ''],
    [
      'refused=4+3+2',
      'Not decided Cloud Atlas (changed meanwhile), Broken Compass (rejected meanwhile), Gone (deleted meanwhile).',
    ],
    ['decided=-5+5e0+0x5+05+5.0', ''],
    ['decided=999999999999999+2147483648+5', 'Approved Bird Song.'],
    [`decided=${'9'.repeat(400)}`, ''],
    [`decided=${'5+'.repeat(3000)}`, 'Approved Bird Song.'],
    ['decided=<b>5</b>+%00+%27', ''],
  ])('%s', async ([parameters, message]) => {
    const page = await startModerationPage()
    const [ada, bo] = [await page.signIn('Ada'), await page.signIn('Bo')]
    await recordApproval(page, ada.id, apps.bobs, Date.now())
    const before = await newestEntries(page, 1)
    for (const path of ['/?', '/?queue=changed&', '/apps/5?', '/apps/6?queue=pending&']) {
      const { status, text } = await ada.get(path + parameters)
      expect([path, status, reportOf(text).replace(/ \d+ waits?\.$/, '')]).toEqual([
        path,
        200,
        message,
      ])
      // Another moderator, whom Ada sends the address.
      const other = reportOf((await bo.get(path + parameters)).text)
      expect([path, other]).toEqual([path, expect.not.stringContaining('Approved')])
    }
    expect(await newestEntries(page, 1)).toEqual(before)
  })

  test('nor does an address of a decision of yesterday, which is not reported again', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const hour = 60 * 60 * 1000
    await recordApproval(page, ada.id, apps.bobs, Date.now() - 24 * hour)
    const report = async () => reportOf((await ada.get(`/?decided=${apps.bobs}`)).text)
    expect(await report()).toBe('')
    await recordApproval(page, ada.id, apps.bobs, Date.now() - hour / 2)
    expect(await report()).toBe('Approved Bird Song. 2 wait.')
  })

  test.for(['next=999', 'next=x', 'next=0', 'next=999999999999999', 'next=1+2', 'next='])(
    'nor does %s: the app is shown, and its decision counts',
    async (next) => {
      const { page, ada, ids } = await start(2, games)
      const { status, text } = await ada.get(`/apps/${ids[0]}?${games}&${next}`)
      expect(status).toBe(200)
      const decided = await decide(ada, text, 'approve')
      expect(decided.status).toBe(303)
      expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'approved' })
      expect((await ada.get(String(decided.headers.location))).status).not.toBe(500)
    },
  )
})

test('an app that its owner deletes while it waits is reported as deleted', async () => {
  const { page, ada, ids } = await start(2, games)
  const [id = 0] = ids
  const deleted_at = new Date().toISOString()
  await page.database.write(({ sql }) => sql('apps').where({ id }).update({ deleted_at }))
  const { text } = await ada.get(`/?${games}&refused=${id}`)
  expect(reportOf(text)).toBe('Not decided Needle (deleted meanwhile). 1 waits.')
})

describe('once it is made, a decision is never answered as an error', () => {
  test('also if the developer of the filter has another name now', async () => {
    const { page, ada, ids } = await start(3, games)
    const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
    await page.database.write((runner) =>
      renameDeveloper(runner, 'Bob', 'Robert', { operator: 'test' }),
    )
    const decided = await decide(ada, text, 'approve')
    expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'approved' })
    const done = await follow(ada, decided)
    expect(textOf(done.text)).toContain('Approved Needle.')
    expect(problemOf(done.text)).toBe('There is no developer "Bob".')
  })

  test('also if searches use their whole bulkhead, so that the next app cannot be found', async () => {
    const { page, ada, ids } = await start(3, games)
    const { text } = await ada.get(`/apps/${ids[1]}?${games}`)
    const release = await saturate(
      (work) => page.database.snapshot(work, { isExpensive: true }),
      concurrency.expensive,
    )
    const decided = await decide(ada, text, 'approve')
    await release()
    expect(await stateOf(page, ids[1] ?? 0)).toMatchObject({ status: 'approved' })
    expect(decided.status).toBe(303)
    const done = (await follow(ada, decided)).text
    expect(reportOf(done)).toBe('Approved Needle. 2 wait.')
    // It goes on behind the app, not from the beginning.
    expect(valuesOf(done, 'app').map((app) => Number.parseInt(app, 10))).toEqual([ids[2]])
  })
})

test('restoring an app, and removing a review, stays in the queue', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const view = 'queue=changed&category=games'
  const deleted = formOf((await ada.get(`/apps/${apps.deleted}?${view}`)).text, '/restorations')
  const app = valuesOf((await ada.get(`/apps/${apps.deleted}?${view}`)).text, 'app')
  const restored = await ada.post(deleted?.action ?? '', { app })
  expect(restored.headers.location).toBe(`/apps/${apps.deleted}?${view}&decided=${apps.deleted}`)
  const { text } = await ada.get(`/apps/${apps.approved}?${view}`)
  const form = formOf(text, '/removed-reviews')
  const [review = ''] = valuesOf(text, 'review')
  const send = (reason: string) => ada.post(form?.action ?? '', { ...form?.fields, review, reason })
  const refused = await send('')
  expect(refused.status).toBe(400)
  expect(formOf(refused.text, '/removed-reviews')?.action).toBe(form?.action)
  expect((await send('Spam.')).headers.location).toBe(
    `/apps/${apps.approved}?${view}&decided=${apps.approved}`,
  )
})

test('a visitor without a session decides nothing on the way', async () => {
  const { page, ada, ids } = await start(2, games)
  const { text } = await ada.get(`/apps/${ids[0]}?${games}`)
  const visitor: Visitor = page
  expect((await decide(visitor, text, 'approve')).status).toBe(401)
  expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'pending' })
})
