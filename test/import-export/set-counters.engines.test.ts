import { expect, test } from 'vitest'
import type { Problem } from '../../src/contract/contract.ts'
import { exportLines, importLines, setCounters } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { type Service, startService } from '../support/service.ts'

async function set(service: Service, lines: (object | string)[]) {
  const problems: Problem[] = []
  const { created, reasons, left_out, leftOut, ...summary } = await setCounters(
    service.database,
    lines,
    {
      onProblems: async (_number, refused) => {
        problems.push(...refused)
      },
    },
  )
  return { ...summary, problems: problems.map(({ field }) => field) }
}

const auditOf = (service: Service) =>
  service.database.read(({ sql }) => sql('audit').orderBy('id', 'desc'))

test('sets downloads and ratings by slug or package name, audited', async () => {
  const service = await startService()
  const { apps } = service.world
  const read = async (id: number) => (await service.get(`/apps/${id}`)).body.data.app
  const before = await read(apps.approved)
  const audited = (await auditOf(service)).length
  expect(
    await set(service, [
      {
        package_name: 'ORG.example.tideclock',
        total_downloads: 5_000_000,
        average_rating: 3,
        rating_count: 7,
      },
      { slug: 'bird-song', total_downloads: 7 },
      { slug: 'cloud-atlas', total_downloads: 12 },
    ]),
  ).toEqual({ lines: 3, updated: 2, unchanged: 1, rejected: 0, problems: [] })
  // The ratings of its three reviews, which are 14 in all, count, too.
  const average_rating = Math.round((100 * (3 * 7 + 14)) / 10) / 100
  expect(await read(apps.approved)).toEqual({
    ...before,
    total_downloads: 5_000_000,
    average_rating,
    rating_count: 10,
  })
  const entries = await auditOf(service)
  expect(entries).toHaveLength(audited + 2)
  const [, entry] = entries
  expect(entry).toMatchObject({ action: 'app counters', operator: 'test', app_id: apps.approved })
  expect(JSON.parse(entry?.before ?? '')).toEqual({
    total_downloads: 100,
    average_rating: 4.67,
    other_rating_count: 0,
  })
  expect(JSON.parse(entry?.after ?? '')).toEqual({
    total_downloads: 5_000_000,
    average_rating,
    other_rating_count: 7,
  })
  await expectConsistent(service.database)
})

test('the most downloaded app leads the search and the list at once', async () => {
  const service = await startService()
  await set(service, [{ slug: 'bird-song', total_downloads: 1_000_000 }])
  const first = async (query: string) =>
    (await service.get(`/apps?${query}`)).body.data.apps[0].slug
  expect([await first('sort=popular'), await first('search=is')]).toEqual([
    'bird-song',
    'bird-song',
  ])
  await set(service, [{ slug: 'tide-clock', total_downloads: 9_000_000 }])
  expect([await first('sort=popular'), await first('search=is')]).toEqual([
    'tide-clock',
    'tide-clock',
  ])
})

test('a later line of the same app wins, and an export has what has changed', async () => {
  const service = await startService()
  await exportLines(service.database)
  const since = new Date().toISOString()
  expect(
    await set(service, [
      { slug: 'bird-song', total_downloads: 8 },
      { slug: 'bird-song', total_downloads: 9 },
      { slug: 'bird-song', average_rating: 5, rating_count: 1 },
    ]),
  ).toMatchObject({ updated: 3 })
  const changed = (await exportLines(service.database, { since })).map((line) => JSON.parse(line))
  expect(changed.filter(({ name }) => name)).toMatchObject([
    { slug: 'bird-song', total_downloads: 9, average_rating: 5, rating_count: 1 },
  ])
})

test('refuses lines that are not valid or name no app, and sets the others', async () => {
  const service = await startService()
  const { problems, ...summary } = await set(service, [
    '{"slug"',
    { slug: 'nobody', total_downloads: 1 },
    { package_name: 'org.example.nobody', total_downloads: 1 },
    { package_name: 'org.example.gone', total_downloads: 1 },
    { slug: 'bird-song', total_downloads: 3 },
  ])
  expect(summary).toEqual({ lines: 5, updated: 1, unchanged: 0, rejected: 4 })
  expect(problems).toEqual(['', '/slug', '/package_name', '/package_name'])
})

test('sets more lines than one transaction has', async () => {
  const service = await startService()
  const names = Array.from({ length: 1201 }, (_, index) => `Wave ${index}`)
  const app = { description: 'D', category: 'tools', developer_name: 'Cy', status: 'approved' }
  await importLines(
    service.database,
    names.map((name) => ({ ...app, name, slug: name.toLowerCase().replace(' ', '-') })),
  )
  const lines = names.map((name, index) => ({
    slug: name.toLowerCase().replace(' ', '-'),
    total_downloads: 5 * index,
  }))
  expect(await set(service, lines)).toMatchObject({
    lines: 1201,
    updated: 1200,
    unchanged: 1,
    rejected: 0,
  })
  expect((await service.get('/apps?sort=popular')).body.data.apps[0].slug).toBe('wave-1200')
  await expectConsistent(service.database)
})
