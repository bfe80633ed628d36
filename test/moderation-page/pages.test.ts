import { describe, expect, inject, test } from 'vitest'
import { findLastEntryId, recordEntry } from '../../src/audit/audit-store.ts'
import type { HttpResponse } from '../contract/checker.ts'
import { expectStatuses } from '../support/check.ts'
import { linksOf, textOf, valuesOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  decide,
  follow,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startModerationPage,
} from '../support/moderation-page.ts'
import { addReviews } from '../support/reviews.ts'

const { apps, categories } = inject('world')
const bobsId = 2

test('HEAD is answered as GET is, without the page', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  for (const path of [
    ...['/', '/?after=x', '/?developer=Nobody', '/apps', '/apps?text=tide', '/apps/1'],
    ...['/apps/2?queue=pending', '/apps/999', '/audit', '/audit?app=x', '/sign-in'],
  ]) {
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
        website_url: text('website now'),
        source_code_url: `https://source.example/${hostile}`,
        license: text('licence'),
        unreviewed_since: '2026-01-01T00:00:00.000Z',
        unreviewed_changes: JSON.stringify({
          name: text('before'),
          version: text('before'),
          website_url: text('website before'),
        }),
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
        action: 'app update',
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
    const [review] = valuesOf((await ada.get(`/apps/${listed}`)).text, 'review')
    const pages: [path: string, fields: string[]][] = [
      // The list of categories has only the beginning of so long a name.
      ['/', ['moderator', 'name', 'short_description', 'description', 'developer', 'category']],
      ['/?queue=changed', ['name', 'developer']],
      [`/apps/${listed}#changes`, ['website before']],
      ['/?queue=pending&category=games', ['name', 'developer']],
      [`/?decided=${listed}+${rejected}&refused=${pending}`, ['name']],
      [
        `/apps/${pending}?queue=pending&decided=${listed}`,
        ['name', 'package', 'website now', 'licence'],
      ],
      [`/apps?text=${pending}`, ['name', 'short_description', 'developer', 'category']],
      [
        `/apps/${listed}`,
        [
          ...['name', 'short_description', 'description', 'version', 'website now', 'licence'],
          ...['developer', 'category', 'moderator', 'reviewer', 'person'],
        ],
      ],
      [`/apps/${listed}?review=${review}`, ['reviewer', 'comment']],
      [`/apps/${pending}`, ['name', 'package']],
      [`/apps/${rejected}`, ['rejection_reason', 'developer']],
      ['/audit', ['name', 'person', 'column']],
      [`/audit?entry=${entry?.id}`, ['person', 'column', 'value', 'value before', 'reason']],
    ]
    // Each page passes the checker, which knows every element and attribute that may be there.
    for (const [path, fields] of pages) {
      const { status, text } = await ada.get(path)
      expect([path, status]).toEqual([path, 200])
      for (const field of fields)
        expect(textOf(text), `${path} ${field}`).toContain(`${field}: ${readable}`)
    }
    const { text: shown } = await ada.get(`/apps/${listed}`)
    const { href } = new URL(`https://source.example/${hostile}`)
    expect(textOf(shown)).toContain(`Source code ${href}`)
    const written = `${hostile} `
    const echoes = [
      await ada.get(`/?${new URLSearchParams({ queue: written, select: written })}`),
      await ada.get(`/?${new URLSearchParams({ 'look-alikes': written })}`),
      await ada.get(`/?${new URLSearchParams({ developer: written })}`),
      await ada.get(`/?${new URLSearchParams({ category: written })}`),
      await ada.get(`/?${new URLSearchParams({ after: written })}`),
      await ada.get(`/?${new URLSearchParams({ decided: written, refused: written })}`),
      await ada.get(`/apps?${new URLSearchParams({ text: written })}`),
      await ada.get(`/apps/${pending}?${new URLSearchParams({ queue: written, next: written })}`),
      await ada.get(`/apps/${pending}?${new URLSearchParams({ queue: 'x', developer: written })}`),
      await ada.get(`/audit?${new URLSearchParams({ moderator: written, until: written })}`),
      await ada.get(`/audit?${new URLSearchParams({ app: written })}`),
      await ada.get(`/audit?${new URLSearchParams({ since: written })}`),
      await ada.get(`/audit?${new URLSearchParams({ developer: written })}`),
      await page.get(`/sign-in?${new URLSearchParams({ next: written })}`),
      await page.post('/sign-in', { key: written, next: written }),
      await ada.get(`/apps/${encodeURIComponent(written)}`),
      await ada.post('/decisions', { app: written, decision: 'approve' }),
      await ada.post('/decisions', { app, decision: written }),
      await ada.post('/decisions', { app, decision: 'reject', reason: written }),
      await ada.post('/decisions', { app, decision: written, seen: '1', reason: written }),
      await ada.post('/decisions', {
        app: `${listed}@x`,
        decision: 'reject',
        reason: 'No.',
        seen: '1',
      }),
      await ada.post('/restorations', { app: written }),
      await ada.post('/removed-reviews', { app: String(listed), review: '1', reason: written }),
      // Without a session, the whole form is shown again.
      await page.post('/decisions', { app: written, reason: written, [written]: written }),
      await page.post(`/decisions?${new URLSearchParams({ queue: written, developer: written })}`, {
        key: written,
        app: written,
      }),
      await page.get(`/${encodeURIComponent(written)}`),
    ]
    for (const { method, path, status, text } of echoes)
      expect([200, 400, 401, 404, 409], `${method} ${path}: ${text.slice(0, 200)}`).toContain(
        status,
      )
    const decided = await follow(ada, await ada.post('/decisions', { app, decision: 'approve' }))
    expect(textOf(decided.text)).toContain(`Approved name: ${readable}. `)
  })
})

