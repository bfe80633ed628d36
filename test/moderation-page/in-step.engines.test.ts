import { describe, expect, inject, test, vi } from 'vitest'
import { maxStoring } from '../../src/moderation-page/pages/single-app.ts'
import { freezeClock, stopTimers } from '../support/clock.ts'
import { holdWrite } from '../support/held-write.ts'
import { addressOf, reportOf, textOf, titleOf } from '../support/html.ts'
import {
  addApps,
  cookieOf,
  decide,
  follow,
  type Moderator,
  queued,
  skip,
  startModerationPage,
  stateOf,
  type Visitor,
} from '../support/moderation-page.ts'

/** Several moderators who go through a queue at the same time. */

const { apps } = inject('world')
const minute = 60_000
const games = 'queue=pending&developer=Bob&category=games'
const path = `/?${games}`

/** A queue of apps that are named after their places, and two moderators. */
async function start(count: number) {
  const page = await startModerationPage()
  const names = Array.from({ length: count }, (_, index) => `Needle ${index + 1}`)
  const ids = await addApps(
    page,
    names.map((name) => ({ name })),
  )
  return { page, ids, names, ada: await page.signIn('Ada'), bo: await page.signIn('Bo') }
}

const openFirst = async (visitor: Visitor, list: string) =>
  (await visitor.get(addressOf(list, queued(list)[0] ?? ''))).text

const listOf = async (visitor: Visitor, address = path) => (await visitor.get(address)).text

const openChip = /Open elsewhere: .+?, since \d+ \w+ \d{4}, \d\d:\d\d/
const openOf = (text: string) => openChip.exec(textOf(text))?.[0].replace(/, since.*/, '')

const nameOf = (text: string) => titleOf(text).replace(/ – .*/, '')

test('two who decide in turn the apps of a queue decide six of twelve', async () => {
  const { page, ids, ada, bo } = await start(12)
  let [adas, bos] = ['', '']
  adas = await openFirst(ada, await listOf(ada))
  bos = await openFirst(bo, await listOf(bo))
  for (let round = 0; round < 6; round++) {
    adas = (await follow(ada, await decide(ada, adas, 'approve'))).text
    bos = (await follow(bo, await decide(bo, bos, 'approve'))).text
  }
  const entries = await page.database.read(({ sql }) =>
    sql('audit').where({ action: 'app approve' }).whereIn('app_id', ids),
  )
  expect(entries.filter(({ operator_name }) => operator_name === 'Ada')).toHaveLength(6)
  expect(new Set(entries.map(({ app_id }) => app_id)).size).toBe(12)
})

test('an app that somebody has open is left out for others, who may decide it', async () => {
  const { page, ids, names, ada, bo } = await start(3)
  await openFirst(ada, await listOf(ada))
  expect(queued(await listOf(ada))).toEqual(names)
  expect(textOf(await listOf(ada))).toContain('3 apps wait, the longest first. Select all')

  const list = await listOf(bo)
  expect(queued(list)).toEqual(['Needle 2', 'Needle 3'])
  expect(textOf(list)).toContain(
    '3 apps wait, the longest first. 1 of them is open elsewhere and left out.',
  )
  const shown = await listOf(bo, `/apps/${ids[0]}?${games}`)
  expect(openOf(shown)).toBe('Open elsewhere: Ada')
  expect(textOf(shown)).toContain(' 1 of 3 ')
  const decided = await follow(bo, await decide(bo, shown, 'approve'))
  expect(nameOf(decided.text)).toBe('Needle 2')
  expect(reportOf(decided.text)).toContain('Needle 1')
  expect(await stateOf(page, ids[0] ?? 0)).toMatchObject({ status: 'approved' })
  // Decided, it waits for nobody.
  expect(openOf((await ada.get(`/apps/${ids[0]}`)).text)).toBeUndefined()
})

