import { beforeAll, describe, expect, inject, test } from 'vitest'
import { auditStore } from '../../src/audit/audit-store.ts'
import { cutNote } from '../../src/search/best-matches.ts'
import type { HttpResponse } from '../contract/checker.ts'
import { copyWorld } from '../support/database.ts'
import { linksOf, optionsOf, textOf, titleOf, valuesOf } from '../support/html.ts'
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
import { addReviews } from '../support/reviews.ts'
import { startService } from '../support/service.ts'

const { apps, categories, keys } = inject('world')
const [adasId, bobsId] = [1, 2]

/** The names of the queue's apps, in their order. */
const queued = (page: string) =>
  linksOf(page.replace(/^[\s\S]*?<ul class="queue">/, ''))
    .filter(([, address]) => /\/apps\/\d+$/.test(address))
    .map(([name]) => name)

describe('the queue', () => {
  let page: ModerationPage
  let ada: Moderator
  beforeAll(() =>
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
        },
        { name: 'Tide Cl0ck' },
      ])
      await service.request('PUT', `/apps/${apps.bobs}`, {
        key: keys.bob,
        json: { name: 'Bird Songs', short_description: 'They sing' },
      })
      for (const name of ['Tide Table', 'Tide Clock'])
        await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { name } })
    }),
  )

  test('has the longest wait first, with what each app is, and the counts', async () => {
    const { text } = await ada.get('/')
    expect(titleOf(text)).toBe('Pending apps – Moderation')
    expect(queued(text)).toEqual(['Oldest', 'Cloud Atlas', 'Night Train', 'Newer', 'Tide Cl0ck'])
    expect(textOf(text)).toContain('5 pending, 2 changed')
    expect(textOf(text)).toMatch(/Oldest \d+ · Bob · games · waits \d+d Old & <new>/)
    // A name in a right-to-left script must not move what is beside it.
    expect(text).toMatch(/<bdi>Oldest<\/bdi>[\s\S]*<bdi>Bob<\/bdi>/)
    expect(valuesOf(text, 'app')).toEqual(
      await Promise.all(
        valuesOf(text, 'app').map((app) => referenceTo(page, Number.parseInt(app, 10))),
      ),
    )
    expect(text).not.toContain(' checked')
  })

  test('marks look-alikes, with the downloads of the app that they look like', async () => {
    const { text } = await ada.get('/')
    expect(textOf(text)).toContain(`Looks like ${apps.approved} Tide Clock by Ada, 100 downloads`)
    expect(text.match(/Looks like/g)).toHaveLength(1)
    expect(text).toMatch(/<li class="similar">[\s\S]*Tide Cl0ck/)
  })

  test('has the changed apps with their changes, the undone ones, too', async () => {
    const { text } = await ada.get('/?queue=changed')
    expect(titleOf(text)).toBe('Changed apps – Moderation')
    expect(queued(text)).toEqual(['Bird Songs', 'Tide Clock'])
    expect(textOf(text)).toContain('Field At the last decision Now name Bird Song Bird Songs')
    expect(textOf(text)).toMatch(/short_description They sing/)
    expect(textOf(text)).toContain('Changed and reverted.')
  })

  test.for<[query: string, found: string[]]>([
    ['developer=Ada', ['Cloud Atlas', 'Newer']],
    ['developer=%20Ada%20', ['Cloud Atlas', 'Newer']],
    ['category=games', ['Oldest', 'Newer', 'Tide Cl0ck']],
    ['category=empty', []],
    ['search=tr', ['Night Train']],
    ['search=%20', ['Oldest', 'Cloud Atlas', 'Night Train', 'Newer', 'Tide Cl0ck']],
    ['developer=Bob&category=games', ['Oldest', 'Tide Cl0ck']],
    ['developer=Ada&search=new', ['Newer']],
    ['category=games&search=tide', ['Tide Cl0ck']],
    ['developer=Bob&category=games&search=old', ['Oldest']],
    ['queue=changed&developer=Bob', ['Bird Songs']],
    ['queue=changed&search=sing', ['Bird Songs']],
    ['queue=other', ['Oldest', 'Cloud Atlas', 'Night Train', 'Newer', 'Tide Cl0ck']],
  ])('filtered by %s', async ([query, found]) => {
    const { status, text } = await ada.get(`/?${query}`)
    expect([status, queued(text)]).toEqual([200, found])
    if (found.length === 0) expect(textOf(text)).toContain('Nothing waits here.')
    // The form shows the filter, and keeps the queue.
    const given = Object.fromEntries(new URLSearchParams(query))
    const { developer = '', search = '', category = '' } = given
    const queue = given.queue === 'changed' ? 'changed' : 'pending'
    expect(valuesOf(text, 'developer')).toEqual([developer.trim()])
    expect(valuesOf(text, 'search')).toEqual([search.trim()])
    expect(valuesOf(text, 'queue')).toEqual([queue])
    expect(
      [...text.matchAll(/<option value="([^"]*)" selected>/g)].map(([, slug]) => slug),
    ).toEqual([category].filter(Boolean))
    // So do the links.
    if (found.length === 0) return
    const [, address = ''] = linksOf(text).find(([name]) => name === 'Select none') ?? []
    const linked = Object.fromEntries(new URL(address, 'http://moderation.test').searchParams)
    expect(linked).toEqual({
      queue,
      page: '1',
      ...(developer && { developer: developer.trim() }),
      ...(category && { category }),
      ...(search.trim() && { search }),
    })
  })

  test.for<[query: string, told: string]>([
    ['developer=Nobody', 'there is no developer "Nobody"'],
    ['category=none', 'there is no category with the slug none'],
    ['page=0', 'page must be a whole number from 1, not "0"'],
    ['page=x', 'page must be a whole number from 1, not "x"'],
  ])('asked for %s, says what is wrong, with links to go on', async ([query, told]) => {
    const { status, text } = await ada.get(`/?${query}`)
    expect(status).toBe(400)
    expect(textOf(text)).toContain(told)
    expect(linksOf(text).map(([name]) => name)).toEqual(
      expect.arrayContaining(['Pending', 'Changed', 'Status', 'Audit', 'Go to the queue']),
    )
  })
})

