import { describe, expect, inject, test } from 'vitest'
import type { NewAppRow } from '../../src/catalogue/app-store.ts'
import { copyWorld } from '../support/database.ts'
import {
  formOf,
  linksOf,
  optionsOf,
  problemOf,
  reportOf,
  textOf,
  titleOf,
  valuesOf,
} from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  decide,
  type Fields,
  follow,
  type ModerationPage,
  type Moderator,
  newestEntries,
  queued,
  referenceTo,
  startModerationPage,
  stateOf,
  type Visitor,
} from '../support/moderation-page.ts'
import { startService } from '../support/service.ts'

const { apps, categories, keys } = inject('world')
const adasId = 1

const addressOf = (page: string, name: string): string =>
  linksOf(page).find(([link]) => link === name)?.[1] ?? ''

const hasLink = (page: string, name: string) => addressOf(page, name) !== ''

const open = async (visitor: Visitor, page: string, link: string): Promise<string> => {
  const address = addressOf(page, link)
  expect(address, link).not.toBe('')
  return (await visitor.get(address)).text
}

/** The names of the apps whose boxes are ticked. */
const tickedIn = (page: string): string[] =>
  [...page.matchAll(/ checked> <span class="hidden">Select ([^<]*)</g)].map(([, name = '']) => name)

