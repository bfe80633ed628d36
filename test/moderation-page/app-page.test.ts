import { describe, expect, inject, test } from 'vitest'
import { recordEntries } from '../../src/audit/audit-store.ts'
import {
  appColumns,
  isAddressColumn,
  type OwnerColumn,
  ownerColumns,
} from '../../src/catalogue/app-columns.ts'
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

/** The page of an app: what it says, and what it offers. walk.test.ts decides there. */

const { apps, categories, keys } = inject('world')
const bobsId = 2

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

test('says what the command `moderation show` says, in people’s words', async () => {
  const { service, page, ada } = await startWithService()
  const cli = commandLine(page.databaseUrl)
  await addApps(page, [{ name: 'Tide Cl0ck', rejection_reason: 'No.', status: 'rejected' }])
  await service.request('PUT', `/apps/${apps.approved}`, {
    key: keys.ada,
    json: { name: 'Tide Table', description: 'One\n\nhttps://example.org/ <b>two</b>' },
  })
  await cli.run('moderation', 'reject', String(apps.bobsPending), '--reason', 'Slow.')
  for (let id = apps.approved; id <= apps.bobsPending + 1; id++) {
    const { text } = await ada.get(`/apps/${id}`)
    const shown = textOf(text)
    const { app: _, ...described } = await cli.json('moderation', 'show', String(id))
    const { history, similar, changes, developer, category, ...fields } = described
    const state = fields.deleted_at ? 'Deleted' : fields.status
    expect(barOf(text).toLowerCase()).toContain(`${fields.name} ${state}`.toLowerCase())
    const facts = factsOf(text)
    expect(facts).toMatchObject({
      Developer: expect.stringMatching(new RegExp(`^${developer.name} \\(.*\\)$`)),
      Category: category.name,
      Version: fields.version,
      App: `${await referenceTo(page, id)} (${fields.slug})`,
    })
    const optional = {
      'Package name': fields.package_name,
      Website: fields.website_url,
      'Source code': fields.source_code_url,
      Licence: fields.license,
      'Last rejected because': fields.rejection_reason,
      // Counts of 0 say nothing.
      Downloads: fields.total_downloads === 0 ? null : String(fields.total_downloads),
      Reviews: fields.review_count === 0 ? null : String(fields.review_count),
      Ratings:
        fields.rating_count === 0
          ? null
          : `${fields.average_rating} of 5, ${fields.rating_count} ratings`,
    }
    for (const [label, value] of Object.entries(optional))
      expect([id, label, facts[label]]).toEqual([id, label, value ?? undefined])
    const times = [fields.created_at, fields.updated_at, fields.approved_at, fields.deleted_at]
    for (const time of times.filter(Boolean)) expect(text).toContain(`datetime="${time}"`)
    for (const one of [fields.description, fields.short_description].filter(Boolean))
      expect(shown).toContain(one.replace(/\s+/g, ' '))
    for (const one of similar) expect(linksOf(text)).toContainEqual([one.name, `/apps/${one.id}`])
    expect(text.includes('id="changes"')).toBe(changes.length > 0)
    // The newest first.
    const entries = history.toReversed() as { at: string }[]
    expect(historyOf(text)).toHaveLength(entries.length)
    const [, list = ''] = /<ol class="history">([\s\S]*)/.exec(text) ?? []
    const shownTimes = [...list.matchAll(/<time datetime="([^"]+)"/g)].map(([, time]) => time)
    expect(shownTimes).toEqual(entries.map(({ at }) => at))
  }
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
    ['Package name', '', 'org.example.tideclock'],
    ['Website', '', 'https://tideclock.example.org/'],
    ['Source code', '', 'https://code.example.org/tide-clock'],
    ['Licence', '', 'MIT'],
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
  { state: 'approved', decisions: ['reject', 'reopen'], path: '/decisions' },
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
    // Counting would read the whole queue.
    { what: 'with look-alikes', path: (id) => `/apps/${id}?queue=pending&look-alikes=on` },
    { what: 'without a queue', path: (id) => `/apps/${id}?developer=Bob` },
  ])('an app $what has no number', async ({ path }) => {
    const { status, text } = await ada.get(path(ids[1]))
    expect(status).toBe(200)
    expect(barOf(text)).not.toMatch(/\d of \d/)
    expect(addressOf(text, 'Skip') === '').toBe(!path(1).includes('queue'))
  })

  test('whose filter names nothing any more, it is shown, and says so', async () => {
    const { status, text } = await ada.get(`/apps/${ids[0]}?queue=pending&developer=Nobody`)
    expect([status, problemOf(text)]).toEqual([200, 'There is no developer "Nobody".'])
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

test('each column of owners is on the pages and in the commands', async () => {
  const { page, ada } = await startWithAda()
  const cli = commandLine(page.databaseUrl)
  const textFor = (age: 'former' | 'present', column: OwnerColumn) =>
    isAddressColumn(column)
      ? `https://${age}-${column}.example/`
      : `${age} ${column.replaceAll('_', ' ')}`
  const columns = ownerColumns.filter((column) => column !== 'name' && column !== 'category_id')
  const textsOf = (age: 'former' | 'present'): Partial<Record<OwnerColumn, string>> =>
    Object.fromEntries(columns.map((column) => [column, textFor(age, column)]))
  const before = { ...textsOf('former'), name: 'Old Clock', category_id: categories.tools }
  // Looks like the Tide Clock of Ada.
  const after = { ...textsOf('present'), name: 'Tide Cl0ck', category_id: categories.games }
  const at = '2026-05-01T00:00:00.000Z'
  const changed = {
    status: 'approved',
    approved_at: at,
    unreviewed_since: at,
    unreviewed_changes: JSON.stringify(before),
  } as const
  const [id, pending] = await addApps(page, [
    { ...after, ...changed },
    { ...after, name: 'Star Map', package_name: 'org.example.other' },
  ])
  const { text: app } = await ada.get(`/apps/${id}`)
  const sections = app.split('<section')
  const sectionWith = (title: string) => sections.find((one) => one.includes(title)) ?? ''
  const [changes, facts] = ['id="changes"', '<h2>Facts</h2>'].map(sectionWith)
  const { text: changedQueue } = await ada.get('/?queue=changed')
  const { text: queue } = await ada.get('/')
  const shown = (await cli.run('moderation', 'show', String(id))).stdout
  const listed = (await cli.run('moderation', 'queue')).stdout
  const changedLines = (await cli.run('moderation', 'queue', '--changed')).stdout
  const shownJson = await cli.json('moderation', 'show', String(id))
  const { apps: queued } = await cli.json('moderation', 'queue')
  for (const column of [...columns, 'name', 'category_id'] as const) {
    const isCategory = column === 'category_id'
    const old = isCategory ? 'tools' : before[column]
    const now = isCategory ? 'games' : after[column]
    const name = isCategory ? 'Games' : String(now)
    const label = appColumns[column].label
    // The former and the present value; pages mark the words that differ.
    for (const [place, text] of Object.entries({ changes, changedQueue }))
      expect(textOf(`<body>${text}`), `${place} of ${column}`).toContain(label)
    for (const value of [old, now])
      for (const [place, text] of Object.entries({ changedQueue, changedLines, shown }))
        expect(textOf(`<body>${text}`), `${place} of ${column}`).toContain(String(value))
    const inListing = ['name', 'short_description', 'description'].includes(column)
    const listing = inListing ? `${/<h1>.*/.exec(app)}${sectionWith('listing"')}` : facts
    expect(textOf(`<body>${listing}`), column).toContain(name)
    if (column !== 'description')
      expect(textOf(`<body>${sectionWith('Look-alikes side')}`), column).toContain(name)
    expect(shown, column).toContain(name)
    if (!isCategory) expect(shownJson, column).toMatchObject({ [column]: now })
    if (!isAddressColumn(column)) continue
    const address = `<span class="address" dir="ltr">${now}</span>`
    for (const [place, text] of Object.entries({ facts, queue, changedQueue, changes, app }))
      expect(text, `${place} of ${column}`).toContain(address)
    expect(sectionWith('Look-alikes side'), column).toContain(address)
    expect(listed, column).toContain(`${column}: ${now}`)
    const json = queued.find((one: { id: number }) => one.id === pending)
    expect(json, column).toMatchObject({ [column]: now })
  }
})