test('if only apps are left that others have open, a list says so and has them', async () => {
  const { page, ids, ada, bo } = await start(3)
  const cy = await page.signIn('Cy')
  await ada.get(`/apps/${ids[0]}?${games}`)
  await cy.get(`/apps/${ids[1]}?${games}`)
  const last = await openFirst(bo, await listOf(bo))
  expect([nameOf(last), textOf(last).includes(' 1 of 3 ')]).toEqual(['Needle 3', true])
  const { text } = await follow(bo, await decide(bo, last, 'approve'))
  expect(reportOf(text)).toBe('Approved Needle 3. 2 wait.')
  expect(queued(text)).toEqual(['Needle 1', 'Needle 2'])
  expect(textOf(text)).toContain(
    'Only apps that are open elsewhere are left. 2 apps wait, the longest first. Select all',
  )
  expect(textOf(text).match(new RegExp(openChip, 'g'))).toHaveLength(2)
  const shown = await openFirst(bo, text)
  expect([nameOf(shown), openOf(shown)]).toEqual(['Needle 1', 'Open elsewhere: Ada'])
  // Bo leaves the other one to Cy.
  const done = await follow(bo, await decide(bo, shown, 'approve'))
  expect([queued(done.text), openOf(done.text)]).toEqual([['Needle 2'], 'Open elsewhere: Cy'])
})

test('an app that is open elsewhere in another queue or filter is not missing in a list', async () => {
  const { ada, bo } = await start(3)
  await ada.get(`/apps/${apps.pending}?queue=pending`)
  const list = await listOf(bo)
  expect(queued(list)).toEqual(['Needle 1', 'Needle 2', 'Needle 3'])
  expect(textOf(list)).not.toMatch(/elsewhere/i)
})

test('HEAD, as a preview sends it, opens no app', async () => {
  const { ids, names, ada, bo } = await start(3)
  await ada.request('HEAD', `/apps/${ids[0]}?${games}`)
  expect(queued(await listOf(bo))).toEqual(names)
  expect(textOf(await listOf(bo))).not.toMatch(/elsewhere/i)
})

test('a walk leaves out the apps that others have open, and ends at the list', async () => {
  const { ada, bo } = await start(4)
  await openFirst(ada, await listOf(ada))
  let text = await openFirst(bo, await listOf(bo))
  const seen = []
  for (;;) {
    seen.push(`${nameOf(text)}: ${/\d+ of \d+/.exec(textOf(text))?.[0]}`)
    text = (await skip(bo, text)).text
    if (nameOf(text) === 'Pending apps') break
  }
  expect(seen).toEqual(['Needle 2: 1 of 4', 'Needle 3: 2 of 4', 'Needle 4: 3 of 4'])
  expect(queued(text)).toEqual(['Needle 2', 'Needle 3', 'Needle 4'])
})

test('two who have opened the same app are led to different ones', async () => {
  const { ids, ada, bo } = await start(4)
  const address = `/apps/${ids[0]}?${games}`
  let [adas, bos] = [await listOf(ada, address), await listOf(bo, address)]
  expect(openOf(bos)).toBe('Open elsewhere: Ada')
  expect(textOf(bos)).toContain(' 1 of 4 ')
  adas = (await follow(ada, await decide(ada, adas, 'approve'))).text
  bos = (await skip(bo, bos)).text
  expect([nameOf(adas), nameOf(bos)]).toEqual(['Needle 2', 'Needle 3'])
  adas = (await follow(ada, await decide(ada, adas, 'approve'))).text
  bos = (await follow(bo, await decide(bo, bos, 'approve'))).text
  expect(nameOf(adas)).toBe('Needle 4')
  // Ada has the last one open.
  expect([queued(bos), openOf(bos)]).toEqual([['Needle 4'], 'Open elsewhere: Ada'])
})

test('an app that two have open is not the next one after itself', async () => {
  const { ids, ada, bo } = await start(1)
  const address = `/apps/${ids[0]}?${games}`
  await ada.get(address)
  expect(nameOf((await skip(bo, await listOf(bo, address))).text)).toBe('Pending apps')
})

