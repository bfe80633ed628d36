import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { addCategory } from '../../../src/catalogue/category-store.ts'
import { nameKey } from '../../../src/search/fold.ts'
import { exportLines, importLines } from '../../support/catalogue-file.ts'
import { type Service, startEmptyService, startService } from '../../support/service.ts'
import { sortOrders } from '../../support/sort-orders.ts'
import { listingLines } from './listing-lines.ts'

/** Real store listings, which are not in the repository; see ../README.md. */
const { PLAY_SAMPLE: folder = '' } = process.env

type Listing = {
  appId: string
  title: string
  summary: string
  description: string
  version: string
  genreId: string
}

describe.skipIf(folder === '')('real listings (skipped without PLAY_SAMPLE)', () => {
  test('can be published, approved, listed, sorted, filtered and found; invalid ones are refused with the right problems', async () => {
    const listings: Listing[] = JSON.parse(readFileSync(`${folder}/apps.json`, 'utf8'))
    const service = await startService()
    const { keys } = service.world
    const categories = await addCategories(service, listings)
    const created = new Map<number, Listing>()

    for (const listing of listings) {
      const json = {
        name: listing.title,
        description: listing.description,
        short_description: listing.summary,
        version: listing.version,
        package_name: listing.appId,
        category_id: categories.get(slugOf(listing)),
      }
      const reply = await service.request('POST', '/apps', { key: keys.bob, json })
      const problems = refusedFields(listing)
      expect(reply.status, `${listing.appId}: ${reply.text}`).toBe(problems.length > 0 ? 400 : 201)
      if (reply.status === 201) created.set(reply.body.data.app_id, listing)
      else
        expect(
          reply.body.data.errors.map(({ field }: { field: string }) => field).toSorted(),
        ).toEqual(problems)
    }
    for (const id of created.keys()) await service.decide('approve', id)

    const listed = new Set([
      ...created.keys(),
      service.world.apps.approved,
      service.world.apps.bobs,
    ])
    for (const sort of sortOrders) {
      const ids = await allPages(service, `sort=${sort}&limit=25`)
      expect(ids).toHaveLength(listed.size)
      expect(new Set(ids)).toEqual(listed)
    }
    for (const slug of categories.keys()) {
      const expected = [...created]
        .filter(([, listing]) => slugOf(listing) === slug)
        .map(([id]) => id)
      expect((await allPages(service, `category=${slug}&limit=10`)).toSorted()).toEqual(
        expected.toSorted(),
      )
    }
    for (const [id, listing] of created) {
      const { app } = (await service.get(`/apps/${id}`)).body.data
      expect(app).toMatchObject({
        name: listing.title.trim(),
        description: listing.description.trim(),
      })
      const search = new URLSearchParams({ search: [...listing.title].slice(0, 100).join('') })
      const [first] = (await service.get(`/apps?${search}`)).body.data.apps
      // Real apps can share a name; the more popular one comes first.
      expect(nameKey(first.name)).toBe(nameKey(listing.title))
    }
  })
})

describe.skipIf(folder === '')(
  'a file of real listings with their reviews (skipped without PLAY_SAMPLE)',
  () => {
    test('gives the same public responses when imported twice, exported, and imported elsewhere', async () => {
      const lines = listingLines(folder)
      const [first, second] = [await startEmptyService(), await startEmptyService()]
      const valid = lines.length - (await importLines(first.database, lines)).rejected
      expect(valid).toBeGreaterThan(100)
      expect(await importLines(first.database, lines)).toMatchObject({
        created: 0,
        updated: 0,
        unchanged: valid,
      })

      const exported = await exportLines(first.database)
      expect(await importLines(second.database, exported)).toMatchObject({
        created: exported.length,
        rejected: 0,
      })
      expect(await exportLines(second.database)).toEqual(exported)

      const pages = sortOrders.flatMap((sort) =>
        [1, 2, 3].map((page) => `/apps?sort=${sort}&limit=50&page=${page}`),
      )
      const searches = ['covid', '健康', 'здоровье', 'salud pública'].map(
        (search) => `/apps?${new URLSearchParams({ search })}`,
      )
      const details = Array.from({ length: valid }, (_, index) => `/apps/${index + 1}`)
      for (const path of [...pages, ...searches, ...details]) {
        const [one, other] = [await first.get(path), await second.get(path)]
        expect([one.status, other.text], path).toEqual([200, one.text])
      }
    })
  },
)

const slugOf = ({ genreId }: Listing) => `real-${genreId.toLowerCase().replaceAll('_', '-')}`

/** The contract's rules, independent of the service. */
function refusedFields({ title, summary, description, version, appId }: Listing): string[] {
  const problems = []
  const control = /[\p{Cc}\u2028\u2029]/u
  const bidirectional = /[\u202A-\u202E\u2066-\u2069]/
  const invisible = /[\u061C\u200B\u200E\u200F\u2060\uFEFF]/
  for (const [field, line] of Object.entries({ '/name': title, '/version': version })) {
    if ([control, bidirectional, invisible].some((rule) => rule.test(line.trim())))
      problems.push(field)
  }
  if (/[^\P{Cc}\t\n\r]/u.test(description) || bidirectional.test(description))
    problems.push('/description')
  if (!/^[a-z][\w-]*(\.[a-z][\w-]*){2,}$/i.test(appId)) problems.push('/package_name')
  if (control.test(summary.trim()) || bidirectional.test(summary))
    problems.push('/short_description')
  return problems.toSorted()
}

async function addCategories({ database }: Service, listings: Listing[]) {
  const slugs = new Set(listings.map(slugOf))
  return database.write(async (runner) => {
    const categories = new Map<string, number>()
    for (const slug of slugs) {
      categories.set(slug, (await addCategory(runner, slug, slug, { operator: 'test' })).id)
    }
    return categories
  })
}

async function allPages(service: Service, query: string): Promise<number[]> {
  const ids: number[] = []
  for (let page = 1, total = 1; page <= total; page++) {
    const { apps, pagination } = (await service.get(`/apps?${query}&page=${page}`)).body.data
    ids.push(...apps.map(({ id }: { id: number }) => id))
    total = pagination.total_pages
  }
  return ids
}
