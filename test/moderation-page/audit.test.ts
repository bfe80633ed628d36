import { expect, inject, test } from 'vitest'
import { linksOf, problemOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startModerationPage,
} from '../support/moderation-page.ts'
import { commandLine } from '../support/process.ts'

/** The audit log. */

const { apps } = inject('world')

let page: ModerationPage
let ada: Moderator
share(async () => {
  page = await startModerationPage()
  ada = await page.signIn('Ada <b>')
  const bo = await page.signIn('Bo')
  const app = await referenceTo(page, apps.bobsPending)
  // Its entry is of the first moment of 2026, in UTC.
  await addApps(page, [{}])
  await ada.post('/decisions', { app, decision: 'reject', reason: 'No & no.' })
  const other = await referenceTo(page, apps.pending)
  await bo.post('/decisions', { app: other, decision: 'approve' })
})

type Entry = { id: number; at: string; [column: string]: unknown }

/** All entries, newest first. */
const entriesOf = async ({ databaseUrl }: ModerationPage): Promise<Entry[]> =>
  (await commandLine(databaseUrl).json('audit', '--limit', '1000')).toReversed()

/** The entries of a page, as a reader sees them. */
const shownIn = (text: string): string[] => {
  const [, list = ''] = /<ol class="history">([\s\S]*?)<\/ol>/.exec(text) ?? []
  return list
    .split('<li>')
    .slice(1)
    .map((item) => textOf(`<body>${item}`))
}

/** When the entries of a page were recorded. */
const timesIn = (text: string) =>
  [...text.matchAll(/<p><time datetime="([^"]+)"/g)].map(([, time]) => time)

test('says who did what, newest first, with links to the apps', async () => {
  const { text } = await ada.get('/audit')
  expect(titleOf(text)).toBe('Audit log – Moderation')
  const entries = shownIn(text)
  expect(entries[0]).toMatch(/ · Bo \(signed in\) approved Cloud Atlas$/)
  expect(entries[1]).toMatch(/ · Ada <b> \(signed in\) rejected Night Train: No & no\.$/)
  expect(linksOf(text)).toContainEqual(['Night Train', `/apps/${apps.bobsPending}`])
  expect(timesIn(text)).toEqual((await entriesOf(page)).map(({ at }) => at))
  expect(textOf(text)).toContain('Times are in UTC.')
})

test('calls the id of a key an id', async () => {
  const { text } = await ada.get('/audit')
  const [added = ''] = shownIn(text).filter((entry) => /moderator Ada <b>/.test(entry))
  expect(added).toMatch(
    / · test gave a sign-in key to moderator Ada <b> Id, Name, Expires Id \w{12} Name Ada <b> Expires /,
  )
})

type Count = (all: Entry[]) => number

/** Entries of apps have earlier times than the first one, which is about a category. */
const isOlderThanFirst = (all: Entry[]) => {
  const first = all.find(({ id }) => id === 1)
  return ({ at }: Entry) => at < (first?.at ?? '')
}

test.for<[query: string, count: Count]>([
  [`app=${apps.rejected}`, (all) => all.filter(({ app_id }) => app_id === apps.rejected).length],
  ['app=compass', (all) => all.filter(({ app_id }) => app_id === apps.rejected).length],
  ['developer=Bob', (all) => all.filter(({ developer_name }) => developer_name === 'Bob').length],
  ['moderator=Bo', () => 1],
  ['moderator=%20Bo%20', () => 1],
  ['moderator=Ada+%3Cb%3E', () => 1],
  ['moderator=&developer=&app=&since=&until=', (all) => all.length],
  ['until=2026-01-01T00:00', (all) => all.filter(({ at }) => at < '2026-01-01').length],
  ['until=2026-01-01T00:01', (all) => all.filter(({ at }) => at < '2026-01-01T00:01').length],
  ['until=2019-01-01T00:00', () => 0],
  ['since=2026-01-01T00:00', (all) => all.filter(({ at }) => at >= '2026-01-01').length],
  ['since=2026-01-01T00:01', (all) => all.filter(({ at }) => at >= '2026-01-01T00:01').length],
  ['since=2999-01-01T00:00', () => 0],
  ['since=2026-01-01T00:00&until=2026-01-01T00:01', () => 1],
  ['since=2026-01-02T00:00&until=2026-01-01T00:00', () => 0],
  ['moderator=Bo&since=2999-01-01T00:00', () => 0],
  ['moderator=Bo&until=2020-01-01T00:00', () => 0],
  ['developer=Bob&since=2999-01-01T00:00', () => 0],
  [`app=${apps.bobs}&since=2999-01-01T00:00`, () => 0],
  [
    `app=${apps.rejected}&since=2020-01-01T00:00&until=2999-01-01T00:00`,
    (all) => all.filter(({ app_id }) => app_id === apps.rejected).length,
  ],
  ['before=1', (all) => all.filter(isOlderThanFirst(all)).length],
  [
    'developer=Bob&before=1',
    (all) =>
      all.filter(({ developer_name }) => developer_name === 'Bob').filter(isOlderThanFirst(all))
        .length,
  ],
  ['before=999999', (all) => all.length],
])('the list of %s', async ([query, count]) => {
  const all = await entriesOf(page)
  const { status, text } = await ada.get(`/audit?${query}`)
  const entries = shownIn(text)
  expect([status, entries.length]).toEqual([200, count(all)])
  expect(textOf(text).includes('No entries.')).toBe(entries.length === 0)
  // The form keeps the filter, and is open then.
  const parameters = new URLSearchParams(query)
  for (const name of ['moderator', 'developer', 'app', 'since', 'until'])
    expect(valuesOf(text, name)).toEqual([parameters.get(name)?.trim() ?? ''])
  const isFiltered = [...parameters].some(([name, value]) => name !== 'before' && value !== '')
  expect(text.includes('<details class="filters" open>')).toBe(isFiltered)
  expect(linksOf(text).some(([name]) => name === 'Show all')).toBe(
    isFiltered || parameters.has('before'),
  )
})