test('the queue has pages of fifty, which keep the filter, and all of one can be selected', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(page, Array(150).fill({}))
  const follow = async (text: string, name: string) => {
    const [, address = ''] = linksOf(text).find(([link]) => link === name) ?? []
    return (await ada.get(address)).text
  }
  const first = (await ada.get('/?developer=Bob&category=games&search=app')).text
  expect(textOf(first)).toContain('152 pending, 0 changed, 150 here')
  expect(textOf(first)).toContain('Page 1 of 3')
  expect(linksOf(first).map(([name]) => name)).not.toContain('Previous')
  const second = await follow(first, 'Next')
  const third = await follow(second, 'Next')
  expect([first, second, third].flatMap(queued)).toEqual(
    Array.from({ length: 150 }, (_, index) => `App ${index}`),
  )
  expect(linksOf(third).map(([name]) => name)).not.toContain('Next')
  expect(queued(await follow(third, 'Previous'))).toEqual(queued(second))
  const selected = await follow(second, 'Select all on this page')
  expect(queued(selected)).toEqual(queued(second))
  expect(selected.match(/<input type="checkbox"[^>]* checked>/g)).toHaveLength(50)
  expect(await follow(selected, 'Select none')).not.toContain(' checked')
  // A page past the end, such as one that was open while others decided, leads to the last one.
  for (const number of [4, 5, 99]) {
    const beyond = (await ada.get(`/?developer=Bob&category=games&search=app&page=${number}`)).text
    expect(textOf(beyond)).toContain(`Page ${number} is past the end; 150 apps wait here.`)
    expect(textOf(beyond)).not.toContain('Nothing waits here.')
    expect(linksOf(beyond).map(([name]) => name)).not.toContain('Previous')
    expect(queued(await follow(beyond, 'Go to the last page'))).toEqual(queued(third))
  }
  await addApps(page, [{ developer_id: adasId, name: 'Alone' }])
  expect(textOf((await ada.get('/?developer=Ada&search=alone&page=2')).text)).toContain(
    'Page 2 is past the end; 1 app waits here.',
  )
  expect(textOf((await ada.get('/?search=missing&page=2')).text)).toContain('Nothing waits here.')
})

test('a search that finds more apps than are listed says so', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(
    page,
    Array.from({ length: 1001 }, () => ({ name: 'Wave' })),
  )
  expect(textOf((await ada.get('/?search=wave')).text)).toContain(
    `1,000 here; the longest wait first. ${cutNote('first')}`,
  )
  expect(textOf((await ada.get('/')).text)).not.toContain('1,000')
})

