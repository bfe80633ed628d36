import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import { findApp, saveApp } from '../../src/catalogue/app-store.ts'
import type { Sort } from '../../src/contract/contract.ts'
import type { Database } from '../../src/db/database.ts'
import type { CheckedResponse } from '../support/check.ts'
import { expectConsistent } from '../support/consistency.ts'
import { share } from '../support/lifetime.ts'
import { addListed, findPage, namesOn, numbered, openListed } from '../support/listed-apps.ts'
import { seed } from '../support/random.ts'
import { addReviews } from '../support/reviews.ts'
import { type Service, startService } from '../support/service.ts'

/** The pages of the public list: their order, their links, and what changes do to them. */

describe('order', () => {
  const ties = Array.from({ length: 11 }, (_, index) => ({
    name: `Tie ${index}`,
    total_downloads: index % 2,
    approved_at: `2030-01-0${1 + (index % 3)}T00:00:00.000Z`,
  }))
  /** What each order compares, before the id. */
  const keys: Record<Sort, (tie: (typeof ties)[number]) => string> = {
    latest: ({ approved_at }) => approved_at,
    popular: ({ total_downloads }) => `${total_downloads}`,
    rating: () => '',
  }

  test.for(Object.keys(keys) as Sort[])(
    '%s breaks ties by id, and pages are slices of the whole list',
    async (sort) => {
      const database = await openListed(ties)
      const keyOf = keys[sort] ?? expect.fail(`what does ${sort} compare?`)
      const expected = ties
        .map((tie, index) => ({ ...tie, key: `${keyOf(tie)} ${index + 100}` }))
        .toSorted((a, b) => (a.key < b.key ? 1 : -1))
      for (const limit of [1, 2, 3, 4, 10, 100]) {
        for (let page = 1; page <= Math.ceil(ties.length / limit) + 1; page++) {
          const found = await findPage(database, { sort, limit, page })
          const slice = expected.slice((page - 1) * limit, page * limit)
          expect([found.total, namesOn(found)]).toEqual([11, slice.map(({ name }) => name)])
        }
      }
    },
  )

  test('late pages, which are read from the end of the order, continue the earlier ones', async () => {
    // Enough that late pages are on either side of the middle.
    const apps = Array.from({ length: 2350 }, (_, index) => ({
      name: `Late ${index}`,
      total_downloads: 1000 + (index % 7),
      approved_at: `2030-01-0${1 + (index % 5)}T00:00:00.000Z`,
      category: index % 20 === 0 ? 'tools' : 'empty',
    }))
    const database = await openListed(apps)
    const newestFirst = apps.toReversed()
    const orders = {
      latest: newestFirst.toSorted((a, b) => b.approved_at.localeCompare(a.approved_at)),
      popular: newestFirst.toSorted((a, b) => b.total_downloads - a.total_downloads),
    }
    for (const sort of ['latest', 'popular'] as const) {
      for (const filter of [{}, { category: 'empty' }]) {
        const expected = orders[sort].filter(
          ({ category }) => category === (filter.category ?? category),
        )
        for (const page of [10, 11, 12, 13, Math.ceil(expected.length / 100)]) {
          const found = await findPage(database, { sort, page, limit: 100, ...filter })
          const slice = expected.slice((page - 1) * 100, page * 100)
          expect(namesOn(found), `${sort} ${page}`).toEqual(slice.map(({ name }) => name))
          expect(found.total).toBe(expected.length)
        }
      }
    }
  })

  test('rating is by average, then by number of reviews', async () => {
    const database = await openListed([
      { name: 'Two fives', id: 1 },
      { name: 'One five', id: 2 },
      { name: 'A four', id: 3 },
      { name: 'None', id: 4 },
    ])
    const review = { reviewer_name: 'R', comment: '', created_at: '2030-01-01T00:00:00.000Z' }
    const ratings = { 1: [5, 5], 2: [5], 3: [4, 4, 4] }
    await database.write((runner) =>
      addReviews(
        runner,
        Object.entries(ratings).flatMap(([id, stars]) =>
          stars.map((rating) => ({ ...review, app_id: Number(id), rating })),
        ),
      ),
    )
    const page = await findPage(database, { sort: 'rating' })
    expect(namesOn(page)).toEqual(['Two fives', 'One five', 'A four', 'None'])
  })
})

test('writes the JSON that JSON.stringify writes, whatever the characters', async () => {
  const service = await startService()
  await addListed(service.database, [
    {
      name: 'Quote " \\ / <b>',
      description: 'a\tb\nc\r\u0001\u001f\u007f\u0080\u2028\ufeff\uffff 日本 𠮷 é',
      average_rating: 3.07,
    },
  ])
  const { text } = await service.get('/apps?category=empty')
  expect(text).toContain('average_rating":3.07')
  expect(text).toBe(JSON.stringify(JSON.parse(text)))
})

