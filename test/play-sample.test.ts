import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { categoryStore } from '../src/apps/categories.ts'
import { nameKey } from '../src/apps/terms.ts'
import { type Service, startService } from './support/service.ts'

/** Real store listings, kept outside the project; README tells what they are. */
const folder = process.env.PLAY_SAMPLE ?? `${import.meta.dirname}/../../shared/data/play-sample`
const file = `${folder}/apps.json`

type Listing = { appId: string; title: string; summary: string; description: string; version: string; genreId: string }

describe.skipIf(!existsSync(file))('real listings (skipped without PLAY_SAMPLE, a folder with apps.json)', () => {
  test('are published, approved, listed, sorted, filtered and found; what is refused is refused rightly', async () => {
    const listings: Listing[] = JSON.parse(readFileSync(file, 'utf8'))
    const service = await startService()
    const { keys } = service.world
    const categories = await addCategories(service, listings)
    const taken = new Map<number, Listing>()

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
      const problems = problemsOf(listing)
      expect(reply.status, `${listing.appId}: ${reply.text}`).toBe(problems.length > 0 ? 400 : 201)
      if (reply.status === 201) taken.set(reply.body.data.app_id, listing)
      else expect(reply.body.data.errors.map(({ field }: { field: string }) => field).toSorted()).toEqual(problems)
    }
    for (const id of taken.keys()) await service.decide('approve', id)

    const whole = new Set([...taken.keys(), service.world.apps.approved, service.world.apps.bobs])
    for (const sort of ['latest', 'popular', 'rating']) {
      const ids = await allPages(service, `sort=${sort}&limit=25`)
      expect(ids).toHaveLength(whole.size)
      expect(new Set(ids)).toEqual(whole)
    }
    for (const slug of categories.keys()) {
      const expected = [...taken].filter(([, listing]) => slugOf(listing) === slug).map(([id]) => id)
      expect((await allPages(service, `category=${slug}&limit=10`)).toSorted()).toEqual(expected.toSorted())
    }
    for (const [id, listing] of taken) {
      const { app } = (await service.get(`/apps/${id}`)).body.data
      expect(app).toMatchObject({ name: listing.title.trim(), description: listing.description.trim() })
      const search = new URLSearchParams({ search: [...listing.title].slice(0, 100).join('') })
      const [first] = (await service.get(`/apps?${search}`)).body.data.apps
      // Two real apps may bear one name; the more popular stands first.
      expect(nameKey(first.name)).toBe(nameKey(listing.title))
    }
  })
})

const slugOf = ({ genreId }: Listing) => `real-${genreId.toLowerCase().replaceAll('_', '-')}`

/** The contract's rules, written once more. */
function problemsOf({ summary, version, appId }: Listing): string[] {
  const problems = []
  if (!/^[a-z][\w-]*(\.[a-z][\w-]*){2,}$/i.test(appId)) problems.push('/package_name')
  if (/\p{Cc}/u.test(summary.trim())) problems.push('/short_description')
  if (/\s/.test(version.trim())) problems.push('/version')
  return problems
}

async function addCategories({ database }: Service, listings: Listing[]) {
  const slugs = new Set(listings.map(slugOf))
  return database.write(async (connection) => {
    const categories = new Map<string, number>()
    for (const slug of slugs) {
      categories.set(slug, (await categoryStore(connection).add(slug, slug, { operator: 'test' })).id)
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