describe('the queue', () => {
  let page: ModerationPage
  let ada: Moderator
  share(async () => {
    const databaseUrl = await copyWorld()
    const service = await startService({ databaseUrl })
    page = await startModerationPage({ databaseUrl })
    ada = await page.signIn('Ada')
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
    expect(textOf(text)).toMatch(/^Pending 5 Changed 2 Apps Audit Ada Sign out /)
    expect(textOf(text)).toContain('5 apps wait, the longest first.')
    expect(textOf(text)).toMatch(/Oldest Bob \([^)]*\) · Games · waits [\d,]+ days Old & <new> /)
    // A name in a right-to-left script must not move what is beside it.
    expect(text).toMatch(/<bdi>Oldest<\/bdi>[\s\S]*<bdi>Bob<\/bdi>/)
    // The beginning of the description, without a fold.
    expect(text).toContain(`<p class="beginning" dir="auto">${'x'.repeat(199)}…</p>`)
    expect(text).not.toContain('<details>')
    expect(textOf(text)).toMatch(/Cloud Atlas Ada \([^)]*, 2 waiting\)/)
    expect(valuesOf(text, 'app')).toEqual(
      await Promise.all(
        valuesOf(text, 'app').map((app) => referenceTo(page, Number.parseInt(app, 10))),
      ),
    )
    expect(tickedIn(text)).toEqual([])
    expect(optionsOf(text, 'developers')).toEqual(['Ada', 'Bob'])
  })

  test.for<[path: string, tab: string | undefined]>([
    ['/', 'Pending 5'],
    ['/?queue=pending&developer=Nobody', 'Pending 5'],
    ['/?queue=changed', 'Changed 2'],
    ['/apps?text=tide', 'Apps'],
    ['/audit?app=1', 'Audit'],
    ['/apps/2?queue=pending', 'Pending 5'],
    ['/apps/1?queue=changed', 'Changed 2'],
    ['/apps/2', undefined],
  ])('on %s, the tab of the present page is %s', async ([path, tab]) => {
    const { text } = await ada.get(path)
    const current = [...text.matchAll(/<a [^>]*aria-current="page"[^>]*>(.*?)<\/a>/g)]
    expect(current.map(([, content]) => textOf(`<body>${content}`))).toEqual([tab ?? []].flat())
  })

  test('marks look-alikes, with the downloads of the app that they look like', async () => {
    const { text } = await ada.get('/')
    expect(linksOf(text)).toContainEqual([
      'Looks like Tide Clock, 100 downloads',
      `/apps/${apps.approved}`,
    ])
    expect(text.match(/Looks like/g)).toHaveLength(1)
    const [, row] = /<bdi>Tide Cl0ck<\/bdi>([\s\S]*)/.exec(text) ?? []
    expect(row).toContain('Looks like')
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

  test('has an address that changed once, before and after', async () => {
    const databaseUrl = await copyWorld()
    const service = await startService({ databaseUrl })
    const own = await startModerationPage({ databaseUrl })
    const json = { website_url: 'https://new.example/' }
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
    const { text } = await (await own.signIn('Ada')).get('/?queue=changed')
    expect(textOf(text)).toContain('Website https://tideclock.example.org/ → https://new.example/')
    expect(text.match(/https:\/\/new\.example\//g)).toHaveLength(1)
    // The others stand beside it.
    expect(textOf(text)).toContain('Source code https://code.example.org/tide-clock')
  })

  const everything = ['Oldest', 'Cloud Atlas', 'Night Train', 'Newer', 'Tide Cl0ck']

  test.for<[query: string, found: string[], message: string]>([
    ['developer=Ada', ['Cloud Atlas', 'Newer'], '2 apps wait, the longest first.'],
    ['developer=%20Ada%20', ['Cloud Atlas', 'Newer'], '2 apps wait'],
    ['category=games', ['Oldest', 'Newer', 'Tide Cl0ck'], '3 apps wait'],
    ['category=empty', [], 'No apps match the filter.'],
    ['developer=%20', everything, '5 apps wait, the longest first.'],
    ['developer=Bob&category=games', ['Oldest', 'Tide Cl0ck'], '2 apps wait'],
    ['look-alikes=on', ['Tide Cl0ck'], '1 found among 5 apps, the longest wait first.'],
    ['look-alikes=on&category=games', ['Tide Cl0ck'], '1 found among 3 apps'],
    ['look-alikes=on&developer=Bob&category=games', ['Tide Cl0ck'], '1 found among 2 apps'],
    ['look-alikes=on&developer=Ada', [], '0 found among 2 apps'],
    ['queue=changed&look-alikes=on', [], '0 found among 2 apps'],
    ['queue=changed&developer=Bob', ['Bird Songs'], '1 app waits, the longest first.'],
    ['queue=other', everything, '5 apps wait'],
    // A bookmark of the filter by text, which releases before 3.0.0 had.
    ['search=tr', everything, '5 apps wait, the longest first.'],
    ['queue=changed&developer=Bob&search=zebra', ['Bird Songs'], '1 app waits'],
  ])('filtered by %s', async ([query, found, message]) => {
    const { status, text } = await ada.get(`/?${query}`)
    expect([status, queued(text)]).toEqual([200, found])
    expect(textOf(text)).toContain(message)
    // The form shows the filter, and keeps the queue.
    const parameters = new URLSearchParams(query)
    const queue = parameters.get('queue') === 'changed' ? 'changed' : 'pending'
    const filter = ['developer', 'look-alikes'].map((name): [string, string] => [
      name,
      parameters.get(name)?.trim() ?? '',
    ])
    const { fields = {} } = formOf(text, '/') ?? {}
    expect(fields.queue).toEqual([queue])
    for (const [name, value] of filter)
      expect(fields[name]).toEqual(name === 'look-alikes' && value === '' ? undefined : [value])
    const category = parameters.get('category') ?? ''
    expect(
      [...text.matchAll(/<option value="([^"]*)" selected>/g)].map(([, slug]) => slug),
    ).toEqual([category].filter(Boolean))
    // So do the links of the list, and those to its apps.
    const expected = Object.fromEntries(
      [...filter, ['category', category] as const].filter(([, value]) => value !== ''),
    )
    const links = linksOf(text).filter(([name]) => name === 'Select none' || found.includes(name))
    expect(links).toHaveLength(found.length === 0 ? 0 : found.length + 1)
    for (const [name, address] of links) {
      const { searchParams } = new URL(address, 'http://moderation.test')
      expect([name, Object.fromEntries(searchParams)]).toEqual([name, { queue, ...expected }])
    }
    // Nothing else than a filter is left out by its link.
    expect(hasLink(text, 'Show all')).toBe(Object.keys(expected).length > 0)
  })

  test.for<[query: string, message: string, field: string]>([
    ['developer=Nobody', 'There is no developer "Nobody".', 'developer'],
    ['queue=changed&developer=ada', 'There is no developer "ada"; similar: Ada.', 'developer'],
    ['look-alikes=on&developer=Nobody', 'There is no developer "Nobody".', 'developer'],
    ['developer=Bob&category=none', 'There is no category with the slug none.', 'developer'],
  ])('asked for %s, says what is wrong, and keeps the filter', async ([query, message, field]) => {
    const { status, text } = await ada.get(`/?${query}`)
    expect([status, problemOf(text)]).toEqual([400, message])
    expect(titleOf(text)).toMatch(/^(Pending|Changed) apps – Moderation$/)
    expect(valuesOf(text, field)).toEqual([new URLSearchParams(query).get(field)])
    expect(queued(text)).toEqual([])
    expect(queued(await open(ada, text, 'Show all')).length).toBeGreaterThan(1)
  })

  test.for(['x', '1', '2026-01-01~1', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z~0'])(
    'asked to begin after %j, says what is wrong, with links to go on',
    async (after) => {
      const { status, text } = await ada.get(`/?${new URLSearchParams({ after })}`)
      expect([status, problemOf(text)]).toEqual([
        400,
        `After must be a place in the queue, as the link Next has it, not ${JSON.stringify(after)}.`,
      ])
      expect(linksOf(text).map(([name]) => name)).toEqual(
        expect.arrayContaining(['Pending', 'Changed', 'Apps', 'Audit', 'Go to the queue']),
      )
    },
  )
})

/** The ids of a list's apps, in their order. */
const queuedIds = (page: string) => valuesOf(page, 'app').map((app) => Number.parseInt(app, 10))

/** The ids of the apps on all steps of a walk. */
async function walk(visitor: Visitor, first: string): Promise<number[][]> {
  const steps: number[][] = []
  for (let address = first; address !== ''; ) {
    const { status, text } = await visitor.get(address)
    expect([address, status]).toEqual([address, 200])
    steps.push(queuedIds(text))
    const next = ['Next', 'Search the next ones'].filter((name) => hasLink(text, name))
    expect(next).toEqual(next.slice(0, 1))
    // A step without an app says that it goes on.
    if (next.length > 0) expect(next[0] === 'Next').toBe(queued(text).length > 0)
    expect(hasLink(text, 'Back to the beginning')).toBe(address !== first)
    address = addressOf(text, next[0] ?? '')
    expect(steps.length).toBeLessThan(100)
  }
  return steps
}

const numbered = (count: number, name: (index: number) => string): Partial<NewAppRow>[] =>
  Array.from({ length: count }, (_, index) => ({ name: name(index) }))

/** A name that looks like the Tide Clock of Ada, or one that looks like none. */
const hidden = (places: number[]) => (index: number) =>
  places.includes(index) ? 'Tide Cl0ck' : `Hay ${index}`

const isHidden = (name: string) => name === 'Tide Cl0ck'

test('look-alikes are marked in the order of the queue, which is not that of the ids', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(page, [
    { name: 'Quill' },
    { name: 'Tide Cl0ck', created_at: '2018-01-01T00:00:00.000Z' },
  ])
  const { text } = await ada.get('/?look-alikes=on')
  expect(queued(text)).toEqual(['Tide Cl0ck'])
  expect(textOf(text)).toContain('Looks like')
})

test('the record of a developer is exact, however many apps they have', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(page, [
    ...numbered(1000, (index) => `App ${index}`).map((app) => ({
      ...app,
      status: 'approved' as const,
      approved_at: '2026-01-01T00:00:00.000Z',
    })),
    { name: 'Refused', status: 'rejected', rejection_reason: 'It sank.' },
  ])
  // One was approved before.
  const record = 'Bob (1,001 approved, 1 rejected)'
  expect(textOf((await ada.get('/')).text)).toContain(record)
  expect(textOf((await ada.get(`/apps/${apps.bobsPending}`)).text)).toContain(record)
})

test.for<[what: string, description: string, shown: string]>([
  ['of 200 characters is whole', 'x'.repeat(200), 'x'.repeat(200)],
  ['of 201 characters ends with …', 'x'.repeat(201), `${'x'.repeat(199)}…`],
  ['is not cut within an emoji', `${'😀'.repeat(101)}`, `${'😀'.repeat(99)}…`],
  ['is not cut before an accent', `${'e\u0301'.repeat(100)}e`, `${'e\u0301'.repeat(99)}…`],
])('the beginning of a description %s', async ([, description, shown]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(page, [{ description }])
  expect((await ada.get('/')).text).toContain(`>${shown}</p>`)
})

test('the filter of each queue offers the developers whose apps wait in it', async () => {
  const service = await startService()
  const page = await startModerationPage({ databaseUrl: service.databaseUrl })
  const ada = await page.signIn('Ada')
  await service.decide('approve', apps.bobsPending)
  await service.request('PUT', `/apps/${apps.bobs}`, { key: keys.bob, json: { version: '9' } })
  for (const [queue, developers] of [
    ['pending', ['Ada']],
    ['changed', ['Bob']],
  ] as const) {
    const { text } = await ada.get(`/?queue=${queue}`)
    expect([queue, optionsOf(text, 'developers')]).toEqual([queue, developers])
  }
})

describe('the steps of a walk through the queue have each app exactly once', () => {
  const at = '2026-01-01T00:00:00.000Z'
  /** Behind the two pending apps of the world. */
  const cases: [
    what: string,
    added: Partial<NewAppRow>[],
    query: string,
    isFound: (name: string) => boolean,
    sizes: number[],
  ][] = [
    ['without a filter', numbered(118, (index) => `App ${index}`), '', () => true, [50, 50, 20]],
    [
      'of a developer and a category',
      numbered(101, (index) => `App ${index}`),
      'developer=Bob&category=games',
      (name) => name.startsWith('App'),
      [50, 50, 1],
    ],
    [
      'if all have waited since the same moment',
      numbered(101, (index) => `App ${index}`).map((app) => ({ ...app, created_at: at })),
      'category=games',
      (name) => name.startsWith('App'),
      [50, 50, 1],
    ],
    [
      'of look-alikes, which are fifty of those that were read',
      numbered(100, (index) => (index % 2 === 0 ? 'Tide Cl0ck' : `Hay ${index}`)),
      'look-alikes=on',
      isHidden,
      [50],
    ],
    [
      'of look-alikes, which are fifty-one without another app between',
      numbered(51, () => 'Tide Cl0ck'),
      'look-alikes=on',
      isHidden,
      [50, 1],
    ],
    [
      'of look-alikes around the ends of steps',
      numbered(1100, hidden([0, 497, 498, 499, 997, 998, 1099])),
      'look-alikes=on',
      isHidden,
      [2, 3, 2],
    ],
    [
      'of look-alikes, if two steps have none',
      numbered(1010, hidden([1005])),
      'look-alikes=on',
      isHidden,
      [0, 0, 1],
    ],
    [
      'of look-alikes, if there are none',
      numbered(510, hidden([])),
      'look-alikes=on',
      isHidden,
      [0, 0],
    ],
  ]

  test.for(cases)('%s', async ([, added, query, isFound, sizes]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const ids = await addApps(page, added)
    const all = [
      { id: apps.pending, name: 'Cloud Atlas' },
      { id: apps.bobsPending, name: 'Night Train' },
      ...added.map(({ name = '' }, index) => ({ id: ids[index], name })),
    ]
    const steps = await walk(ada, `/?${query}`)
    expect(steps.flat()).toEqual(all.filter(({ name }) => isFound(name)).map(({ id }) => id))
    expect(steps.map(({ length }) => length)).toEqual(sizes)
  })
})

test('a step says how many apps it has found, among how many, and from which number on', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(page, numbered(998, hidden([3, 4, 600])))
  const first = (await ada.get('/?look-alikes=on')).text
  expect(textOf(first)).toContain(
    '2 found among 500 of 1,000 apps, from number 1 on, the longest wait first.',
  )
  const second = await open(ada, first, 'Next')
  expect(textOf(second)).toContain('1 found among 500 of 1,000 apps, from number 501 on')
  const whole = (await ada.get('/')).text
  expect(textOf(whole)).toContain('1,000 apps wait, the longest first. These are 1 to 50.')
  expect(textOf(await open(ada, whole, 'Next'))).toContain('These are 51 to 100.')
})