describe('the page of an app', () => {
  test('says everything that `moderation show` says', async () => {
    const service = await startService()
    const page = await startModerationPage({ databaseUrl: service.databaseUrl })
    const ada = await page.signIn('Ada')
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
      const { app: _, ...told } = await cli.json('moderation', 'show', String(id))
      const { history, similar, changes, developer, category, ...fields } = told
      // Counts may have separators; times are shown to the minute, and are whole in the HTML.
      for (const [name, value] of Object.entries(fields)) {
        if (name === 'review_count' || value === null) continue
        const isTime = /^\d{4}-.*Z$/.test(String(value))
        expect([name, isTime ? text : shown]).toEqual([
          name,
          expect.stringContaining(String(value).replace(/\s+/g, isTime ? '' : ' ')),
        ])
      }
      // Also counts of 0.
      const { stdout } = await cli.run('moderation', 'show', String(id))
      const counts = stdout
        .match(/^(Downloads|Ratings|Reviews) .*/gm)
        ?.map((line) => line.replace(/ +/, ' '))
      expect(counts).toHaveLength(3)
      for (const line of counts ?? []) expect(shown).toContain(line)
      const states = Object.entries(developer.apps).map(([state, count]) => `${count} ${state}`)
      expect(shown).toContain(`${developer.name}: ${states.join(', ')}`)
      expect(shown).toContain(`${category.name} (${category.slug})`)
      for (const one of similar)
        expect(shown).toContain(
          `Looks like ${one.id} ${one.name} by ${one.developer_name}, ${one.total_downloads} downloads`,
        )
      for (const { field, before, after } of changes)
        expect(shown).toContain(`${field} ${before} ${after}`.replace(/\s+/g, ' '))
      for (const { action, at } of history) {
        expect(shown).toContain(action)
        expect(text).toContain(`datetime="${at}"`)
      }
    }
  })

  test('warns of a listed app that it looks like', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const [id] = await addApps(page, [{ name: 'Tide Cl0ck' }])
    const warning = `Looks like ${apps.approved} Tide Clock by Ada, 100 downloads`
    expect(textOf((await ada.get(`/apps/${id}`)).text)).toContain(warning)
    expect(textOf((await ada.get(`/apps/${apps.pending}`)).text)).not.toContain('Looks like')
  })

  test('has the text as it is, without links, and the changes beside the former values', async () => {
    const service = await startService()
    const page = await startModerationPage({ databaseUrl: service.databaseUrl })
    const ada = await page.signIn('Ada')
    const description = 'See https://evil.example/ or\nmailto:a@b.example <a href="/">here</a>.'
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { description } })
    const { text } = await ada.get(`/apps/${apps.approved}`)
    expect(text).toContain(
      `<p class="text">${description.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')}</p>`,
    )
    const row = /<tr><th scope="row">description<\/th>[\s\S]*?<\/tr>/.exec(text)?.[0] ?? ''
    expect(row.match(/<td class="text">/g)).toHaveLength(2)
    expect(row).toContain('<td class="text">Tide Clock is here.</td>')
  })

  test('links to the developer’s other apps in any state, and lists the newest reviews', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const { text } = await ada.get(`/apps/${apps.approved}`)
    expect(linksOf(text)).toEqual(
      expect.arrayContaining([
        ['Cloud Atlas', `/apps/${apps.pending}`],
        ['Broken Compass', `/apps/${apps.rejected}`],
        ['Gone', `/apps/${apps.deleted}`],
      ]),
    )
    expect(textOf(text)).toContain('Gone, deleted')
    expect(textOf(text)).toContain('Broken Compass, rejected')
    expect(linksOf(text).map(([name]) => name)).not.toContain('Tide Clock')
    expect(textOf(text)).toMatch(
      /Newest reviews, of 3 Di, 5 of 5, 2026-02-01 00:00 .*Ed, 5 of 5, .*Right\..*Cy, 4 of 5, .*Fine\./,
    )
  })

  test('lists at most twenty other apps, and says that it has only the newest fifty entries', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const newest = (await addApps(page, Array(30).fill({}))).at(-1) ?? 0
    const entry = {
      action: 'app counters',
      at: '2026-01-01T00:00:00.000Z',
      app_id: newest,
      developer_id: bobsId,
      after: { total_downloads: 1 },
    } as const
    const shown = async () => (await ada.get(`/apps/${newest}`)).text
    const before = await shown()
    expect(linksOf(before).filter(([name]) => /^App \d+$/.test(name))).toHaveLength(20)
    expect(before).toContain('<h2>History</h2>')
    await page.database.write((runner) =>
      auditStore(runner).record({ operator: 'test' }, ...Array(50).fill(entry)),
    )
    const after = await shown()
    expect(after).toContain('<h2>History (newest 50)</h2>')
    expect(after.match(/<tr><td>/g)).toHaveLength(50)
  })

  test('offers the last ten reasons, each once', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
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

  test('of an app or with a review that does not exist is an error that leads back', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const [review] = valuesOf((await ada.get(`/apps/${apps.approved}`)).text, 'review')
    const missing = {
      '/apps/999': 'there is no app 999',
      [`/apps/${apps.bobs}?review=${review}`]: `app ${apps.bobs} has no review ${review}`,
      [`/apps/${apps.bobs}?review=x`]: 'the review must be a whole number from 1, not "x"',
    }
    for (const [path, told] of Object.entries(missing))
      expect(textOf((await ada.get(path)).text)).toContain(told)
  })
})