describe('a page that does not exist', () => {
  test.for<[path: string, status: number, message: string]>([
    ['/apps/9999', 404, 'There is no app 9999.'],
    ['/apps/9999?queue=pending', 404, 'There is no app 9999.'],
    ['/apps/0', 404, 'The id must be a whole number from 1, not "0".'],
    ['/apps/abc', 404, 'The id must be a whole number from 1, not "abc".'],
    ['/apps/', 404, 'Not found; check the path and the id.'],
    ['/apps/1/history', 404, 'Not found; check the path and the id.'],
    ['/nowhere', 404, 'Not found; check the path and the id.'],
    // The page exists; its filter is wrong.
    ['/?after=0', 400, 'After must be a place in the queue, as the link Next has it, not "0".'],
    ['/audit?app=abc', 400, 'There is no app "abc".'],
    [
      '/audit?since=yesterday',
      400,
      '"Stop at" must be a time in UTC such as 2027-01-31T09:30, not "yesterday".',
    ],
    ['/audit?app=9999', 400, 'There is no app "9999".'],
    ['/?developer=Nobody', 400, 'There is no developer "Nobody".'],
  ])('%s is a %i', async ([path, status, message]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const response = await ada.get(path)
    expect([response.status, textOf(response.text)]).toEqual([
      status,
      expect.stringContaining(message),
    ])
    expect((await ada.request('HEAD', path)).status).toBe(status)
  })
})

