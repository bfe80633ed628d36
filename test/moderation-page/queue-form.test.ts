import { describe, expect, inject, test } from 'vitest'
import {
  addressOf,
  formOf,
  linksOf,
  problemOf,
  reportOf,
  textOf,
  valuesOf,
} from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  decide,
  type Fields,
  follow,
  type Moderator,
  newestEntries,
  queued,
  queuedIds,
  referenceTo,
  startWithAda,
  startWithService,
  stateOf,
  submit,
} from '../support/moderation-page.ts'

/** The forms of a queue: the filter, the selected apps and their decision. */

const { apps, categories, keys } = inject('world')
const filter = 'queue=pending&developer=Bob&category=games'

const named = (...names: string[]) => names.map((name) => ({ name }))
const numbered = (count: number) => named(...Array.from({ length: count }, (_, i) => `App ${i}`))

/** The names of the apps whose boxes are ticked. */
const tickedIn = (page: string): string[] =>
  [...page.matchAll(/ checked> <span class="hidden">Select ([^<]*)</g)].map(([, name = '']) => name)

describe('a queue', () => {
  let ada: Moderator
  share(async () => {
    const { page, ...started } = await startWithAda()
    ada = started.ada
    await addApps(page, named('Tide Cl0ck', 'Bell'))
  })

  test.for<{ path: string; tab?: string }>([
    { path: '/', tab: 'Pending 4' },
    { path: '/?queue=pending&developer=Nobody', tab: 'Pending 4' },
    { path: '/?queue=changed', tab: 'Changed 0' },
    { path: '/apps?text=tide', tab: 'Apps' },
    { path: '/audit?app=1', tab: 'Audit' },
    { path: '/apps/1?queue=changed', tab: 'Changed 0' },
    { path: '/apps/2' },
  ])('has a tab, as $path has: $tab', async ({ path, tab }) => {
    const { text } = await ada.get(path)
    const current = [...text.matchAll(/<a [^>]*aria-current="page"[^>]*>(.*?)<\/a>/g)]
    expect(current.map(([, content]) => textOf(`<body>${content}`))).toEqual(tab ? [tab] : [])
  })

  test.for<{ parameters: Record<string, string>; apps: string[] }>([
    {
      parameters: { queue: 'pending', developer: 'Bob', category: 'games' },
      apps: ['Tide Cl0ck', 'Bell'],
    },
    { parameters: { queue: 'changed', developer: 'Nobody' }, apps: [] },
    {
      parameters: { queue: 'pending' },
      apps: ['Cloud Atlas', 'Night Train', 'Tide Cl0ck', 'Bell'],
    },
  ])('keeps its filter in its form and links: $parameters', async ({ parameters, apps }) => {
    const { text } = await ada.get(`/?${new URLSearchParams(parameters)}`)
    const { queue, category, developer = '' } = parameters
    expect(formOf(text, '/')?.fields).toEqual({ queue: [queue], developer: [developer] })
    const selected = [...text.matchAll(/<option value="([^"]*)" selected>/g)]
    expect(selected.map(([, slug]) => slug)).toEqual(category ? [category] : [])
    expect(queued(text)).toEqual(apps)
    for (const name of apps) {
      const { searchParams } = new URL(addressOf(text, name), 'http://moderation.test')
      expect(Object.fromEntries(searchParams)).toEqual(parameters)
    }
    const isFiltered = Object.keys(parameters).length > 1
    expect(linksOf(text).some(([name]) => name === 'Show all')).toBe(isFiltered)
  })
})

describe('select all', () => {
  test.for([
    { names: ['One', 'Two'], link: 'Select all', ticked: ['One', 'Two'], left: '' },
    {
      names: ['One', 'Tide Cl0ck'],
      link: 'Select all but look-alikes',
      ticked: ['One'],
      left: '1 look-alike is not selected.',
    },
    {
      // The letter е is Cyrillic, and no other app has such a name.
      names: ['One', 'Zеbra Crossing'],
      link: 'Select all but look-alikes',
      ticked: ['One'],
      left: '1 look-alike is not selected.',
    },
    {
      names: ['Tide Cl0ck', 'Tide Cl0ck'],
      link: 'Select all but look-alikes',
      ticked: [],
      left: '2 look-alikes are not selected.',
    },
  ])('of $names selects those that look like no other app', async (row) => {
    const { page, ada } = await startWithAda()
    const ids = await addApps(page, named(...row.names))
    const before = (await ada.get(`/?${filter}`)).text
    expect(tickedIn(before)).toEqual([])
    expect(textOf(before)).not.toContain('not selected')
    const selected = (await ada.get(addressOf(before, row.link))).text
    expect(tickedIn(selected)).toEqual(row.ticked)
    expect(/\d look-alikes? (is|are) not selected\./.exec(textOf(selected))?.[0] ?? '').toBe(
      row.left,
    )
    expect(tickedIn((await ada.get(addressOf(selected, 'Select none'))).text)).toEqual([])
    // What is ticked is decided, and nothing else.
    await decide(ada, selected, 'approve')
    for (const [index, name] of row.names.entries())
      expect([name, (await stateOf(page, ids[index] ?? 0))?.status]).toEqual([
        name,
        row.ticked.includes(name) ? 'approved' : 'pending',
      ])
  })

  test('selects the apps of its step alone, which keeps its place and filter', async () => {
    const { page, ada } = await startWithAda()
    await addApps(page, numbered(53))
    const first = (await ada.get(`/?${filter}`)).text
    const second = (await ada.get(addressOf(first, 'Next'))).text
    const selected = (await ada.get(addressOf(second, 'Select all'))).text
    expect(tickedIn(selected)).toEqual(['App 50', 'App 51', 'App 52'])
    const done = await follow(ada, await decide(ada, selected, 'approve'))
    expect(reportOf(done.text)).toContain('App 50, App 51, App 52')
    expect(queued(done.text)).toEqual([])
    // The next step begins without ticks.
    const all = (await ada.get(addressOf((await ada.get('/')).text, 'Select all'))).text
    expect(tickedIn(all)).toHaveLength(50)
    expect(tickedIn((await ada.get(addressOf(all, 'Next'))).text)).toEqual([])
  })
})