describe('the status', () => {
  test('says everything that `status` says', async () => {
    const service = await startService()
    const page = await startModerationPage({ databaseUrl: service.databaseUrl })
    const ada = await page.signIn('Ada')
    await service.request('PUT', `/apps/${apps.bobs}`, { key: keys.bob, json: { name: 'Bird' } })
    // Ages and the size of the database differ from one moment to the next.
    const lastingOf = (text: string) => text.replace(/ \d+(ms|s|m)\b| [\d.]+ MB/g, '')
    const shown = lastingOf(textOf((await ada.get('/status')).text))
    const { stdout } = await commandLine(page.databaseUrl).run('status')
    const lines = stdout.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(7)
    for (const line of lines) expect(shown).toContain(lastingOf(line.replace(/ {2,}/, ' ')))
    expect(shown).toMatch(/Pending 2, longest for \d+d: 2 Cloud Atlas/)
  })

  test('says which migrations are missing', async () => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    await page.database.write(({ sql }) =>
      sql.raw(`delete from knex_migrations where name like '0019%'`),
    )
    expect(textOf((await ada.get('/status')).text)).toContain('missing: 0019-signed-in-operators')
  })
})

describe('the audit log', () => {
  let page: ModerationPage
  let ada: Moderator
  beforeAll(() =>
    share(async () => {
      page = await startModerationPage()
      ada = await page.signIn('Ada <b>')
      const app = await referenceTo(page, apps.bobsPending)
      // Its entry is of the first moment of 2026, in UTC.
      await addApps(page, [{}])
      await ada.post('/decisions', { app, decision: 'reject', reason: 'No & no.' })
    }),
  )

  test('says who did what, newest first, with links to the apps', async () => {
    const { text } = await ada.get('/audit')
    expect(textOf(text)).toMatch(
      /Ada <b> \(signed in\) app reject app 6 night-train status: pending rejected rejection_reason: – No & no\./,
    )
    expect(textOf(text)).toMatch(/test moderator add moderator Ada <b> id: \w{12}/)
    expect(linksOf(text)).toContainEqual(['app 6 night-train', `/apps/${apps.bobsPending}`])
    const times = [...text.matchAll(/datetime="([^"]+)"/g)].map(([, time]) => time)
    const all = await commandLine(page.databaseUrl).json('audit', '--limit', '1000')
    expect(times).toEqual(all.map(({ at }: { at: string }) => at).toReversed())
  })

  test.for<[query: string, count: (all: { [name: string]: unknown }[]) => number]>([
    [`app=${apps.rejected}`, (all) => all.filter(({ app_id }) => app_id === apps.rejected).length],
    ['developer=Bob', (all) => all.filter(({ developer_name }) => developer_name === 'Bob').length],
    [
      `developer=Bob&app=${apps.bobs}`,
      (all) => all.filter(({ app_id }) => app_id === apps.bobs).length,
    ],
    [`developer=Ada&app=${apps.bobs}`, () => 0],
    [`app=${apps.bobs}&since=2999-01-01`, () => 0],
    ['developer=Bob&since=2999-01-01', () => 0],
    ['since=2999-01-01', () => 0],
    ['entry=1', () => 1],
    ['entry=999999', () => 0],
    [
      `entry=1&app=${apps.bobs}`,
      (all) => all.filter((one) => one.id === 1 && one.app_id === apps.bobs).length,
    ],
    ['since=2026-01-01', (all) => all.filter(({ at }) => String(at) >= '2026-01-01').length],
    ['since=2020-01-01', (all) => all.length],
  ])('filtered by %s', async ([query, count]) => {
    const all = await commandLine(page.databaseUrl).json('audit', '--limit', '1000')
    const { text } = await ada.get(`/audit?${query}`)
    const rows = text.match(/<tr><td>/g) ?? []
    expect(rows).toHaveLength(count(all))
    if (rows.length === 0) expect(textOf(text)).toContain('No entries.')
    for (const [name, value] of new URLSearchParams(query))
      if (name !== 'entry') expect(valuesOf(text, name)).toEqual([value])
  })

  test.for<[query: string, told: string]>([
    ['app=999', 'there is no app 999'],
    ['app=x', 'the app must be a whole number from 1, not "x"'],
    ['developer=Nobody', 'there is no developer "Nobody"'],
    ['entry=x', 'the entry must be a whole number from 1, not "x"'],
    ['since=lately', 'since must be a date such as 2027-01-31, not "lately"'],
  ])('asked for %s, says what is wrong', async ([query, told]) => {
    const { status, text } = await ada.get(`/audit?${query}`)
    expect([status, textOf(text)]).toEqual([400, expect.stringContaining(told)])
  })

  test('says that there are more entries than it lists', async () => {
    const own = await startModerationPage()
    const bo = await own.signIn('Bo')
    await addApps(own, Array(210).fill({}))
    const { text } = await bo.get('/audit')
    expect(textOf(text)).toContain('The newest 200;')
    expect(text.match(/<tr><td>/g)).toHaveLength(200)
    const listed = linksOf(text).filter(([name]) => name.startsWith('app '))
    expect(new Set(listed.map(([name]) => name)).size).toBe(listed.length)
  })

  test('the command line distinguishes who has signed in from who claims a name', async () => {
    const cli = commandLine(page.databaseUrl)
    const { stdout } = await cli.run('audit', '--app', String(apps.bobsPending))
    expect(stdout).toMatch(/Ada <b> \(signed in\) +app reject/)
    const [entry] = (await cli.json('audit', '--limit', '1')) as object[]
    expect(entry).toMatchObject({
      operator: 'root',
      operator_name: 'Ada <b>',
      operator_id: ada.id,
      key_id: null,
    })
  })
})