test('Enter in the field of a reason decides nothing: the first button of its form is disabled', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const app = await ada.get(`/apps/${apps.pending}`)
  const changed = await ada.post('/decisions', {
    app: `${apps.pending}@a`,
    seen: '1',
    decision: 'approve',
  })
  const withoutReason = await decide(ada, app.text, 'reject')
  const withoutApp = await ada.post('/decisions', { decision: 'approve' })
  expectStatuses([changed, withoutReason, withoutApp], [409, 400, 400])
  for (const { text } of [await ada.get('/'), app, changed, withoutReason, withoutApp]) {
    const forms = [...text.matchAll(/<form [^>]*action="\/decisions[\s\S]*?<\/form>/g)].join()
    expect(valuesOf(forms, 'decision')).toEqual(['approve', 'reject'])
    // HTML, section 4.10.21.2: Enter presses the first button of a form, or nothing.
    expect(/<button[^>]*>/.exec(forms)?.[0]).toMatch(/^<button( [^>]*)? disabled\b/)
    expect(forms).not.toMatch(/<input [^>]*type="(submit|image)"/)
  }
})
test('a change of which a value is cut says so, and leads to the whole', async () => {
  const long = (text: string) => text.repeat(201)
  const longest = (text: string) => text.repeat(200)
  const changes: [name: string, before: string | null, after: string | null][] = [
    ['both short', 'a', 'b'],
    ['a short one instead of none', null, 'b'],
    ['none instead of a short one', 'a', null],
    ['both as long as they are shown', longest('a'), longest('b')],
    ['both long', long('a'), long('b')],
    ['a short one instead of a long one', long('a'), 'b'],
    ['a long one instead of a short one', 'a', long('b')],
    ['none instead of a long one', long('a'), null],
    ['a long one instead of none', null, long('b')],
    ['the end of a long one', `${long('a')}b`, `${long('a')}c`],
  ]
  const cut = changes.slice(4).map(([name]) => name)
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const at = '2026-05-01T00:00:00.000Z'
  const ids = await addApps(
    page,
    changes.map(([name, before, short_description]) => ({
      name,
      short_description,
      status: 'approved',
      approved_at: at,
      unreviewed_since: at,
      unreviewed_changes: JSON.stringify({ short_description: before }),
    })),
  )
  /** The change of an entry or on the page of an app, by its address. */
  const nameOf = new Map(
    changes.map(([name], index) => [`/apps/${ids[index]}?queue=changed#changes`, name]),
  )
  await page.database.write(async (runner) => {
    for (const [index, [name, before, after]] of changes.entries()) {
      await recordEntry(
        runner,
        { operator: 'root' },
        {
          action: 'app update',
          at,
          app_id: ids[index] ?? 0,
          developer_id: bobsId,
          ...(before !== null && { before: { short_description: before } }),
          after: { short_description: after },
        },
      )
      nameOf.set(`/audit?entry=${await findLastEntryId(runner)}`, name)
    }
  })
  const { text: queue } = await ada.get('/?queue=changed')
  const inQueue = linksOf(queue).filter(([name]) => name === 'changed further on')
  expect(inQueue.map(([, address]) => nameOf.get(address))).toEqual(cut)
  /** Texts that are the same where they are shown are there once. */
  const furtherOn = ` In short ${'a'.repeat(199)}… changed further on`
  expect(textOf(queue)).toContain(furtherOn)
  const { text: log } = await ada.get('/audit')
  const inLog = linksOf(log).flatMap(([, address]) => nameOf.get(address) ?? [])
  expect(inLog.toReversed()).toEqual(cut)
  expect(textOf(log)).toContain(furtherOn)
  // Of an entry without former values, nothing has changed.
  expect(textOf(log).match(/changed further on/g)).toHaveLength(cut.length - 1)
})

/** Characters that are long as HTML, as UTF-8, or of no width. */
const fillers: [what: string, pattern: string][] = [
  ['quotation marks', '"'],
  ['emoji', '😀'],
  ['marks above quotation marks', '"\u0301\u0323'],
]

// A database stores and shortens each of them alike.
const fillersOfEngine = inject('engine') === 'sqlite' ? fillers : fillers.slice(0, 1)

describe.for(fillersOfEngine)('if others wrote as much as they may, of %s,', ([, pattern]) => {
  const maxBytes = 2_000_000
  const fill = (length: number, begin = '') =>
    begin + [...pattern.repeat(length)].slice(0, length - begin.length).join('')
  /** The columns that owners set. The values of a and b differ from their beginnings on. */
  const columns = (begin: string) => ({
    name: fill(100, begin),
    short_description: fill(200, begin),
    description: fill(20_000, begin),
    version: fill(50, begin),
  })
  /** Four labels, the longest in both forms. */
  const longHost = `${`${'\u{20000}'.repeat(50)}.`.repeat(4)}example`
  const addresses = (begin: string) => ({
    website_url: `https://${begin}.example/`.padEnd(500, '&'),
    source_code_url: `https://${begin}.${longHost}/${'&'.repeat(50)}`,
    license: fill(100, begin),
  })
  const at = '2026-05-01T00:00:00.000Z'
  const fullReview = { reviewer_name: fill(100), rating: 1, created_at: at }
  let page: ModerationPage
  let ada: Moderator
  /** The first ten pending and the changed apps, whose texts are as long as they may be. */
  let pending: number[]
  let changed: number[]
  const [entries, reviewed] = [200, 100]

  share(async () => {
    page = await startModerationPage()
    ada = await page.signIn('Ada')
    const slugOf = (index: number) => `${'s'.repeat(74)}-${index}`
    const after = { ...columns('b'), ...addresses('b') }
    const added = await addApps(
      page,
      Array.from({ length: 100 }, (_, index) => ({ ...after, slug: slugOf(index) })),
    )
    // Each is similar to three of another developer.
    const listed = { status: 'approved', approved_at: at } as const
    await addApps(
      page,
      Array.from({ length: 3 }, () => ({ ...after, ...listed, developer_id: 1 })),
    )
    pending = added.slice(0, 50)
    changed = added.slice(50)
    const [app_id = 0] = pending
    const before = { ...columns('a'), ...addresses('a'), package_name: `a.b.${'c'.repeat(251)}` }
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
      const review = { ...fullReview, app_id, comment: fill(20_000) }
      await addReviews(
        runner,
        Array.from({ length: reviewed }, () => review),
      )
      const actor = { operator: 'root', operatorName: fill(100), operatorId: ada.id }
      for (let index = 0; index < entries; index++) {
        const rejection_reason = fill(1000, String(index))
        await recordEntry(runner, actor, {
          action: index < 20 ? 'app reject' : 'app update',
          at,
          app_id,
          developer_id: bobsId,
          before: { ...before, ...audited, rejection_reason: fill(1000) },
          after: { ...before, ...audited, ...after, rejection_reason },
        })
      }
    })
  })

  // Not compared as texts, because a failure would print whole pages.
  const sizeOf = ({ status, text }: HttpResponse) => {
    const bytes = Buffer.byteLength(text)
    return [status, bytes < maxBytes ? 'small' : bytes]
  }
  const has = (page: string, text: string) => page.includes(text.replaceAll('"', '&quot;'))
  const hasAll = (page: string, begin: string) =>
    Object.values(columns(begin)).every((text) => has(page, text))
  const openLink = async (page: string, name: string) => {
    const [, address = ''] = linksOf(page).find(([one]) => one === name) ?? []
    const found = await ada.get(address.replace(/#.*/, ''))
    expect([address, ...sizeOf(found)]).toEqual([expect.stringMatching(/^\//), 200, 'small'])
    return { text: found.text, address }
  }

  test.for<[what: string, path: () => string]>([
    ['the queue', () => '/'],
    ['a filtered queue', () => `/?${new URLSearchParams({ developer: fill(100) })}`],
    ['the look-alikes of a queue', () => '/?look-alikes=on'],
    ['the queue of changes', () => '/?queue=changed'],
    [
      'the queue of changes with what was refused',
      () => `/?queue=changed&refused=${changed.join('+')}`,
    ],
    ['the queue with what was refused', () => `/?refused=${changed.join('+')}`],
    ['the page of an app in a queue', () => `/apps/${pending[0]}?queue=pending&look-alikes=on`],
    ['an app after others', () => `/apps/${pending[0]}?queue=changed&refused=${changed.join('+')}`],
    ['the apps of a developer', () => `/apps?text=${encodeURIComponent(fill(100))}`],
    ['the apps with a name', () => `/apps?text=${encodeURIComponent(fill(99, 'b'))}`],
    ['the page of an app', () => `/apps/${pending[0]}`],
    ['the audit log', () => '/audit'],
    ['the audit log of an app', () => `/audit?app=${pending[0]}`],
    ['the audit log of a developer', () => `/audit?developer=${encodeURIComponent(fill(100))}`],
    ['the audit log since a time', () => '/audit?since=2026-01-01'],
  ])('%s has less than two megabytes', async ([, path]) => {
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
      const whole = await openLink(text, `Show entry ${newest?.id} whole`)
      expect(whole.text.match(/<details open>/g)).toHaveLength(1)
      expect(['a', 'b'].map((begin) => hasAll(whole.text, begin))).toEqual([true, true])
      expect(linksOf(whole.text).filter(([name]) => name.endsWith('whole'))).toEqual([])
    }
  })

  test('changes are whole on the page of the app, to which the queue links', async () => {
    const { text } = await ada.get('/?queue=changed')
    const whole = await openLink(text, 'changed further on')
    expect(whole.address).toMatch(/#changes$/)
    expect(whole.text).toContain('id="changes"')
    expect(hasAll(whole.text, 'b')).toBe(true)
    // Only the words that differ are marked.
    const marked = [...whole.text.matchAll(/<(del|ins)>(.*?)<\/\1>/g)].map(([, , text]) => text)
    expect(marked.slice(0, 2).map((text) => text?.charAt(0))).toEqual(['a', 'b'])
  })

  test('a review is whole on demand, and can be removed there', async () => {
    const { text } = await ada.get(`/apps/${pending[0]}`)
    const reviews = valuesOf(text, 'review')
    expect(reviews).toHaveLength(reviewed)
    const whole = await openLink(text, `Show review ${reviews[1]} whole`)
    expect(has(whole.text, `>${fill(20_000)}</bdi>`)).toBe(true)
    expect(valuesOf(whole.text, 'review')).toEqual([reviews[1]])
  })

  test('so have the pages that show a form again, and that say what was decided', async () => {
    const stale = { app: `${pending[0]}@stale`, seen: '1', decision: 'approve' }
    const reason = fill(1000)
    const [view, place] = ['queue=pending&developer=', encodeURIComponent(fill(100))]
    const path = `/decisions?${view}${place}`
    expect(sizeOf(await ada.post(path, { ...stale, reason }))).toEqual([409, 'small'])
    const { text } = await ada.get(`/apps/${pending[0]}?${view}${place}`)
    const tooLong = await decide(ada, text, 'reject', { reason: fill(1001) })
    expect(sizeOf(tooLong)).toEqual([400, 'small'])
    const app = valuesOf((await ada.get('/')).text, 'app')
    expect(app).toHaveLength(50)
    const refused = await ada.post(path, { app, decision: 'reject', reason: fill(1001) })
    expect(sizeOf(refused)).toEqual([400, 'small'])
    // Of a form as large as the page reads, as browsers encode it.
    const bytes = encodeURIComponent(pattern).length / [...pattern].length
    const value = fill(Math.floor(125_000 / bytes))
    const asked = await page.post(path, { app, decision: 'reject', reason: value })
    expect(sizeOf(asked)).toEqual([401, 'small'])
    const wrong = await page.post('/sign-in', { key: 'x', next: value })
    expect(sizeOf(wrong)).toEqual([401, 'small'])
    const done = await follow(ada, await ada.post(path, { app, decision: 'reject', reason }))
    expect(sizeOf(done)).toEqual([200, 'small'])
    expect(textOf(done.text)).toContain('. 2 wait.')
  })
})