test('writes average ratings without trailing zeros, in lists and searches', async () => {
  const service = await startService()
  await addListed(service.database, [
    { name: 'Whole', average_rating: 4 },
    { name: 'Half', average_rating: 4.5, total_downloads: 1 },
  ])
  for (const query of ['category=empty&sort=popular', 'category=empty&sort=popular&search=ada']) {
    const { text } = await service.get(`/apps?${query}`)
    expect(text.match(/"average_rating":[^,}]*/g)).toEqual([
      '"average_rating":4.5',
      '"average_rating":4',
    ])
  }
})

describe('of five apps', () => {
  let service: Service
  share(async () => {
    service = await startService()
    await addListed(service.database, numbered(5, 'App'))
  })

  test.for<{ page: string; query: string; message: string; links: Record<string, number> }>([
    {
      page: 'the first page',
      query: 'limit=2',
      message: 'Page 1 of 3.',
      links: { first: 1, next: 2, last: 3 },
    },
    {
      page: 'a page between',
      query: 'limit=2&page=2',
      message: 'Page 2 of 3.',
      links: { first: 1, prev: 1, next: 3, last: 3 },
    },
    {
      page: 'the last page',
      query: 'limit=2&page=3',
      message: 'Page 3 of 3.',
      links: { first: 1, prev: 2, last: 3 },
    },
    {
      page: 'a page past the end',
      query: 'limit=2&page=9',
      message: 'Page 9 of 3.',
      links: { first: 1, prev: 3, last: 3 },
    },
    {
      page: 'the only page, which is full',
      query: 'limit=5',
      message: 'Page 1 of 1.',
      links: { first: 1, last: 1 },
    },
    {
      page: 'a page where nothing matches',
      query: 'limit=2&page=9&search=nothing',
      message: 'No apps match.',
      links: { first: 1, prev: 1 },
    },
  ])('$page links to its neighbours', async ({ query, message, links }) => {
    const { headers, body } = await service.get(`/apps?category=empty&${query}`)
    expect(body.message).toBe(message)
    const found = [...String(headers.link).matchAll(/<[^>]*[?&]page=(\d+)[^>]*>; rel="(\w+)"/g)]
    expect(Object.fromEntries(found.map(([, page, rel]) => [rel, Number(page)]))).toEqual(links)
  })
})

describe('X-Total-Count', () => {
  const totalOf = ({ headers }: CheckedResponse) => headers['x-total-count']

  test('counts the apps of all pages, from the cache or not, to GET and HEAD', async () => {
    const service = await startService()
    const { keys } = service.world
    await addListed(service.database, numbered(5, 'App'))
    const expected = {
      '/apps?category=empty&limit=2': '5',
      '/apps?category=empty&limit=2&page=9': '5',
      '/apps?search=app+3': '1',
      '/apps?slug=app-3': '1',
      '/apps?slug=': '0',
      '/apps?category=nowhere': '0',
      '/developer/apps?limit=1': '8',
      '/developer/apps?status=rejected': '1',
    }
    for (const [path, total] of Object.entries(expected))
      for (const method of ['GET', 'GET', 'HEAD']) {
        const key = path.startsWith('/developer') ? { key: keys.ada } : {}
        expect([path, totalOf(await service.request(method, path, key))]).toEqual([path, total])
      }
  })

  test('of a search is at most 1,000', async () => {
    const service = await startService()
    await addListed(service.database, numbered(1001, 'Thing'))
    expect(totalOf(await service.get('/apps?search=thing&limit=1'))).toBe('1000')
    expect(totalOf(await service.get('/apps?category=empty&limit=1'))).toBe('1001')
  })

  test('is the present one in a 304, whose page has not changed', async () => {
    const service = await startService()
    await addListed(service.database, numbered(3, 'App'))
    const path = '/apps?category=empty&limit=2&sort=latest'
    const { headers, status } = await service.get(path)
    const first = { name: 'Older', approved_at: '2029-01-01T00:00:00.000Z' }
    await addListed(service.database, [first])
    const again = await service.get(path, { headers: { 'If-None-Match': String(headers.etag) } })
    expect([status, headers['x-total-count']]).toEqual([200, '3'])
    expect([again.status, totalOf(again)]).toEqual([304, '4'])
  })
})

test.for<{ slug: string; fullMatches: number | undefined }>([
  { slug: 'radar-rain', fullMatches: undefined },
  { slug: 'radar', fullMatches: 0 },
])('a search with the slug $slug counts its own app alone', async ({ slug, fullMatches }) => {
  const database = await openListed([{ name: 'Radar Rain' }, { name: 'Radar' }])
  const { apps, search, notes } = await findPage(database, { search: 'radar rain', slug })
  expect(apps.map((app) => app.slug)).toEqual([slug])
  expect(search?.full_matches).toBe(fullMatches)
  expect(notes).toHaveLength(fullMatches === undefined ? 0 : 1)
})