test('HEAD is answered as GET is, without the page', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  for (const path of ['/', '/?page=0', '/apps/1', '/apps/999', '/status', '/audit', '/sign-in']) {
    const get = await ada.get(path)
    const head = await ada.request('HEAD', path)
    expect([path, head.status, head.text]).toEqual([path, get.status, ''])
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  }
})

describe('texts with markup, reversed and terminal characters', () => {
  const hostile = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    `' onfocus='alert(1)' x="`,
    '" autofocus onfocus="alert(1)',
    '</title></textarea></style></option><svg/onload=alert(1)>',
    '<a href="javascript:alert(1)">x</a> https://evil.example/',
    '<!-- ]]> &lt;&#60;&amp;',
    '\u202Egnp.exe\u2066x\u2069',
    '\x1b[2J\x07\x9b31m\x7f',
    '\ttab\r\nline\u2028line',
    '<bdi></bdi></bdi></td></tr></table></main>',
  ].join(' ')
  /** As a reader sees it: unsafe characters are replaced. */
  const readable = hostile
    .replace(/\r\n/g, '\n')
    .replace(/[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/gu, '\uFFFD')
    .replace(/\s+/g, ' ')

  test('are shown as texts on every page, and never as HTML', async () => {
    const page = await startModerationPage()
    const { database } = page
    // Signed in before, because a name with such characters is refused.
    const ada = await page.signIn('Ada')
    const [pending = 0, listed = 0, rejected = 0] = await addApps(page, [{}, {}, {}])
    await database.write(async ({ sql }) => {
      const text = (field: string) => `${field}: ${hostile}`
      const texts = {
        name: text('name'),
        short_description: text('short_description'),
        description: text('description'),
        version: text('version'),
        unreviewed_since: '2026-01-01T00:00:00.000Z',
        unreviewed_changes: JSON.stringify({ name: text('before'), version: text('before') }),
      }
      const package_name = text('package')
      await sql('apps')
        .where({ id: pending })
        .update({ ...texts, package_name, package_key: package_name.toLowerCase() })
      await sql('apps')
        .where({ id: rejected })
        .update({ status: 'rejected', rejection_reason: text('rejection_reason') })
      await sql('apps')
        .where({ id: listed })
        .update({ ...texts, status: 'approved', approved_at: new Date().toISOString() })
      await sql('developers')
        .where({ id: bobsId })
        .update({ name: text('developer') })
      await sql('categories')
        .where({ id: categories.games })
        .update({ name: text('category') })
      await sql('operators').update({ name: text('moderator') })
      await sql('reviews').insert({
        app_id: listed,
        reviewer_name: text('reviewer'),
        rating: 1,
        comment: text('comment'),
        created_at: '2026-01-01T00:00:00.000Z',
      })
      await sql('apps').where({ id: listed }).update({ review_count: 1 })
      await sql('audit').insert({
        at: new Date().toISOString(),
        action: 'app reject',
        app_id: listed,
        developer_id: bobsId,
        operator: text('account'),
        operator_name: text('person'),
        before: JSON.stringify({ [text('column')]: text('value before') }),
        after: JSON.stringify({
          [text('column')]: text('value'),
          rejection_reason: text('reason'),
        }),
      })
    })
    const app = await referenceTo(page, pending)
    const [entry] = await newestEntries(page, 1)
    const pages: [path: string, fields: string[]][] = [
      // The list of categories has only the beginning of so long a name.
      ['/', ['moderator', 'name', 'short_description', 'developer']],
      ['/?queue=changed', ['name', 'developer']],
      [
        `/apps/${listed}`,
        [
          ...['name', 'short_description', 'description', 'version'],
          ...['developer', 'category', 'moderator', 'reviewer', 'comment', 'person'],
          'before',
        ],
      ],
      [`/apps/${pending}`, ['name', 'package']],
      [`/apps/${rejected}`, ['rejection_reason', 'developer']],
      ['/status', ['name', 'moderator']],
      ['/audit', ['person', 'column']],
      [`/audit?entry=${entry?.id}`, ['person', 'column', 'value', 'value before', 'reason']],
    ]
    // Each page passes the checker, which knows every element and attribute that may be there.
    for (const [path, fields] of pages) {
      const { status, text } = await ada.get(path)
      expect([path, status]).toEqual([path, 200])
      for (const field of fields)
        expect(textOf(text), `${path} ${field}`).toContain(`${field}: ${readable}`)
    }
    const written = `${hostile} `
    const echoes = [
      await ada.get(
        `/?${new URLSearchParams({ search: written, queue: written, select: written })}`,
      ),
      await ada.get(`/?${new URLSearchParams({ developer: written })}`),
      await ada.get(`/?${new URLSearchParams({ category: written })}`),
      await ada.get(`/?${new URLSearchParams({ page: written })}`),
      await ada.get(`/audit?${new URLSearchParams({ app: written })}`),
      await ada.get(`/audit?${new URLSearchParams({ since: written })}`),
      await ada.get(`/audit?${new URLSearchParams({ developer: written })}`),
      await page.get(`/sign-in?${new URLSearchParams({ next: written })}`),
      await page.post('/sign-in', { key: written, next: written }),
      await ada.get(`/apps/${encodeURIComponent(written)}`),
      await ada.post('/decisions', { app: written, decision: 'approve' }),
      await ada.post('/decisions', { app, decision: written }),
      await ada.post('/decisions', { app, decision: 'reject', reason: written }),
      await ada.post('/decisions', {
        app: `${listed}@x`,
        decision: 'reject',
        reason: 'No.',
        seen: '1',
      }),
      await ada.post('/restorations', { app: written }),
      await ada.post('/removed-reviews', { review: written, reason: written }),
      await page.get(`/${encodeURIComponent(written)}`),
    ]
    for (const { method, path, status, text } of echoes)
      expect([200, 400, 401, 404, 409], `${method} ${path}: ${text.slice(0, 200)}`).toContain(
        status,
      )
    const decided = await ada.post('/decisions', { app, decision: 'approve' })
    expect(textOf(decided.text)).toContain(`name: ${readable} (${pending}) is approved now`)
  })
})