describe('an app is back in its place for others', () => {
  test.for<[when: string, act: (ada: Moderator, ids: number[]) => Promise<unknown>]>([
    ['after five minutes', async () => freezeClock(Date.now() + 5 * minute)],
    ['when the session has ended', (ada) => ada.post('/sign-out')],
    ['when the next one is opened', (ada, ids) => ada.get(`/apps/${ids[2]}?${games}`)],
  ])('%s', async ([, act]) => {
    const { ids, ada, bo } = await start(3)
    freezeClock()
    await ada.get(`/apps/${ids[0]}?${games}`)
    expect(queued(await listOf(bo))).not.toContain('Needle 1')
    await act(ada, ids)
    const list = await listOf(bo)
    expect(queued(list)[0]).toBe('Needle 1')
    expect(openOf((await bo.get(addressOf(list, 'Needle 1'))).text)).toBeUndefined()
  })
})

test.for<[what: string, address: (id: number) => string]>([
  ['outside a queue', (id) => `/apps/${id}`],
  ['in the list only', () => path],
])('an app that was opened %s keeps its place', async ([, address]) => {
  const { ids, names, ada, bo } = await start(3)
  await ada.get(address(ids[0] ?? 0))
  expect(queued(await listOf(bo))).toEqual(names)
})

test('one moderator in two browsers counts as two', async () => {
  const { page, ids, ada } = await start(3)
  const cookie = cookieOf(await page.post('/sign-in', { key: ada.key }))
  await ada.get(`/apps/${ids[0]}?${games}`)
  const list = await listOf(page.visitor(cookie))
  expect(queued(list)).toEqual(['Needle 2', 'Needle 3'])
})

test('pages of a list leave out the apps that others have open, and the last one says so', async () => {
  const { page, ids, names, ada, bo } = await start(60)
  await ada.get(`/apps/${ids[9]}?${games}`)
  await bo.get(`/apps/${ids[54]}?${games}`)
  const cy = await page.signIn('Cy')
  const first = await listOf(cy)
  expect(textOf(first)).toContain('60 apps wait, the longest first. These are 1 to 50. Select')
  const second = await listOf(cy, addressOf(first, 'Next'))
  expect(textOf(second)).toContain('These are 51 to 58. 2 of them are open elsewhere and left out.')
  const open = ['Needle 10', 'Needle 55']
  const others = names.filter((name) => !open.includes(name))
  expect([...queued(first), ...queued(second)]).toEqual(others)
})

describe('what is open is written', () => {
  test('once for each app that a queue leads to, and that exists', async () => {
    const { page, ids, ada } = await start(2)
    const writes: string[] = []
    page.database.onStatement((sql) => {
      if (/^update .operator_sessions/.test(sql)) writes.push(sql)
    })
    const elsewhere = [path, `/apps/${ids[0]}`, '/apps?text=Needle', '/audit']
    for (const address of [...elsewhere, `/apps/999999?${games}`]) await ada.get(address)
    expect(writes).toHaveLength(0)
    for (const id of [ids[0], ids[0], ids[1], ids[1]]) await ada.get(`/apps/${id}?${games}`)
    expect(writes).toHaveLength(2)
  })

  test('or not at all if the database is busy, and the page is shown', async () => {
    const { page, ids, ada } = await start(1)
    const release = await holdWrite(page.database, ({ sql }) =>
      sql('operator_sessions').update({ opened_app_id: apps.pending }),
    )
    stopTimers()
    const shown = ada.get(`/apps/${ids[0]}?${games}`)
    // The write waits for the one that is held.
    const countWrites = () => {
      const { used = 0, queued = 0 } = page.database.usage().pools[1] ?? {}
      return used + queued
    }
    await expect.poll(countWrites).toBe(2)
    vi.advanceTimersByTime(maxStoring)
    expect((await shown).status).toBe(200)
    await release()
  })
})
