import { describe, expect, inject, test } from 'vitest'
import { recordEntry } from '../../src/audit/audit-store.ts'
import type { HttpResponse } from '../contract/checker.ts'
import { addressOf, linksOf, problemOf, textOf, valuesOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  decide,
  type Fields,
  follow,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startWithAda,
} from '../support/moderation-page.ts'
import { addReviews } from '../support/reviews.ts'

const { apps, categories } = inject('world')
const bobsId = 2

describe('each page', () => {
  let ada: Moderator
  share(async () => {
    ;({ ada } = await startWithAda())
  })

  test.for([
    ...['/', '/apps', '/apps?text=tide', '/apps/1', '/apps/2?queue=pending', '/audit', '/sign-in'],
    ...['/?after=x', '/?developer=Nobody', '/apps/999', '/audit?app=x'],
  ])('is answered to HEAD as to GET, without the page: %s', async (path) => {
    const get = await ada.get(path)
    const head = await ada.request('HEAD', path)
    expect([head.status, head.text]).toEqual([get.status, ''])
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  })

  test.for([
    { path: '/apps/9999', status: 404, named: '9999' },
    { path: '/apps/9999?queue=pending', status: 404, named: '9999' },
    { path: '/apps/0', status: 404, named: 'id' },
    { path: '/apps/5?review=1', status: 404, named: 'review 1' },
    { path: '/apps/5?review=x', status: 404, named: 'review' },
    { path: '/apps/%E0', status: 404, named: 'path' },
    { path: '/nowhere', status: 404, named: 'path' },
    // The page exists; its address is wrong.
    { path: '/?after=0', status: 400, named: 'After' },
  ])('says what is wrong, and leads back: $path is a $status', async (row) => {
    const { status, text } = await ada.get(row.path)
    expect([status, problemOf(text)]).toEqual([row.status, expect.stringContaining(row.named)])
    expect(addressOf(text, 'Go to the queue')).toBe('/?queue=pending')
  })
})