test('a step that is cut at fifty apps says among how many these were found', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(
    page,
    numbered(148, () => 'Tide Cl0ck'),
  )
  const first = (await ada.get('/?look-alikes=on')).text
  // Behind the two apps of the world, which are read, too.
  expect(textOf(first)).toContain('50 found among 52 of 150 apps, from number 1 on')
  const second = await open(ada, first, 'Next')
  expect(textOf(second)).toContain('50 found among 50 of 150 apps, from number 53 on')
  expect(textOf(await open(ada, second, 'Next'))).toContain(
    '48 found among 48 of 150 apps, from number 103 on',
  )
})

test('a place behind the last app, or of one that is gone, is a page with a way back', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(
    page,
    numbered(60, (index) => `App ${index}`),
  )
  const beyond = (await ada.get('/?after=2999-01-01T00:00:00.000Z~1')).text
  expect(textOf(beyond)).toContain('No more apps after this point; 62 apps wait in all.')
  expect(textOf(beyond)).not.toContain('No apps')
  const first = await open(ada, beyond, 'Back to the beginning')
  expect(queued(first)).toHaveLength(50)
  // No app has ever had this place.
  const between = (await ada.get('/?after=2026-01-01T00:30:00.000Z~1')).text
  expect(queued(between)).toEqual(Array.from({ length: 30 }, (_, index) => `App ${index + 30}`))
  expect(queued(await open(ada, between, 'Back to the beginning'))).toEqual(queued(first))
})

