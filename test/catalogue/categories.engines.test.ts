import { expect, inject, test } from 'vitest'
import { commandLine } from '../support/process.ts'
import { startEmptyService, startService } from '../support/service.ts'

const { keys, apps, categories } = inject('world')

test('the number of apps follows approvals, moves, deletions and rejections', async () => {
  const { get, request, decide } = await startService()
  const counts = async () => {
    const { body } = await get('/categories')
    return body.data.categories.map(({ app_count }: { app_count: number }) => app_count)
  }
  // Empty, games, tools.
  expect(await counts()).toEqual([0, 1, 1])
  await decide('approve', apps.pending)
  expect(await counts()).toEqual([0, 1, 2])
  const json = { category_id: categories.empty }
  await request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json })
  expect(await counts()).toEqual([1, 1, 1])
  await request('DELETE', `/apps/${apps.approved}`, { key: keys.ada })
  expect(await counts()).toEqual([1, 1, 0])
  await decide('reject', apps.bobs)
  expect(await counts()).toEqual([1, 0, 0])
})

test('a new category is listed in the order of names, and a filter by its slug finds it', async () => {
  const { get, databaseUrl } = await startService()
  expect((await get('/apps?category=maps')).body.message).toMatch(/^No category has the slug/)
  const slugs = async () => {
    const { body } = await get('/categories')
    return body.data.categories.map(({ slug }: { slug: string }) => slug)
  }
  expect(await slugs()).toEqual(['empty', 'games', 'tools'])
  await commandLine(databaseUrl).run('category', 'add', '--slug', 'maps', '--name', 'Maps')
  expect(await slugs()).toEqual(['empty', 'games', 'maps', 'tools'])
  expect((await get('/apps?category=maps')).body.data.apps).toEqual([])
})

test.for([
  [0, '0 categories.'],
  [1, '1 category.'],
] as const)('a catalogue with %i says so', async ([count, message]) => {
  const { get, databaseUrl } = await startEmptyService()
  if (count === 1)
    await commandLine(databaseUrl).run('category', 'add', '--slug', 'maps', '--name', 'Maps')
  const { body } = await get('/categories')
  expect(body).toMatchObject({ message, data: { categories: count ? [{ slug: 'maps' }] : [] } })
})