describe('texts with markup, reversed and terminal characters', () => {
  const hostile = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
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

  let page: ModerationPage
  let ada: Moderator
  let [pending, listed, rejected, entry, review] = [0, 0, 0, 0, '']
  share(async () => {
    // Signed in before, because a name with such characters is refused.
    ;({ page, ada } = await startWithAda())
    ;[pending = 0, listed = 0, rejected = 0] = await addApps(page, [{}, {}, {}])
    await page.database.write(async ({ sql }) => {
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
    const [newest] = await newestEntries(page, 1)
    entry = newest?.id ?? 0
    const { text } = await ada.get(`/apps/${listed}`)
    ;[review = ''] = valuesOf(text, 'review')
  })

  // Each page passes the checker, which knows every element and attribute that may be there.
  test.for<{ path: () => string; fields: string[] }>([
    {
      path: () => '/',
      // The list of categories has only the beginning of so long a name.
      fields: ['moderator', 'name', 'short_description', 'description', 'developer', 'category'],
    },
    { path: () => '/?queue=changed', fields: ['name', 'developer'] },
    {
      path: () => `/?decided=${listed}+${rejected}&refused=${pending}`,
      fields: ['name', 'developer'],
    },
    {
      path: () => `/apps/${pending}?queue=pending&decided=${listed}`,
      fields: ['name', 'package', 'website now', 'licence'],
    },
    {
      path: () => `/apps?text=${pending}`,
      fields: ['name', 'short_description', 'developer', 'category'],
    },
    {
      path: () => `/apps/${listed}`,
      fields: [
        ...['name', 'short_description', 'description', 'version', 'website now', 'licence'],
        ...['developer', 'category', 'moderator', 'reviewer', 'person', 'website before'],
      ],
    },
    { path: () => `/apps/${listed}?review=${review}`, fields: ['reviewer', 'comment'] },
    { path: () => `/apps/${rejected}`, fields: ['rejection_reason', 'developer'] },
    { path: () => '/audit', fields: ['name', 'person', 'column'] },
    {
      path: () => `/audit?entry=${entry}`,
      fields: ['person', 'column', 'value', 'value before', 'reason'],
    },
  ])('are shown as texts: $fields', async ({ path, fields }) => {
    const { status, text } = await ada.get(path())
    expect(status).toBe(200)
    for (const field of fields) expect(textOf(text), field).toContain(`${field}: ${readable}`)
  })

  const written = `${hostile} `

  test('are shown as texts in the pages of addresses that have them', async () => {
    const paths = (path: string, ...names: string[]) =>
      names.map((name) => `${path}${new URLSearchParams({ [name]: written })}`)
    for (const path of [
      ...paths('/?', 'queue', 'developer', 'category', 'after', 'decided'),
      ...paths('/apps?', 'text'),
      ...paths(`/apps/${pending}?`, 'queue', 'next'),
      ...paths(`/apps/${pending}?queue=x&`, 'developer'),
      ...paths('/audit?', 'moderator', 'app', 'since', 'until', 'developer'),
      ...paths('/sign-in?', 'next'),
      ...[`/apps/${encodeURIComponent(written)}`, `/${encodeURIComponent(written)}`],
    ])
      expect([200, 400, 404], path).toContain((await ada.get(path)).status)
  })

  test('are shown as texts in forms that are refused, and in what a form did', async () => {
    const app = await referenceTo(page, pending)
    const forms: [path: string, fields: Fields][] = [
      ['/sign-in', { key: written, next: written }],
      ['/decisions', { app: written, decision: 'approve' }],
      ['/decisions', { app, decision: 'reject', reason: written }],
      ['/decisions', { app, decision: written, seen: '1', reason: written }],
      ['/decisions', { app: `${listed}@x`, decision: 'reject', reason: 'No.', seen: '1' }],
      ['/restorations', { app: written }],
      ['/removed-reviews', { app: String(listed), review: '1', reason: written }],
      [
        `/decisions?${new URLSearchParams({ queue: written, developer: written })}`,
        { app: written, reason: written, [written]: written },
      ],
    ]
    // Without a session, the whole form is shown again.
    for (const [path, fields] of forms)
      for (const visitor of [ada, page])
        expect([400, 401, 409], path).toContain((await visitor.post(path, fields)).status)
    const decided = await follow(ada, await ada.post('/decisions', { app, decision: 'approve' }))
    expect(textOf(decided.text)).toContain(`name: ${readable}. `)
  })
})

test('Enter in the field of a reason decides nothing: the first button of its form is disabled', async () => {
  const { ada } = await startWithAda()
  const shown = await ada.get(`/apps/${apps.pending}`)
  const withoutReason = await decide(ada, shown.text, 'reject')
  const withoutApp = await ada.post('/decisions', { decision: 'approve' })
  for (const { text } of [await ada.get('/'), shown, withoutReason, withoutApp]) {
    const forms = [...text.matchAll(/<form [^>]*action="\/decisions[\s\S]*?<\/form>/g)].join()
    expect(valuesOf(forms, 'decision')).toEqual(['approve', 'reject'])
    // HTML, section 4.10.21.2: Enter presses the first button of a form, or nothing.
    expect(/<button[^>]*>/.exec(forms)?.[0]).toMatch(/^<button( [^>]*)? disabled\b/)
    expect(forms).not.toMatch(/<input [^>]*type="(submit|image)"/)
  }
})

test('a change of which a value is cut says so, and leads to the whole', async () => {
  const { page, ada } = await startWithAda()
  const at = '2026-05-01T00:00:00.000Z'
  const changed = (before: string | null, short_description: string) =>
    ({
      short_description,
      status: 'approved',
      approved_at: at,
      unreviewed_since: at,
      unreviewed_changes: JSON.stringify({ short_description: before }),
    }) as const
  const long = 'a'.repeat(201)
  const [id = 0] = await addApps(page, [changed(`${long}b`, `${long}c`), changed(null, 'short')])
  const entry = {
    action: 'app update',
    at,
    app_id: id,
    developer_id: bobsId,
    before: { short_description: `${long}b` },
    after: { short_description: `${long}c` },
  } as const
  await page.database.write((runner) => recordEntry(runner, { operator: 'root' }, entry))
  const [recorded] = await newestEntries(page, 1)
  // Texts that are the same where they are shown are there once.
  const shown = ` In short ${'a'.repeat(199)}… changed further on`
  const { text: queue } = await ada.get('/?queue=changed')
  expect(textOf(queue)).toContain(shown)
  expect(textOf(queue)).toContain('In short none → short')
  const links = linksOf(queue).filter(([name]) => name === 'changed further on')
  expect(links.map(([, address]) => address)).toEqual([`/apps/${id}?queue=changed#changes`])
  const { text: log } = await ada.get('/audit')
  expect(textOf(log)).toContain(shown)
  const whole = addressOf(log, `Show entry ${recorded?.id} whole`)
  expect(whole).toBe(`/audit?entry=${recorded?.id}`)
})

describe('if others wrote as much as they may, in characters that are long as HTML,', () => {
  const pattern = '"'
  const maxBytes = 2_000_000
  const fill = (length: number, begin = '') => begin.padEnd(length, pattern)
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
    ;({ page, ada } = await startWithAda())
    const slugOf = (index: number) => `${'s'.repeat(74)}-${index}`
    const after = { ...columns('b'), ...addresses('b') }
    const added = await addApps(
      page,
      Array.from({ length: 100 }, (_, index) => ({ ...after, slug: slugOf(index) })),
    )
    // Each has three look-alikes of another developer.
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
    const address = addressOf(page, name)
    const found = await ada.get(address.replace(/#.*/, ''))
    expect([address, ...sizeOf(found)]).toEqual([expect.stringMatching(/^\//), 200, 'small'])
    return { text: found.text, address }
  }

  test.for<{ what: string; path: () => string }>([
    {
      what: 'a filtered queue',
      path: () => `/?${new URLSearchParams({ developer: fill(100) })}`,
    },
    { what: 'a queue', path: () => '/' },
    {
      what: 'the queue of changes with what was refused',
      path: () => `/?queue=changed&refused=${changed.join('+')}`,
    },
    {
      what: 'the page of an app in a queue, after others',
      path: () => `/apps/${pending[0]}?queue=pending&refused=${changed.join('+')}`,
    },
    {
      what: 'the apps with a name',
      path: () => `/apps?text=${encodeURIComponent(fill(99, 'b'))}`,
    },
    { what: 'the audit log', path: () => '/audit' },
    { what: 'the audit log of an app', path: () => `/audit?app=${pending[0]}` },
  ])('$what has less than two megabytes', async ({ path }) => {
    expect(sizeOf(await ada.get(path()))).toEqual([200, 'small'])
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
    const stale = { app: `${pending[0]}@stale`, seen: '1', decision: 'reject' }
    const reason = fill(1000)
    const view = `queue=pending&developer=${encodeURIComponent(fill(100))}`
    const path = `/decisions?${view}`
    expect(sizeOf(await ada.post(path, { ...stale, reason }))).toEqual([409, 'small'])
    const { text } = await ada.get(`/apps/${pending[0]}?${view}`)
    const tooLong = await decide(ada, text, 'reject', { reason: fill(1001) })
    expect(sizeOf(tooLong)).toEqual([400, 'small'])
    const app = valuesOf((await ada.get('/')).text, 'app')
    expect(app).toHaveLength(50)
    const refused = await ada.post(path, { app, decision: 'reject', reason: fill(1001) })
    expect(sizeOf(refused)).toEqual([400, 'small'])
    // Of a form as large as the page reads.
    const value = fill(125_000 / encodeURIComponent(pattern).length)
    const asked = await page.post(path, { app, decision: 'reject', reason: value })
    expect(sizeOf(asked)).toEqual([401, 'small'])
    const wrong = await page.post('/sign-in', { key: 'x', next: value })
    expect(sizeOf(wrong)).toEqual([401, 'small'])
    const done = await follow(ada, await ada.post(path, { app, decision: 'reject', reason }))
    expect(sizeOf(done)).toEqual([200, 'small'])
    expect(textOf(done.text)).toContain('. 2 wait.')
  })
})