test('a corrected search gets a new ETag when the corrections change', async () => {
  const service = await startService()
  await addListed(service.database, [{ id: 50, name: 'Binder', description: 'Both.' }])
  const before = await service.get('/apps?search=xinder')
  // With another correction in the same app, only the message changes.
  await service.database.write(async (runner) => {
    const app = (await findApp(runner, 50)) ?? expect.fail()
    await saveApp(runner, 'app update', app, { short_description: 'Finder' }, { operator: 'test' })
  })
  const headers = { 'If-None-Match': String(before.headers.etag) }
  const after = await service.get('/apps?search=xinder', { headers })
  expect(after.status).toBe(200)
  expect(after.body.message).not.toBe(before.body.message)
  expect(after.body.data).toEqual(before.body.data)
})

test('counters stay exact under any sequence of changes', async () => {
  const service = await startService()
  const { keys } = service.world
  const step = fc.record({
    what: fc.constantFrom('create', 'approve', 'reject', 'update', 'move', 'delete'),
    which: fc.nat(9),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      for (const { what, which } of steps) await take(what, which)
      await expectConsistent(service.database)
      // Every app of the test has the word in its name.
      const [row] = await service.database.read(({ sql }) =>
        sql('apps')
          .where({ status: 'approved' })
          .whereNull('deleted_at')
          .whereLike('name', 'Zebra%')
          .count({ count: '*' }),
      )
      const { pagination } = (await service.get('/apps?search=zebra&limit=1')).body.data
      expect(pagination.total_pages).toBe(Number(row?.count))
    }),
    { numRuns: 8, seed },
  )

  async function take(what: string, which: number) {
    if (what === 'create') {
      const json = { name: `Zebra ${which}`, description: 'Stripes.', category_id: 1 + (which % 3) }
      await service.request('POST', '/apps', { key: keys.ada, json })
      return
    }
    const rows = await service.database.read(({ sql }) =>
      sql('apps').whereLike('name', 'Zebra%').orderBy('id', 'desc').limit(10),
    )
    const app = rows[which % Math.max(1, rows.length)]
    if (!app) return
    if (what === 'approve' || what === 'reject') return service.decide(what, app.id)
    if (what === 'delete') await service.request('DELETE', `/apps/${app.id}`, { key: keys.ada })
    else {
      const json =
        what === 'move'
          ? { category_id: 1 + ((app.category_id + which) % 3) }
          : { name: `Zebra new ${which}` }
      await service.request('PUT', `/apps/${app.id}`, { key: keys.ada, json })
    }
  }
})

/** Adds listed apps that no search finds, which takes a tenth of the time. */
const addUnsearchable = (database: Database, category_id: number, count: number) =>
  database.write(async ({ sql, insertRows }) => {
    const at = '2026-01-01T00:00:00.000Z'
    const [columns] = await sql('apps').where({ status: 'approved' }).limit(1)
    const rows = Array.from({ length: count }, (_, index) => {
      const { id, ...row } = columns ?? expect.fail()
      const names = { slug: `more-${index}`, package_name: null, package_key: null }
      return { ...row, ...names, category_id, approved_at: at }
    })
    await insertRows('apps', rows)
    await sql('categories').where({ id: category_id }).increment('listed_apps', count)
  })

test.for<[what: string, query: Partial<Parameters<typeof findAppPage>[1]>]>([
  ['a search', { search: 'app' }],
  ['a search in an order', { search: 'app', sort: 'popular' }],
  ['a search in a category', { search: 'app', category: 'empty' }],
  ['a search for some of the words', { search: 'app zephyr' }],
  ['an app by its slug', { slug: 'app-0' }],
  ['an app by its package name, searched', { search: 'app', package_name: 'org.example.app' }],
  ['a list far behind the first page', { page: 1002, limit: 1 }],
  ['a list of a category far behind the first page', { page: 1002, limit: 1, category: 'empty' }],
])(
  'a page of %s is of one moment, whichever of its statements a change comes before',
  async ([, query]) => {
    const service = await startService()
    const { database } = service
    await addListed(database, [
      { name: 'App 0', package_name: 'org.example.app', total_downloads: 9 },
      { name: 'App 1' },
    ])
    const [id = 0] = await database.read(({ sql }) =>
      sql('apps').where({ slug: 'app-0' }).pluck('id'),
    )
    if (query.page !== undefined)
      await addUnsearchable(database, service.world.categories.empty, 1002)
    const page = (of: Database) => findAppPage(of, { page: 1, limit: 20, ...query })
    const changes = [
      () => service.decide('reject', id),
      () => service.decide('approve', id),
      () => database.write(async ({ sql }) => sql('apps').where({ id }).update({ name: 'Else' })),
    ]
    // Each change, before each statement.
    for (let at = 0, isOver = false; !isOver; at++) {
      const before = await page(database)
      let statements = 0
      const watch =
        (way: 'read' | 'snapshot'): Database['read'] =>
        (work, options) =>
          database[way](
            (runner) =>
              work({
                ...runner,
                async rows(...statement) {
                  if (statements++ === at + 1) await changes[at % changes.length]?.()
                  return runner.rows(...statement)
                },
              }),
            options,
          )
      const found = await page({ ...database, read: watch('read'), snapshot: watch('snapshot') })
      expect(found, `changed before statement ${at + 2}`).toEqual(before)
      isOver = at + 1 >= statements
    }
  },
)