test.for<{ what: string; fields: (app: string[]) => Fields; areTicked: boolean }>([
  {
    what: 'no app',
    fields: () => ({ decision: 'reject', reason: 'It "sank".' }),
    areTicked: false,
  },
  {
    what: 'too long a reason',
    fields: (app) => ({ app, decision: 'reject', reason: 'x'.repeat(1001) }),
    areTicked: true,
  },
  { what: 'no decision', fields: (app) => ({ app, reason: 'Spam & ham' }), areTicked: true },
  {
    what: 'over fifty apps',
    fields: (app) => ({
      app: [...app, ...Array.from({ length: 50 }, (_, index) => `${index + 900}@a`)],
      decision: 'approve',
      reason: '',
    }),
    areTicked: true,
  },
])('a form with $what is shown again as it was', async ({ fields, areTicked }) => {
  const { page, ada } = await startWithAda()
  await addApps(page, numbered(60))
  const before = await newestEntries(page, 1)
  // In the middle of a filtered queue.
  const first = (await ada.get(`/?${filter}`)).text
  const shown = (await ada.get(addressOf(first, 'Next'))).text
  const chosen = valuesOf(shown, 'app').slice(2, 5)
  const sent = fields(chosen)
  const refused = await submit(ada, shown, '/decisions', sent)
  expect(refused.status).toBe(400)
  expect(problemOf(refused.text)).not.toBe('')
  expect(await newestEntries(page, 1)).toEqual(before)
  // The same apps, filter, ticks and reason.
  expect(queued(refused.text)).toEqual(queued(shown))
  expect(formOf(refused.text, '/')).toEqual(formOf(shown, '/'))
  expect(tickedIn(refused.text)).toEqual(areTicked ? ['App 52', 'App 53', 'App 54'] : [])
  expect(valuesOf(refused.text, 'reason')).toEqual([sent.reason])
  // The second attempt is right, and leads back here.
  const again = { app: chosen, reason: 'It sank.' }
  const done = (await follow(ada, await decide(ada, refused.text, 'reject', again))).text
  expect(queued(done)).toEqual(queued(shown).filter((_, index) => index < 2 || index > 4))
  expect(formOf(done, '/')).toEqual(formOf(shown, '/'))
  expect([tickedIn(done), valuesOf(done, 'reason')]).toEqual([[], ['']])
})

test('in a queue whose filter names nothing any more, a decision is made and reported', async () => {
  const { page, ada } = await startWithAda()
  const app = await referenceTo(page, apps.pending)
  const path = '/decisions?queue=pending&developer=Nobody'
  const done = await follow(ada, await ada.post(path, { app, decision: 'approve' }))
  expect([done.status, problemOf(done.text)]).toEqual([400, expect.stringContaining('Nobody')])
  expect(reportOf(done.text)).toContain('Cloud Atlas')
})

test('decisions lead back to the same queue, filter and place', async () => {
  const { page, ada } = await startWithAda()
  const at = '2026-05-01T00:00:00.000Z'
  await addApps(
    page,
    numbered(60).map((app, index) => ({
      ...app,
      status: 'approved',
      approved_at: at,
      // One minute after the other.
      unreviewed_since: new Date(Date.parse(at) + index * 60_000).toISOString(),
      category_id: categories.tools,
    })),
  )
  const first = (await ada.get('/?queue=changed&category=tools')).text
  const next = addressOf(first, 'Next')
  const second = (await ada.get(next)).text
  const app = valuesOf(second, 'app').slice(0, 2)
  const [one, other] = queuedIds(second)
  const decided = await decide(ada, second, 'approve', { app })
  expect(decided.headers.location).toBe(`${next}&decided=${one}+${other}`)
  const left = queued((await follow(ada, decided)).text)
  expect(left).toEqual(queued(second).slice(2))
  // The form of another moderator is refused there.
  const refused = await decide(await page.signIn('Bo'), second, 'approve', { app })
  expect([refused.status, queued(refused.text)]).toEqual([409, left])
})

test('an address that changed is among the changes alone', async () => {
  const { service, ada } = await startWithService()
  const json = { website_url: 'https://new.example/' }
  await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
  const { text } = await ada.get('/?queue=changed')
  expect(textOf(text)).toContain('Website https://tideclock.example.org/ → https://new.example/')
  expect(text.match(/https:\/\/new\.example\//g)).toHaveLength(1)
  // The others stand beside it.
  expect(textOf(text)).toContain('Source code https://code.example.org/tide-clock')
})