test('apps that others decide between two steps make no other app be skipped or shown again', async () => {
  const page = await startModerationPage()
  const [ada, bo] = [await page.signIn('Ada'), await page.signIn('Bo')]
  const ids = await addApps(
    page,
    numbered(120, (index) => `App ${index}`),
  )
  const take = async (...indexes: number[]) => {
    const app = await Promise.all(indexes.map((index) => referenceTo(page, ids[index] ?? 0)))
    expect((await bo.post('/decisions', { app, decision: 'approve' })).status).toBe(303)
  }
  const first = (await ada.get('/?developer=Bob&category=games')).text
  expect(queued(first).at(-1)).toBe('App 49')
  // Half of the step, also its last app, and the first of the next one.
  await take(...Array.from({ length: 25 }, (_, index) => index * 2 + 1), 50)
  const second = await open(ada, first, 'Next')
  expect(queued(second)).toEqual(Array.from({ length: 50 }, (_, index) => `App ${index + 51}`))
  await take(100, 101, 118)
  const third = await open(ada, second, 'Next')
  const left = Array.from({ length: 20 }, (_, index) => `App ${index + 100}`)
  expect(queued(third)).toEqual(
    left.filter((name) => !['App 100', 'App 101', 'App 118'].includes(name)),
  )
  expect(hasLink(third, 'Next')).toBe(false)
})

