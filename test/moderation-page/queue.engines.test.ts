import { describe, expect, inject, test } from 'vitest'
import type { NewAppRow } from '../../src/catalogue/app-store.ts'
import { addressOf, linksOf, optionsOf, problemOf, textOf, titleOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  type ModerationPage,
  type Moderator,
  queued,
  queuedIds,
  referenceTo,
  startWithAda,
  startWithService,
  type Visitor,
} from '../support/moderation-page.ts'

/** What is in a queue, in which order, and its steps. queue-form.test.ts has the form. */

const { apps, keys } = inject('world')
const adasId = 1

const hasLink = (page: string, name: string) => addressOf(page, name) !== ''

const open = async (visitor: Visitor, page: string, link: string): Promise<string> => {
  const address = addressOf(page, link)
  expect(address, link).not.toBe('')
  return (await visitor.get(address)).text
}

const numbered = (count: number, name = (index: number) => `App ${index}`) =>
  Array.from({ length: count }, (_, index): Partial<NewAppRow> => ({ name: name(index) }))

describe('the queue', () => {
  let page: ModerationPage
  let ada: Moderator
  share(async () => {
    const started = await startWithService()
    ;({ page, ada } = started)
    const { service } = started
    await addApps(page, [
      { name: 'Newer', developer_id: adasId },
      {
        name: 'Oldest',
        created_at: '2019-01-01T00:00:00.000Z',
        short_description: 'Old & <new>',
        description: `${'x'.repeat(499)}yz`,
      },
      { name: 'Tide Cl0ck' },
    ])
    await service.request('PUT', `/apps/${apps.bobs}`, {
      key: keys.bob,
      json: { name: 'Bird Songs', short_description: 'They sing' },
    })
    for (const name of ['Tide Table', 'Tide Clock'])
      await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { name } })
  })

  test('has the longest wait first, with what each app is, and the counts', async () => {
    const { text } = await ada.get('/')
    expect(titleOf(text)).toBe('Pending apps – Moderation')
    expect(queued(text)).toEqual(['Oldest', 'Cloud Atlas', 'Night Train', 'Newer', 'Tide Cl0ck'])
    const shown = textOf(text)
    expect(shown).toMatch(/^Pending 5 Changed 2 Apps Audit Ada Sign out /)
    expect(shown).toContain('5 apps wait, the longest first.')
    expect(shown).toMatch(/Oldest Bob \([^)]*\) · Games · waits [\d,]+ days Old & <new> x{199}…/)
    expect(shown).toMatch(/Cloud Atlas Ada \(1 approved, 1 rejected, 2 waiting\)/)
    // A name in a right-to-left script must not move what is beside it.
    expect(text).toMatch(/<bdi>Oldest<\/bdi>[\s\S]*<bdi>Bob<\/bdi>/)
    expect(optionsOf(text, 'developers')).toEqual(['Ada', 'Bob'])
  })

  test('marks look-alikes, with the downloads of the app that they look like', async () => {
    const { text } = await ada.get('/')
    const chip = ['Looks like Tide Clock, 100 downloads', `/apps/${apps.approved}`]
    expect(linksOf(text).filter(([name]) => name.startsWith('Looks like'))).toEqual([chip])
    expect(text).toMatch(/<bdi>Tide Cl0ck<\/bdi>[\s\S]*Looks like/)
  })

  test('has the changed apps with their changes, the undone ones, too', async () => {
    const { text } = await ada.get('/?queue=changed')
    expect(titleOf(text)).toBe('Changed apps – Moderation')
    expect(queued(text)).toEqual(['Bird Songs', 'Tide Clock'])
    expect(textOf(text)).toContain(
      '2 fields changed Name Bird Song → Bird Songs In short none → They sing',
    )
    expect(textOf(text)).toContain('Changed and reverted')
  })

  const everything = ['Oldest', 'Cloud Atlas', 'Night Train', 'Newer', 'Tide Cl0ck']

  test.for<{ filter: string; found: string[]; summary: string }>([
    {
      filter: 'developer=Ada',
      found: ['Cloud Atlas', 'Newer'],
      summary: '2 apps wait, the longest first.',
    },
    {
      filter: 'category=games',
      found: ['Oldest', 'Newer', 'Tide Cl0ck'],
      summary: '3 apps wait, the longest first.',
    },
    { filter: 'category=empty', found: [], summary: 'No apps match the filter.' },
    {
      filter: 'developer=Bob&category=games',
      found: ['Oldest', 'Tide Cl0ck'],
      summary: '2 apps wait, the longest first.',
    },
    {
      filter: 'queue=changed&developer=Bob',
      found: ['Bird Songs'],
      summary: '1 app waits, the longest first.',
    },
    // Bookmarks of filters that earlier releases had.
    { filter: 'search=tr', found: everything, summary: '5 apps wait, the longest first.' },
    { filter: 'look-alikes=on', found: everything, summary: '5 apps wait, the longest first.' },
  ])('filtered by $filter', async ({ filter, found, summary }) => {
    const { status, text } = await ada.get(`/?${filter}`)
    expect([status, queued(text)]).toEqual([200, found])
    expect(textOf(text)).toContain(summary)
  })

  test.for([
    { filter: 'developer=Nobody', named: 'Nobody' },
    { filter: 'queue=changed&developer=ada', named: 'Ada' },
    { filter: 'developer=Bob&category=none', named: 'none' },
  ])('filtered by $filter, says what is wrong', async ({ filter, named }) => {
    const { status, text } = await ada.get(`/?${filter}`)
    expect([status, queued(text)]).toEqual([400, []])
    expect(problemOf(text)).toContain(named)
    expect(queued(await open(ada, text, 'Show all')).length).toBeGreaterThan(1)
  })
})