test('the day of an address of earlier versions is its midnight', async () => {
  const { text } = await ada.get('/audit?until=2026-01-01')
  const all = await entriesOf(page)
  expect(shownIn(text)).toHaveLength(all.filter(({ at }) => at < '2026-01-01').length)
  expect(valuesOf(text, 'until')).toEqual(['2026-01-01T00:00'])
})

const choose = 'Choose one of app, developer and moderator; an app has the fewest entries.'

test.for<[query: string, problem: string]>([
  ['app=999', 'There is no app "999".'],
  ['app=x', 'There is no app "x".'],
  ['developer=Nobody', 'There is no developer "Nobody".'],
  ['moderator=Nobody', 'There is no moderator "Nobody"; there are: Ada <b>, Bo.'],
  ['entry=x', 'The entry must be a whole number from 1, not "x".'],
  ['before=0', 'Before must be a whole number from 1, not "0".'],
  ['since=lately', '"Stop at" must be a time in UTC such as 2027-01-31T09:30, not "lately".'],
  [
    'since=2026-02-30',
    '"Stop at" must be a time in UTC such as 2027-01-31T09:30, not "2026-02-30".',
  ],
  ['until=soon', '"Begin before" must be a time in UTC such as 2027-01-31T09:30, not "soon".'],
  ['developer=Bob&app=1', choose],
  ['moderator=Bo&app=1', choose],
  ['moderator=Bo&developer=Bob', choose],
  ['moderator=Bo&developer=Bob&app=1', choose],
])('asked for %s, says what is wrong, and keeps the filter', async ([query, problem]) => {
  const { status, text } = await ada.get(`/audit?${query}`)
  expect([status, titleOf(text), problemOf(text)]).toEqual([400, 'Audit log – Moderation', problem])
  expect(shownIn(text)).toEqual([])
  for (const [name, value] of new URLSearchParams(query)) {
    if (['entry', 'before'].includes(name)) continue
    expect(valuesOf(text, name)).toEqual([value])
    expect(linksOf(text)).toContainEqual(['Show all', '/audit'])
  }
})

test('shows one entry whole, unfolded', async () => {
  const [, rejection] = await newestEntries(page, 2)
  const { text } = await ada.get(`/audit?entry=${rejection?.id}`)
  expect(shownIn(text)).toEqual([expect.stringContaining('rejected Night Train: No & no.')])
  expect(text).toContain('<details open>')
  expect(linksOf(text)).toContainEqual(['Show all', '/audit'])
  const missing = await ada.get('/audit?entry=999999')
  expect([missing.status, shownIn(missing.text)]).toEqual([200, []])
})

test('offers the names of the moderators, each once', async () => {
  const own = await startModerationPage()
  const bo = await own.signIn('Bo')
  for (const name of ['Cy', 'Bo', '<Al>']) await own.addModerator(name)
  const { text } = await bo.get('/audit')
  const [, list = ''] = /<datalist id="moderators">(.*?)<\/datalist>/.exec(text) ?? []
  expect([...list.matchAll(/ value="([^"]*)"/g)].map(([, name]) => name)).toEqual([
    '&lt;Al&gt;',
    'Bo',
    'Cy',
  ])
})