describe('select all', () => {
  test.for<[names: string[], link: string, ticked: string[], message: string]>([
    [['One', 'Two'], 'Select all', ['Cloud Atlas', 'Night Train', 'One', 'Two'], ''],
    [
      ['One', 'Tide Cl0ck', 'Two'],
      'Select all but look-alikes',
      ['Cloud Atlas', 'Night Train', 'One', 'Two'],
      '1 look-alike is not selected.',
    ],
    [
      ['Tide Cl0ck', 'Tide Cl0ck'],
      'Select all but look-alikes',
      ['Cloud Atlas', 'Night Train'],
      '2 look-alikes are not selected.',
    ],
  ])('of %s selects those that look like no other app', async ([names, link, ticked, message]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const ids = await addApps(
      page,
      names.map((name) => ({ name })),
    )
    const before = (await ada.get('/')).text
    expect(tickedIn(before)).toEqual([])
    expect(textOf(before)).not.toContain('not selected')
    const selected = await open(ada, before, link)
    expect(tickedIn(selected)).toEqual(ticked)
    expect(/[\d,]+ look-alikes? (is|are) not selected\./.exec(textOf(selected))?.[0] ?? '').toBe(
      message,
    )
    expect(tickedIn(await open(ada, selected, 'Select none'))).toEqual([])
    // What is ticked is decided, and nothing else.
    expect((await decide(ada, selected, 'approve')).status).toBe(303)
    for (const [index, name] of names.entries())
      expect([name, (await stateOf(page, ids[index] ?? 0))?.status]).toEqual([
        name,
        ticked.includes(name) ? 'approved' : 'pending',
      ])
  })

  test('selects the apps of its step alone, which keeps its place and filter', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    await addApps(
      page,
      numbered(70, (index) => `App ${index}`),
    )
    const second = await open(ada, (await ada.get('/?developer=Bob&category=games')).text, 'Next')
    const selected = await open(ada, second, 'Select all')
    expect(tickedIn(selected)).toEqual(queued(second))
    const done = await follow(ada, await decide(ada, selected, 'approve'))
    expect(textOf(done.text)).toContain('App 50, App 51')
    expect(textOf(done.text)).toContain('App 69. 50 wait.')
    expect(queued(done.text)).toEqual([])
    expect(queued(await open(ada, done.text, 'Back to the beginning'))).toHaveLength(50)
    // The next step begins without ticks.
    const all = await open(ada, (await ada.get('/')).text, 'Select all')
    expect(tickedIn(all)).toHaveLength(50)
    expect(tickedIn(await open(ada, all, 'Next'))).toEqual([])
  })
})