test('the filter of each queue offers the developers whose apps wait in it', async () => {
  const { service, ada } = await startWithService()
  await service.decide('approve', apps.bobsPending)
  await service.request('PUT', `/apps/${apps.bobs}`, { key: keys.bob, json: { version: '9' } })
  expect(optionsOf((await ada.get('/')).text, 'developers')).toEqual(['Ada'])
  expect(optionsOf((await ada.get('/?queue=changed')).text, 'developers')).toEqual(['Bob'])
})

/** The ids of the apps on all steps of a walk. */
async function walk(visitor: Visitor, first: string): Promise<number[][]> {
  const steps: number[][] = []
  for (let address = first; address !== ''; ) {
    const { status, text } = await visitor.get(address)
    expect([address, status]).toEqual([address, 200])
    steps.push(queuedIds(text))
    expect(hasLink(text, 'Back to the beginning')).toBe(address !== first)
    address = addressOf(text, 'Next')
    expect(steps.length).toBeLessThan(100)
  }
  return steps
}

test.for<{ what: string; added: Partial<NewAppRow>[]; filter: string; sizes: number[] }>([
  { what: 'without a filter', added: numbered(118), filter: '', sizes: [50, 50, 20] },
  {
    what: 'if all have waited since the same moment',
    added: numbered(101).map((app) => ({ ...app, created_at: '2026-01-01T00:00:00.000Z' })),
    filter: 'developer=Bob&category=games',
    sizes: [50, 50, 1],
  },
  { what: 'if the last page is full', added: numbered(98), filter: '', sizes: [50, 50] },
])('the steps of a walk have each app exactly once: $what', async ({ added, filter, sizes }) => {
  const { page, ada } = await startWithAda()
  const ids = await addApps(page, added)
  // The two pending apps of the world come first.
  const all = [
    { id: apps.pending, isAdded: false },
    { id: apps.bobsPending, isAdded: false },
    ...ids.map((id) => ({ id, isAdded: true })),
  ]
  const passes = ({ isAdded }: (typeof all)[number]) => filter === '' || isAdded
  const steps = await walk(ada, `/?${filter}`)
  expect(steps.flat()).toEqual(all.filter(passes).map(({ id }) => id))
  expect(steps.map(({ length }) => length)).toEqual(sizes)
})

test('look-alikes are marked in the order of the queue, which is not that of the ids', async () => {
  const { page, ada } = await startWithAda()
  await addApps(page, [
    { name: 'Quill' },
    { name: 'Tide Cl0ck', created_at: '2018-01-01T00:00:00.000Z' },
  ])
  const cards = (await ada.get('/')).text.split('<li class="card">')
  const marked = cards.filter((card) => card.includes('Looks like'))
  expect(marked).toEqual([expect.stringContaining('<bdi>Tide Cl0ck</bdi>')])
})

test('a page says which part of the queue it has', async () => {
  const { page, ada } = await startWithAda()
  await addApps(page, numbered(998))
  const first = (await ada.get('/')).text
  expect(textOf(first)).toContain('1,000 apps wait, the longest first. These are 1 to 50.')
  expect(textOf(await open(ada, first, 'Next'))).toContain('These are 51 to 100.')
})

test('a place behind the last app, or of one that is gone, is a page with a way back', async () => {
  const { page, ada } = await startWithAda()
  await addApps(page, numbered(60))
  const beyond = (await ada.get('/?after=2999-01-01T00:00:00.000Z~1')).text
  expect(textOf(beyond)).toContain('No more apps after this point; 62 apps wait in all.')
  const first = await open(ada, beyond, 'Back to the beginning')
  expect(queued(first)).toHaveLength(50)
  // No app has ever had this place.
  const between = (await ada.get('/?after=2026-01-01T00:30:00.000Z~1')).text
  expect(queued(between)).toEqual(
    numbered(60)
      .slice(30)
      .map(({ name }) => name),
  )
})

test('apps that others decide between two steps make no other app be skipped or shown again', async () => {
  const { page, ada } = await startWithAda()
  const bo = await page.signIn('Bo')
  const ids = await addApps(page, numbered(120))
  const take = async (indexes: number[]) => {
    const app = await Promise.all(indexes.map((index) => referenceTo(page, ids[index] ?? 0)))
    expect((await bo.post('/decisions', { app, decision: 'approve' })).status).toBe(303)
  }
  const range = (first: number, last: number) =>
    ids.slice(first, last + 1).map((_, index) => first + index)
  const shownIn = (text: string) => queuedIds(text).map((id) => ids.indexOf(id))

  const first = (await ada.get('/?developer=Bob&category=games')).text
  expect(shownIn(first)).toEqual(range(0, 49))
  // Half of the step, also its last app, and the first of the next one.
  await take(range(25, 50))
  const second = await open(ada, first, 'Next')
  expect(shownIn(second)).toEqual(range(51, 100))
  await take([100, 101, 118])
  const third = await open(ada, second, 'Next')
  expect(shownIn(third)).toEqual([...range(102, 117), 119])
  expect(hasLink(third, 'Next')).toBe(false)
})
