import { expect, inject, test } from 'vitest'
import {
  addressOf,
  linksOf,
  optionsOf,
  problemOf,
  textOf,
  titleOf,
  valuesOf,
} from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startModerationPage,
  startWithAda,
} from '../support/moderation-page.ts'
import { commandLine } from '../support/process.ts'

/** The audit log. moderation/entry-filters.engines.test.ts has what a filter finds. */

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

test.for<{ filter: string; passes: (entry: Entry) => boolean }>([
  { filter: 'app=compass', passes: ({ app_id }) => app_id === apps.rejected },
  { filter: 'developer=Bob', passes: ({ developer_name }) => developer_name === 'Bob' },
  { filter: 'moderator=%20Bo%20', passes: ({ operator_name }) => operator_name === 'Bo' },
  { filter: 'moderator=Ada+%3Cb%3E', passes: ({ operator_name }) => operator_name === 'Ada <b>' },
  { filter: 'moderator=&developer=&app=&since=&until=', passes: () => true },
  { filter: 'until=2026-01-01T00:01', passes: ({ at }) => at < '2026-01-01T00:01' },
  { filter: 'since=2026-01-01T00:00', passes: ({ at }) => at >= '2026-01-01T00:00' },
  {
    filter: 'since=2026-01-01T00:00&until=2026-01-01T00:01',
    passes: ({ at }) => at >= '2026-01-01T00:00' && at < '2026-01-01T00:01',
  },
  { filter: 'moderator=Bo&since=2999-01-01T00:00', passes: () => false },
  { filter: 'before=999999', passes: () => true },
])('the list of $filter', async ({ filter, passes }) => {
  const all = await entriesOf(page)
  const { status, text } = await ada.get(`/audit?${filter}`)
  expect([status, timesIn(text)]).toEqual([200, all.filter(passes).map(({ at }) => at)])
  expect(textOf(text).includes('No entries.')).toBe(!all.some(passes))
  // The form keeps the filter, and is open then.
  const parameters = new URLSearchParams(filter)
  for (const name of ['moderator', 'developer', 'app', 'since', 'until'])
    expect(valuesOf(text, name)).toEqual([parameters.get(name)?.trim() ?? ''])
  const isFiltered = [...parameters].some(([name, value]) => name !== 'before' && value !== '')
  expect(text.includes('<details class="filters" open>')).toBe(isFiltered)
  expect(addressOf(text, 'Show all')).toBe(isFiltered || parameters.has('before') ? '/audit' : '')
})

test('the day of an address of earlier versions is its midnight', async () => {
  const { text } = await ada.get('/audit?until=2026-01-01')
  const all = await entriesOf(page)
  expect(shownIn(text)).toHaveLength(all.filter(({ at }) => at < '2026-01-01').length)
  expect(valuesOf(text, 'until')).toEqual(['2026-01-01T00:00'])
})

test.for([
  { filter: 'app=999', named: '999' },
  { filter: 'developer=Nobody', named: 'Nobody' },
  { filter: 'moderator=Nobody', named: 'Nobody' },
  { filter: 'entry=x', named: 'x' },
  { filter: 'before=0', named: '0' },
  { filter: 'since=2026-02-30', named: '2026-02-30' },
  { filter: 'until=soon', named: 'soon' },
  { filter: 'developer=Bob&app=1', named: 'app, developer and moderator' },
])('asked for $filter, says what is wrong, and keeps the filter', async ({ filter, named }) => {
  const { status, text } = await ada.get(`/audit?${filter}`)
  expect([status, titleOf(text), shownIn(text)]).toEqual([400, 'Audit log – Moderation', []])
  expect(problemOf(text)).toContain(named)
  for (const [name, value] of new URLSearchParams(filter))
    if (!['entry', 'before'].includes(name)) expect(valuesOf(text, name)).toEqual([value])
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
  const { page, ada } = await startWithAda()
  for (const name of ['Cy', 'Ada', '<Al>']) await page.addModerator(name)
  const { text } = await ada.get('/audit')
  expect(optionsOf(text, 'moderators')).toEqual(['<Al>', 'Ada', 'Cy'])
})

test('has a hundred entries, and a link to older ones, which keeps the filter', async () => {
  const { page, ada } = await startWithAda()
  await addApps(page, Array(100 - (await entriesOf(page)).length).fill({}))
  const whole = (await ada.get('/audit')).text
  expect([shownIn(whole).length, addressOf(whole, 'Older')]).toEqual([100, ''])
  await addApps(page, Array(101).fill({}))
  const range = '&since=2020-01-01T00%3A00%3A00.000Z'
  const first = (await ada.get(`/audit?developer=Bob${range}`)).text
  expect(shownIn(first)).toHaveLength(100)
  const older = new URLSearchParams(addressOf(first, 'Older').replace('/audit?', ''))
  expect(Object.fromEntries(older)).toEqual({
    developer: 'Bob',
    since: '2020-01-01T00:00:00.000Z',
    before: expect.stringMatching(/^\d+$/),
  })
  const second = (await ada.get(addressOf(first, 'Older'))).text
  older.delete('before')
  expect(addressOf(second, 'Newest').replace('/audit?', '').split('&').toSorted()).toEqual(
    older.toString().split('&').toSorted(),
  )
})

test('older entries follow without a gap, also while new ones are recorded', async () => {
  const { page, ada } = await startWithAda()
  await addApps(page, Array(230).fill({}))
  const before = (await entriesOf(page)).map(({ at }) => at)
  const seen: (string | undefined)[] = []
  for (let address = '/audit'; address !== ''; ) {
    const { text } = await ada.get(address)
    seen.push(...timesIn(text))
    expect(addressOf(text, 'Newest')).toBe(address === '/audit' ? '' : '/audit')
    address = addressOf(text, 'Older')
    // What is newer moves nothing.
    await page.addModerator('Cy')
  }
  expect(seen).toEqual(before)
})

test('an entry about an app leads to it, whatever became of its name', async () => {
  const { page, ada } = await startWithAda()
  await page.database.write(({ sql }) =>
    sql('apps').where({ id: apps.bobs }).update({ name: 'Renamed <b>' }),
  )
  const { text } = await ada.get(`/audit?app=${apps.bobs}`)
  const links = linksOf(text).filter(([, address]) => address === `/apps/${apps.bobs}`)
  expect(links.map(([name]) => name)).toEqual(['Renamed <b>', 'Renamed <b>'])
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

test('names what a key was issued for in words', async () => {
  const { page, ada } = await startWithAda()
  const { run } = commandLine(page.databaseUrl)
  await run('key', 'issue', '--developer', 'Ada', '--app', String(apps.pending), '--read-only')
  const [entry = ''] = shownIn((await ada.get('/audit')).text)
  expect(entry).toContain(`Only for app ${apps.pending}`)
  expect(entry).toContain('Read-only true')
  expect(entry).not.toMatch(/app_id|read_only/)
})