test('has a hundred entries, and a link to older ones', async () => {
  const own = await startModerationPage()
  const bo = await own.signIn('Bo')
  const all = await entriesOf(own)
  await addApps(own, Array(100 - all.length).fill({}))
  const olderOf = (text: string) => linksOf(text).find(([name]) => name === 'Older')?.[1]
  const whole = (await bo.get('/audit')).text
  expect([shownIn(whole).length, olderOf(whole)]).toEqual([100, undefined])
  await addApps(own, [{}])
  const part = (await bo.get('/audit')).text
  const [, oldest] = (await entriesOf(own)).toReversed()
  expect([shownIn(part).length, olderOf(part)]).toEqual([100, `/audit?before=${oldest?.id}`])
  // Also with a filter, which the link keeps.
  await addApps(own, Array(100).fill({}))
  const filtered = (
    await bo.get('/audit?developer=Bob&since=2020-01-01T00:00&until=2999-01-01T00:00')
  ).text
  expect(shownIn(filtered)).toHaveLength(100)
  const { searchParams } = new URL(olderOf(filtered) ?? '', 'http://moderation.test')
  expect(Object.fromEntries(searchParams)).toEqual({
    developer: 'Bob',
    since: '2020-01-01T00:00:00.000Z',
    until: '2999-01-01T00:00:00.000Z',
    before: expect.stringMatching(/^\d+$/),
  })
  const older = (await bo.get(olderOf(filtered) ?? '')).text
  const [, newest] = linksOf(older).find(([name]) => name === 'Newest') ?? []
  expect(Object.fromEntries(new URL(newest ?? '', 'http://moderation.test').searchParams)).toEqual({
    developer: 'Bob',
    since: '2020-01-01T00:00:00.000Z',
    until: '2999-01-01T00:00:00.000Z',
  })
})

test('older entries follow without a gap, also while new ones are recorded', async () => {
  const own = await startModerationPage()
  const bo = await own.signIn('Bo')
  await addApps(own, Array(230).fill({}))
  const before = (await entriesOf(own)).map(({ at }) => at)
  const seen: (string | undefined)[] = []
  let address = '/audit'
  for (let step = 0; address !== ''; step++) {
    const { text } = await bo.get(address)
    seen.push(...timesIn(text))
    const links = new Map(linksOf(text))
    expect(links.get('Newest')).toBe(step === 0 ? undefined : '/audit')
    address = links.get('Older') ?? ''
    // What is newer moves nothing.
    await own.addModerator('Cy')
  }
  expect(seen).toEqual(before)
})

test('an entry about an app leads to it, whatever became of its name', async () => {
  const own = await startModerationPage()
  const bo = await own.signIn('Bo')
  await own.database.write(({ sql }) =>
    sql('apps').where({ id: apps.bobs }).update({ name: 'Renamed <b>' }),
  )
  const { text } = await bo.get(`/audit?app=${apps.bobs}`)
  const links = linksOf(text).filter(([, address]) => address === `/apps/${apps.bobs}`)
  expect(links.map(([name]) => name)).toEqual(['Renamed <b>', 'Renamed <b>'])
  expect(textOf((await bo.get(`/apps/${apps.bobs}`)).text)).toContain('Renamed <b>')
})

test('who went on with a key of another moderator is named by that key', async () => {
  const own = await startModerationPage()
  const cy = await own.addModerator('Cy')
  const app = await referenceTo(own, apps.pending)
  const fields = { app, decision: 'approve', key: cy.key }
  expect((await own.post('/decisions', fields)).status).toBe(303)
  const bo = await own.signIn('Bo')
  expect(shownIn((await bo.get(`/audit?app=${apps.pending}`)).text)[0]).toMatch(
    / · Cy \(signed in\) approved Cloud Atlas$/,
  )
})

test('the command line distinguishes who has signed in from who claims a name', async () => {
  const cli = commandLine(page.databaseUrl)
  const { stdout } = await cli.run('audit', '--app', String(apps.bobsPending))
  expect(stdout).toMatch(/Ada <b> \(signed in\) +app reject/)
  const [entry] = (await cli.json('audit', '--app', String(apps.bobsPending))).slice(-1)
  expect(entry).toMatchObject({
    operator: 'root',
    operator_name: 'Ada <b>',
    operator_id: ada.id,
    key_id: null,
  })
})
