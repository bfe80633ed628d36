import { describe, expect, inject, test } from 'vitest'
import { recordEntries } from '../../src/audit/audit-store.ts'
import {
  appColumns,
  isAddressColumn,
  type OwnerColumn,
  ownerColumns,
} from '../../src/catalogue/app-columns.ts'
import { storedKeywords } from '../../src/catalogue/keywords.ts'
import { freezeClock } from '../support/clock.ts'
import {
  addressOf,
  formOf,
  linksOf,
  optionsOf,
  problemOf,
  textOf,
  valuesOf,
} from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  barOf,
  decide,
  type Moderator,
  referenceTo,
  skip,
  startWithAda,
  startWithService,
} from '../support/moderation-page.ts'
import { commandLine } from '../support/process.ts'
import { optionalFields } from '../support/whole-app.ts'

/** The page of an app: what it says, and what it offers. walk.test.ts decides there. */

const { apps, categories, keys } = inject('world')
const bobsId = 2

const { short_description: _, ...facts } = optionalFields
/** The optional fields of Ada's approved app as moderators read them, in the order of the page. */
const texts = ownerColumns
  .filter((column) => column in facts)
  .map((column) => [
    appColumns[column].label,
    [facts[column as keyof typeof facts]].flat().join(', '),
  ])

/** The rows of the page's list of facts, by their labels. */
const factsOf = (page: string): Record<string, string> => {
  const [, list = ''] = /<h2>Facts<\/h2>\s*<dl>([\s\S]*?)<\/dl>/.exec(page) ?? []
  return Object.fromEntries(
    [...list.matchAll(/<dt>(.*?)<\/dt><dd[^>]*>([\s\S]*?)<\/dd>/g)].map(([, label = '', value]) => [
      label,
      textOf(`<body>${value}`),
    ]),
  )
}

const historyOf = (page: string): string[] =>
  [...page.matchAll(/<ol class="history">([\s\S]*?)<\/ol>/g)].flatMap(([, list = '']) =>
    list
      .split('<li>')
      .slice(1)
      .map((item) => textOf(`<body>${item.replace(/<details[\s\S]*/, '')}`)),
  )

test('has the facts of an app, without counts of 0', async () => {
  const { page, ada } = await startWithAda()
  const { text } = await ada.get(`/apps/${apps.approved}`)
  expect(factsOf(text)).toEqual({
    Developer: 'Ada (1 approved, 1 rejected)',
    Category: 'Tools',
    ...Object.fromEntries(texts),
    Version: '1.0.0',
    Created: '1 Jan 2020',
    'First approved': expect.any(String),
    'Last changed': expect.any(String),
    Downloads: '100',
    Ratings: '4.67 of 5, 3 ratings',
    Reviews: '3',
    App: `${await referenceTo(page, apps.approved)} (tide-clock)`,
  })
  const rejected = factsOf((await ada.get(`/apps/${apps.rejected}`)).text)
  expect(rejected).toHaveProperty('Last rejected because')
  expect(rejected).not.toHaveProperty('Downloads')
  const deleted = (await ada.get(`/apps/${apps.deleted}`)).text
  expect([barOf(deleted), factsOf(deleted).Deleted]).toEqual(['G Gone Deleted', expect.any(String)])
})

test('has a history of sentences, whose values are folded', async () => {
  freezeClock(Date.parse('2025-08-02T14:20:30Z'))
  const { service, page, ada } = await startWithService()
  const bo = await page.signIn('Bo')
  const path = `/apps/${apps.bobsPending}`
  const shown = async () => (await ada.get(path)).text
  await decide(bo, await shown(), 'reject', { reason: 'No & no.' })
  await service.request('PUT', path, {
    key: keys.bob,
    json: { category_id: inject('world').categories.games, version: '2.0.0' },
  })
  await decide(ada, await shown(), 'approve')
  await service.request('DELETE', path, { key: keys.bob })
  const { text } = await ada.get(path)
  const at = '2 Aug 2025, 14:20'
  const key = keys.bob.slice(0, 17)
  expect(historyOf(text)).toEqual([
    `Deleted by Bob (${key}), ${at}`,
    `Approved by Ada (signed in), ${at}`,
    `Changed by Bob (${key}), ${at}`,
    `Rejected by Bo (signed in), ${at}: No & no.`,
    'Created by world, 1 Jan 2020, 00:00',
  ])
  // Names instead of ids.
  expect(textOf(text)).toContain('Category Tools → Games')
  expect(textOf(text)).toContain('Status rejected → pending')
  expect(text).not.toContain('<details open>')
  // Lines of decisions say all: only those of the owner have values.
  expect(text.match(/<details/g)).toHaveLength(3)
  // Also of an entry alone, the only one that has the former category.
  const [entry] = await page.database.read(({ sql }) =>
    sql('audit').where({ action: 'app update', app_id: apps.bobsPending }).pluck('id'),
  )
  const alone = await ada.get(`/audit?entry=${entry}`)
  expect(textOf(alone.text)).toContain('Category Tools → Games')
})