describe('a form of the queue that is wrong is shown again as it was', () => {
  const filter = '/?developer=Bob&category=games'

  test.for<[what: string, change: (fields: Fields) => Fields, message: string, ticked: number]>([
    [
      'without an app',
      ({ app: _, ...fields }) => ({ ...fields, decision: 'reject', reason: 'It "sank".' }),
      'Select at least one app.',
      0,
    ],
    [
      'without a reason',
      (fields) => ({ ...fields, decision: 'reject' }),
      'A reason must have 1 to 1000 characters, not 0.',
      3,
    ],
    [
      'with a blank reason',
      (fields) => ({ ...fields, decision: 'reject', reason: '  ' }),
      'A reason must have 1 to 1000 characters, not 0.',
      3,
    ],
    [
      'with too long a reason',
      (fields) => ({ ...fields, decision: 'reject', reason: 'x'.repeat(1001) }),
      'A reason must have 1 to 1000 characters, not 1001.',
      3,
    ],
    [
      'without a decision',
      (fields) => ({ ...fields, reason: 'Spam & ham' }),
      'Press Approve or Reject.',
      3,
    ],
    [
      'with over fifty apps',
      (fields) => ({
        ...fields,
        app: [
          fields.app ?? [],
          Array.from({ length: 50 }, (_, index) => `${index + 900}@a`),
        ].flat(),
        decision: 'approve',
      }),
      'Select at most 50 apps, not 53.',
      3,
    ],
  ])('%s', async ([, change, message, ticked]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    await addApps(
      page,
      numbered(60, (index) => `App ${index}`),
    )
    const before = await newestEntries(page, 1)
    // In the middle of a filtered queue.
    const shown = await open(ada, (await ada.get(filter)).text, 'Next')
    const { action, fields } = formOf(shown, '/decisions') ?? { action: '', fields: {} }
    const chosen = valuesOf(shown, 'app').slice(2, 5)
    const sent = change({ ...fields, app: chosen })
    const refused = await ada.post(action, sent)
    expect([refused.status, problemOf(refused.text)]).toEqual([400, message])
    expect(await newestEntries(page, 1)).toEqual(before)
    // The same apps, filter, ticks and reason.
    expect(queued(refused.text)).toEqual(queued(shown))
    expect(formOf(refused.text, '/')).toEqual(formOf(shown, '/'))
    expect(tickedIn(refused.text)).toEqual(['App 52', 'App 53', 'App 54'].slice(0, ticked))
    expect(valuesOf(refused.text, 'reason')).toEqual([sent.reason].flat())
    // The second attempt is right, and leads back here.
    const again = { app: chosen, reason: 'It sank.' }
    const done = await follow(ada, await decide(ada, refused.text, 'reject', again))
    expect(queued(done.text)).toEqual(queued(shown).filter((_, index) => index < 2 || index > 4))
    expect(formOf(done.text, '/')).toEqual(formOf(shown, '/'))
    expect(tickedIn(done.text)).toEqual([])
    expect(valuesOf(done.text, 'reason')).toEqual([''])
  })

  test('an app that its owner has changed since is not ticked any more, so that it is looked at', async () => {
    const service = await startService()
    const page = await startModerationPage({ databaseUrl: service.databaseUrl })
    const ada = await page.signIn('Ada')
    const app = valuesOf((await ada.get('/')).text, 'app')
    await service.request('PUT', `/apps/${apps.pending}`, {
      key: keys.ada,
      json: { description: 'Malware.' },
    })
    const refused = await ada.post('/decisions', { app, decision: 'reject' })
    expect([refused.status, tickedIn(refused.text)]).toEqual([400, ['Night Train']])
  })

  test('about a developer who does not exist, it decides, and shows what is wrong with the filter', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const app = await referenceTo(page, apps.pending)
    const done = await follow(
      ada,
      await ada.post('/decisions?queue=pending&developer=Nobody', { app, decision: 'approve' }),
    )
    expect([done.status, problemOf(done.text)]).toEqual([400, 'There is no developer "Nobody".'])
    expect(textOf(done.text)).toContain('Approved Cloud Atlas.')
  })
})