describe('a page that does not exist', () => {
  test.for<[path: string, status: number, told: string]>([
    ['/apps/9999', 404, 'there is no app 9999.'],
    ['/apps/0', 404, 'the id must be a whole number from 1, not "0".'],
    ['/apps/abc', 404, 'the id must be a whole number from 1, not "abc".'],
    ['/apps/', 404, 'Not found; check the path and the id.'],
    ['/apps/1/history', 404, 'Not found; check the path and the id.'],
    ['/nowhere', 404, 'Not found; check the path and the id.'],
    // The page exists; its filter is wrong.
    ['/?page=0', 400, 'page must be a whole number from 1, not "0".'],
    ['/audit?app=abc', 400, 'the app must be a whole number from 1, not "abc".'],
    ['/audit?since=yesterday', 400, 'since must be a date such as 2027-01-31, not "yesterday".'],
    ['/audit?app=9999', 400, 'there is no app 9999.'],
    ['/?developer=Nobody', 400, 'there is no developer "Nobody"'],
  ])('%s is a %i', async ([path, status, told]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const response = await ada.get(path)
    expect([response.status, textOf(response.text)]).toEqual([
      status,
      expect.stringContaining(told),
    ])
    expect((await ada.request('HEAD', path)).status).toBe(status)
  })
})