test('puts the look-alikes beside the app', async () => {
  const { page, ada } = await startWithAda()
  const [id] = await addApps(page, [{ name: 'Tide Cl0ck' }])
  const { text } = await ada.get(`/apps/${id}`)
  expect(textOf(text)).toContain('Looks like 1 other app')
  const rows = [...text.matchAll(/<tr><th scope="row">(.*?)<\/th>(.*?)<\/tr>/g)].map(
    ([, label, values = '']) => [
      label,
      ...values
        .split('</td>')
        .slice(0, -1)
        .map((value) => textOf(`<body>${value}`)),
    ],
  )
  expect(rows).toEqual([
    ['Developer', 'Bob', 'Ada'],
    ['In short', '', 'High and low water'],
    ['Version', '1.0.0', '1.0.0'],
    ...texts.map(([label, text]) => [label, '', text]),
    ['Category', 'Games', 'Tools'],
    ['Downloads', '0', '100'],
    ['Created', '1 Jan 2026', '1 Jan 2020'],
  ])
  expect(textOf((await ada.get(`/apps/${apps.pending}`)).text)).not.toContain('Looks like')
})

test('has the text as it is, without links, and what the owner changed', async () => {
  const { service, ada } = await startWithService()
  const description = 'See https://evil.example/ or\nmailto:a@b.example <a href="/">here</a>.'
  const json = {
    name: 'Tide Clock 2',
    short_description: 'High and low water. High and low water.',
    description,
    license: '',
    source_code_url: '',
  }
  await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
  const { text } = await ada.get(`/apps/${apps.approved}`)
  const escaped = description
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
  expect(text).toContain(`<p class="text" dir="auto">${escaped}</p>`)
  expect(text.match(/<h\d><bdi>Tide Clock 2<\/bdi>/g)).toEqual(['<h1><bdi>Tide Clock 2</bdi>'])
  const [, changes = ''] =
    /<section class="card" id="changes">([\s\S]*?)<\/section>/.exec(text) ?? []
  expect(changes.match(/<dt>/g)).toHaveLength(Object.keys(json).length)
  expect(textOf(`<body>${changes}`)).toMatch(/^Changed since the last decision Name /)
  // Short values are whole; of longer ones, the changed words are marked.
  expect(changes).toContain('<del>Tide Clock</del> → <ins>Tide Clock 2</ins>')
  expect(changes).toContain('<del>MIT</del> → <span class="quiet">none</span>')
  expect(changes).toContain('High and low water<ins>. High and low water.</ins>')
  expect(textOf(`<body>${changes}`)).toContain(
    'Source code https://code.example.org/tide-clock → none',
  )
})

test('links to the developer’s other apps in any state, and lists the newest reviews', async () => {
  const { ada } = await startWithAda()
  const { text } = await ada.get(`/apps/${apps.approved}`)
  expect(linksOf(text)).toEqual(
    expect.arrayContaining([
      ['Ada', '/apps?text=Ada'],
      ['Cloud Atlas', `/apps/${apps.pending}`],
      ['Broken Compass', `/apps/${apps.rejected}`],
      ['Gone', `/apps/${apps.deleted}`],
    ]),
  )
  expect(textOf(text)).toContain('Gone Deleted Broken Compass Rejected Cloud Atlas Pending')
  expect(linksOf(text).map(([name]) => name)).not.toContain('Tide Clock')
  expect(textOf(text)).toMatch(
    /Newest reviews, of 3 Di, 5 of 5, 1 Feb 2026, 00:00 .*Ed, 5 of 5, .*Right\..*Cy, 4 of 5, .*Fine\./,
  )
})