test('bulk decisions lead back to the same queue, filter and place', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const at = '2026-05-01T00:00:00.000Z'
  await addApps(
    page,
    Array.from({ length: 60 }, (_, index) => ({
      name: `App ${index}`,
      status: 'approved',
      approved_at: at,
      // One minute after the other.
      unreviewed_since: new Date(Date.parse(at) + index * 60_000).toISOString(),
      category_id: categories.tools,
    })),
  )
  const first = (await ada.get('/?queue=changed&category=tools')).text
  const second = await open(ada, first, 'Next')
  expect(queued(second)).toHaveLength(10)
  const app = valuesOf(second, 'app').slice(0, 2)
  const decided = await decide(ada, second, 'approve', { app })
  const address = new URL(String(decided.headers.location), 'http://moderation.test')
  const { decided: ids, ...view } = Object.fromEntries(address.searchParams)
  const place = new URL(addressOf(first, 'Next'), 'http://moderation.test').searchParams
  expect(view).toEqual(Object.fromEntries(place))
  expect(ids).toBe(app.map((one) => Number.parseInt(one, 10)).join(' '))
  const { text } = await follow(ada, decided)
  expect(queued(text)).toEqual(queued(second).slice(2))
  // The same form again decides nothing, and leads to the same place; that of another moderator is
  // refused there.
  const newest = await newestEntries(page, 1)
  const again = (await follow(ada, await decide(ada, second, 'approve', { app }))).text
  expect(reportOf(again)).toBe('Approved App 50, App 51. 58 wait.')
  const bo = await page.signIn('Bo')
  const refused = await decide(bo, second, 'approve', { app })
  expect([refused.status, reportOf(refused.text)]).toEqual([
    409,
    'Not decided App 50 (approved meanwhile), App 51 (approved meanwhile). 58 wait.',
  ])
  for (const shown of [again, refused.text]) expect(queued(shown)).toEqual(queued(text))
  expect((await newestEntries(page, 2)).map(({ action }) => action)).toEqual([
    'moderator add',
    newest[0]?.action,
  ])
})