test('Enter in the field of a reason decides nothing: the first button of its form is disabled', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const refused = await ada.post('/decisions', { app: '1@a', decision: 'approve', seen: '1' })
  expect(refused.status).toBe(409)
  const app = await ada.get(`/apps/${apps.pending}`)
  for (const { text } of [await ada.get('/'), app, refused]) {
    const forms = [...text.matchAll(/<form [^>]*action="\/decisions"[\s\S]*?<\/form>/g)].join()
    expect(valuesOf(forms, 'decision')).toEqual(['approve', 'reject'])
    // HTML, section 4.10.21.2: Enter presses the first button of a form, or nothing.
    expect(/<button[^>]*>/.exec(forms)?.[0]).toMatch(/^<button( [^>]*)? disabled\b/)
    expect(forms).not.toMatch(/<input [^>]*type="(submit|image)"/)
  }
})
test('the values of a change are shown whole on demand if either is shortened', async () => {
  const long = (text: string) => text.repeat(200)
  const changes: [name: string, before: string | null, after: string | null][] = [
    ['both short', 'a', 'b'],
    ['a short one instead of none', null, 'b'],
    ['none instead of a short one', 'a', null],
    ['both long', long('a'), long('b')],
    ['a short one instead of a long one', long('a'), 'b'],
    ['a long one instead of a short one', 'a', long('b')],
    ['none instead of a long one', long('a'), null],
    ['a long one instead of none', null, long('b')],
  ]
  const shortened = changes.slice(3).map(([name]) => name)
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const at = '2026-05-01T00:00:00.000Z'
  const ids = await addApps(
    page,
    changes.map(([name, before, short_description]) => ({
      ...{ name, short_description, status: 'approved', approved_at: at, unreviewed_since: at },
      unreviewed_changes: JSON.stringify({ short_description: before }),
    })),
  )
  const nameOfEntry = new Map<string, string>()
  await page.database.write(async (runner) => {
    for (const [index, [name, before, after]] of changes.entries()) {
      await auditStore(runner).record(
        { operator: 'root' },
        {
          ...{ action: 'app update', at, app_id: ids[index] ?? 0, developer_id: bobsId },
          ...(before !== null && { before: { short_description: before } }),
          after: { short_description: after },
        },
      )
      nameOfEntry.set(String(await auditStore(runner).lastId()), name)
    }
  })
  const { text: queue } = await ada.get('/?queue=changed')
  const inQueue = [...queue.matchAll(/>Show the changes of app (\d+) whole</g)]
  expect(inQueue.map(([, id]) => changes[ids.indexOf(Number(id))]?.[0])).toEqual(shortened)
  const { text: log } = await ada.get('/audit')
  const inLog = [...log.matchAll(/>Show entry (\d+) whole</g)]
  expect(inLog.flatMap(([, id = '']) => nameOfEntry.get(id) ?? []).toReversed()).toEqual(shortened)
})

/** Characters that are long as HTML, as UTF-8, or of no width. */
const fillers: [what: string, pattern: string][] = [
  ['quotation marks', '"'],
  ['emoji', '😀'],
  ['marks above quotation marks', '"\u0301\u0323'],
]