test.for<{ state: keyof typeof apps; decisions: string[]; path: string }>([
  { state: 'approved', decisions: ['reject'], path: '/decisions' },
  { state: 'pending', decisions: ['approve', 'reject'], path: '/decisions' },
  { state: 'rejected', decisions: ['approve', 'reopen'], path: '/decisions' },
  { state: 'deleted', decisions: [], path: '/restorations' },
])('of an app that is $state decides $decisions, by $path', async ({ state, decisions, path }) => {
  const { ada } = await startWithAda()
  const { text } = await ada.get(`/apps/${apps[state]}`)
  expect(valuesOf(text, 'decision')).toEqual(decisions)
  for (const one of ['/decisions', '/restorations'])
    expect(formOf(text, one) !== undefined, one).toBe(one === path)
  expect(addressOf(text, 'What the public sees')).toBe(
    state === 'approved' ? `http://localhost:3000/apps/${apps.approved}` : '',
  )
})

describe('within a queue', () => {
  const view = 'queue=pending&developer=Bob&category=games'
  let ada: Moderator
  let ids: number[]
  share(async () => {
    const started = await startWithAda()
    ada = started.ada
    ids = await addApps(started.page, Array(4).fill({}))
  })

  test('says where the app is, and leads to the next one', async () => {
    for (const [index, id] of ids.entries()) {
      const { text } = await ada.get(`/apps/${id}?${view}`)
      expect(barOf(text)).toMatch(new RegExp(`Pending waits [\\d,]+ days ${index + 1} of 4$`))
      const next = ids[index + 1]
      expect((await skip(ada, text)).path).toBe(`${next ? `/apps/${next}` : '/'}?${view}`)
    }
  })

  test.for<{ what: string; path: (id: number | undefined) => string }>([
    { what: 'that does not wait', path: () => `/apps/${apps.rejected}?queue=pending` },
    { what: 'of the other queue', path: (id) => `/apps/${id}?queue=changed` },
    {
      what: 'of another developer',
      path: () => `/apps/${apps.pending}?queue=pending&developer=Bob`,
    },
    {
      what: 'of another category',
      path: () => `/apps/${apps.pending}?queue=pending&category=games`,
    },
    { what: 'without a queue', path: (id) => `/apps/${id}?developer=Bob` },
  ])('an app $what has no number', async ({ path }) => {
    const { status, text } = await ada.get(path(ids[1]))
    expect(status).toBe(200)
    expect(barOf(text)).not.toMatch(/\d of \d/)
    expect(addressOf(text, 'Skip') === '').toBe(!path(1).includes('queue'))
  })

  test('whose filter names nothing any more, it is shown, and says so', async () => {
    const { status, text } = await ada.get(`/apps/${ids[0]}?queue=pending&developer=Nobody`)
    expect([status, problemOf(text)]).toEqual([200, expect.stringContaining('Nobody')])
  })
})

test('lists at most twenty other apps, and leads to the others', async () => {
  const { page, ada } = await startWithAda()
  const more = ['More apps of the developer', '/apps?text=Bob']
  // Bob has two in the world.
  const [id] = await addApps(page, Array(19).fill({}))
  expect(linksOf((await ada.get(`/apps/${id}`)).text)).not.toContainEqual(more)
  await addApps(page, Array(11).fill({}))
  const links = linksOf((await ada.get(`/apps/${id}`)).text)
  expect(links).toContainEqual(more)
  expect(links.filter(([name]) => /^App \d+$/.test(name))).toHaveLength(20)
})

test('has the newest fifty entries, and says where those before are', async () => {
  const { page, ada } = await startWithAda()
  const [id = 0] = await addApps(page, [{}])
  const entry = {
    actor: { operator: 'test' },
    action: 'app counters',
    at: '2026-01-01T00:00:00.000Z',
    app_id: id,
    developer_id: bobsId,
    after: { total_downloads: 1 },
  } as const
  // With the entry of its creation.
  for (const { count, address } of [
    { count: 49, address: '' },
    { count: 1, address: `/audit?app=${id}` },
  ]) {
    await page.database.write((runner) => recordEntries(runner, Array(count).fill(entry)))
    const { text } = await ada.get(`/apps/${id}`)
    expect(historyOf(text)).toHaveLength(50)
    expect(addressOf(text, 'All entries')).toBe(address)
  }
  expect(historyOf((await ada.get(`/apps/${id}`)).text).at(-1)).toMatch(/^Counts updated by test, /)
})

test('offers the last ten reasons, each once', async () => {
  const { page, ada } = await startWithAda()
  const ids = await addApps(page, Array(13).fill({}))
  for (const [index, id] of ids.entries()) {
    const reason = `Reason "${Math.min(index, 11)}" & more`
    await ada.post('/decisions', { app: await referenceTo(page, id), decision: 'reject', reason })
  }
  const expected = Array.from({ length: 10 }, (_, index) => `Reason "${11 - index}" & more`)
  for (const path of ['/', `/apps/${apps.pending}`]) {
    const { text } = await ada.get(path)
    expect(optionsOf(text)).toEqual(expected)
    // As long as a reason may be.
    expect(text).toMatch(/<input name="reason" maxlength="1000" list="reasons"/)
  }
})

test('each column of owners is on the pages, and its change in the commands', async () => {
  const { page, ada } = await startWithAda()
  const textFor = (age: 'former' | 'present', column: OwnerColumn) =>
    isAddressColumn(column)
      ? `https://${age}-${column}.example/`
      : `${age} ${column.replaceAll('_', ' ')}`
  const columns = ownerColumns.filter(
    (column): column is Exclude<OwnerColumn, 'category_id' | 'name'> =>
      column !== 'category_id' && column !== 'name',
  )
  const textsOf = (age: 'former' | 'present'): Partial<Record<(typeof columns)[number], string>> =>
    Object.fromEntries(
      columns.map((column) => {
        const text = textFor(age, column)
        return [column, column === 'keywords' ? storedKeywords([text]) : text]
      }),
    )
  const at = '2026-05-01T00:00:00.000Z'
  const [id] = await addApps(page, [
    // Looks like the Tide Clock of Ada.
    {
      ...textsOf('present'),
      name: 'Tide Cl0ck',
      status: 'approved',
      approved_at: at,
      unreviewed_since: at,
      unreviewed_changes: JSON.stringify({ ...textsOf('former'), category_id: categories.tools }),
    },
    { ...textsOf('present'), name: 'Star Map', package_name: 'org.example.other' },
  ])
  const { text: app } = await ada.get(`/apps/${id}`)
  const sectionWith = (text: string) =>
    app.split('<section').find((section) => section.includes(text)) ?? ''
  const sections = {
    changes: sectionWith('id="changes"'),
    listing: sectionWith('listing"'),
    facts: sectionWith('<h2>Facts</h2>'),
    lookAlikes: sectionWith('Look-alikes side'),
  }
  const { text: queue } = await ada.get('/')
  const { text: changedQueue } = await ada.get('/?queue=changed')
  const { run } = commandLine(page.databaseUrl)
  const { stdout: show } = await run('moderation', 'show', String(id))
  const { stdout: list } = await run('moderation', 'queue', '--changed')
  for (const column of [...columns, 'category_id'] as const) {
    const isCategory = column === 'category_id'
    const [former, present] = isCategory
      ? ['tools', 'games']
      : [textFor('former', column), textFor('present', column)]
    const { label } = appColumns[column]
    expect(textOf(`<body>${changedQueue}`), column).toContain(label)
    for (const [place, text] of Object.entries({ changedQueue, show, list }))
      for (const value of [former, present])
        expect(textOf(`<body>${text}`), `${place} of ${column}`).toContain(value)
    // Which marks the words that differ.
    expect(textOf(`<body>${sections.changes}`), column).toContain(label)
    const inListing = column === 'short_description' || column === 'description'
    const shown = isCategory ? 'Games' : present
    expect(textOf(`<body>${sections[inListing ? 'listing' : 'facts']}`)).toContain(shown)
    if (column !== 'description') expect(textOf(`<body>${sections.lookAlikes}`)).toContain(shown)
    if (!isAddressColumn(column)) continue
    const address = `<span class="address" dir="ltr">${present}</span>`
    const { changes, facts, lookAlikes } = sections
    for (const [place, text] of Object.entries({ changes, facts, lookAlikes, queue, changedQueue }))
      expect(text, `${place} of ${column}`).toContain(address)
  }
})