describe.for(fillers)('if others wrote as much as they may, of %s,', ([, pattern]) => {
  const maxBytes = 1_000_000
  const fill = (length: number, begin = '') =>
    begin + [...pattern.repeat(length)].slice(0, length - begin.length).join('')
  /** The columns that owners set. The values of a and b differ from their beginnings on. */
  const columns = (begin: string) => ({
    name: fill(100, begin),
    short_description: fill(200, begin),
    description: fill(20_000, begin),
    version: fill(50, begin),
  })
  const at = '2026-05-01T00:00:00.000Z'
  const fullReview = { reviewer_name: fill(100), rating: 1, created_at: at }
  let page: ModerationPage
  let ada: Moderator
  /** The first ten pending and the changed apps, whose texts are as long as they may be. */
  let pending: number[]
  let changed: number[]
  const [entries, reviewed] = [200, 100]

  beforeAll(() =>
    share(async () => {
      page = await startModerationPage()
      ada = await page.signIn('Ada')
      const slugOf = (index: number) => `${'s'.repeat(74)}-${index}`
      const added = await addApps(
        page,
        Array.from({ length: 100 }, (_, index) => ({ ...columns('b'), slug: slugOf(index) })),
      )
      pending = added.slice(0, 50)
      changed = added.slice(50)
      const [app_id = 0] = pending
      const before = { ...columns('a'), package_name: `a.b.${'c'.repeat(251)}` }
      const audited = { category_id: 1, status: 'rejected', developer_id: bobsId, deleted_at: at }
      await page.database.write(async (runner) => {
        const { sql, insertRows } = runner
        await sql('developers')
          .where({ id: bobsId })
          .update({ name: fill(100) })
        await sql('operators').update({ name: fill(100) })
        await insertRows(
          'categories',
          Array.from({ length: 990 }, (_, index) => ({
            slug: `${'c'.repeat(76)}${index}`,
            name: fill(100, String(index)),
            created_at: at,
            changed_at: at,
          })),
        )
        const unreviewed_changes = JSON.stringify(before)
        await sql('apps').whereIn('id', added).update({ unreviewed_since: at, unreviewed_changes })
        await sql('apps').whereIn('id', changed).update({ status: 'approved', approved_at: at })
        await addReviews(
          runner,
          Array.from({ length: reviewed }, () => ({
            ...{ ...fullReview, app_id, comment: fill(20_000) },
          })),
        )
        const actor = { operator: 'root', operatorName: fill(100), operatorId: ada.id }
        for (let index = 0; index < entries; index++) {
          const rejection_reason = fill(1000, String(index))
          await auditStore(runner).record(actor, {
            action: index < 20 ? 'app reject' : 'app update',
            at,
            app_id,
            developer_id: bobsId,
            before: { ...before, ...audited, rejection_reason: fill(1000) },
            after: { ...before, ...audited, ...columns('b'), rejection_reason },
          })
        }
      })
    }),
  )

  // Not compared as texts, because a failure would print whole pages.
  const sizeOf = ({ status, text }: HttpResponse) => {
    const bytes = Buffer.byteLength(text)
    return [status, bytes < maxBytes ? 'small' : bytes]
  }
  const has = (page: string, text: string) => page.includes(text.replaceAll('"', '&quot;'))
  const hasAll = (page: string, begin: string) =>
    Object.values(columns(begin)).every((text) => has(page, text))
  const follow = async (page: string, name: string) => {
    const [, address = ''] = linksOf(page).find(([one]) => one === name) ?? []
    const found = await ada.get(address.replace(/#.*/, ''))
    expect([address, ...sizeOf(found)]).toEqual([expect.stringMatching(/^\//), 200, 'small'])
    return { text: found.text, address }
  }

  test.for<[what: string, path: () => string]>([
    ['the queue', () => '/'],
    ['the queue of changes', () => '/?queue=changed'],
    ['the page of an app', () => `/apps/${pending[0]}`],
    ['the audit log', () => '/audit'],
    ['the audit log of an app', () => `/audit?app=${pending[0]}`],
    ['the audit log of a developer', () => `/audit?developer=${encodeURIComponent(fill(100))}`],
    ['the audit log since a day', () => '/audit?since=2026-01-01'],
    ['the status', () => '/status'],
  ])('%s has less than a megabyte', async ([, path]) => {
    expect(sizeOf(await ada.get(path()))).toEqual([200, 'small'])
  })

  test('two pages at once are both answered', async () => {
    const both = await Promise.all([ada.get('/audit'), ada.get('/audit')])
    expect(both.map(({ status }) => status)).toEqual([200, 200])
  })

  test('an entry is whole on demand, from the audit log and the history', async () => {
    const [newest] = await newestEntries(page, 1)
    for (const path of ['/audit', `/apps/${pending[0]}`]) {
      const { text } = await ada.get(path)
      const whole = await follow(text, `Show entry ${newest?.id} whole`)
      expect(whole.text.match(/<tr><td>/g)).toHaveLength(1)
      expect(['a', 'b'].map((begin) => hasAll(whole.text, begin))).toEqual([true, true])
      expect(linksOf(whole.text).filter(([name]) => name.endsWith('whole'))).toEqual([])
    }
  })

  test('changes are whole on the page of the app, to which the queue links', async () => {
    const { text } = await ada.get('/?queue=changed')
    const whole = await follow(text, `Show the changes of app ${changed[0]} whole`)
    expect(whole.address).toMatch(/#changes$/)
    expect(whole.text).toContain('id="changes"')
    expect(['a', 'b'].map((begin) => hasAll(whole.text, begin))).toEqual([true, true])
  })

  test('a review is whole on demand, and can be removed there', async () => {
    const { text } = await ada.get(`/apps/${pending[0]}`)
    const reviews = valuesOf(text, 'review')
    expect(reviews).toHaveLength(reviewed)
    const whole = await follow(text, `Show review ${reviews[1]} whole`)
    expect(has(whole.text, `>${fill(20_000)}</p>`)).toBe(true)
    expect(valuesOf(whole.text, 'review')).toEqual([reviews[1]])
  })

  test('so have the pages after decisions', async () => {
    const stale = { app: `${pending[0]}@stale`, seen: '1', decision: 'approve' }
    expect(sizeOf(await ada.post('/decisions', stale))).toEqual([409, 'small'])
    // A tenth of what a form may choose, since each decision is a transaction.
    const [chosen, share] = [100, 10]
    await addApps(
      page,
      Array.from({ length: 50 }, () => ({ name: fill(100) })),
    )
    const waiting = await page.database.read(({ sql }) =>
      sql('apps').where({ status: 'pending' }).orderBy('id', 'desc').limit(chosen),
    )
    const app = waiting.map(({ id, revision }) => `${id}@${revision}`)
    const decided = await ada.post('/decisions', { app, decision: 'reject', reason: fill(1000) })
    expect(titleOf(decided.text)).toBe(`Decided ${chosen} of ${chosen} – Moderation`)
    expect(decided.status).toBe(200)
    expect(Buffer.byteLength(decided.text) * share).toBeLessThan(maxBytes)
  })
})
