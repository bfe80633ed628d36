import { expect, inject, test } from 'vitest'
import { commandLine } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { keys, apps } = inject('world')

async function start() {
  const service = await startService()
  const names = async (query = '', key = keys.ada) => {
    const { body } = await service.get(`/developer/apps${query}`, { key })
    return body.data.apps.map(({ name }: { name: string }) => name)
  }
  return { ...service, names }
}

test('the app that changed last is the first: by its owner, a decision or a restoration', async () => {
  const { request, decide, names, databaseUrl } = await start()
  expect(await names()).toEqual(['Broken Compass', 'Tide Clock', 'Cloud Atlas'])
  const json = { version: '2.0.0' }
  await request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
  expect(await names()).toEqual(['Tide Clock', 'Broken Compass', 'Cloud Atlas'])
  await decide('approve', apps.pending)
  expect(await names()).toEqual(['Cloud Atlas', 'Tide Clock', 'Broken Compass'])
  await request('DELETE', `/apps/${apps.approved}`, { key: keys.ada })
  expect(await names()).toEqual(['Cloud Atlas', 'Broken Compass'])
  await commandLine(databaseUrl).run('app', 'restore', String(apps.approved))
  expect(await names()).toEqual(['Tide Clock', 'Cloud Atlas', 'Broken Compass'])
})

test('apps that changed at the same time are listed by id, the greatest first, on all pages', async () => {
  const { request, get, database } = await start()
  const ids: number[] = []
  for (let number = 0; number < 7; number++) {
    const json = { name: `Star ${number}`, description: 'Stars.', category_id: 1 }
    const { body } = await request('POST', '/apps', { key: keys.ada, json })
    ids.push(body.data.app_id)
  }
  const updated_at = '2999-01-01T00:00:00.000Z'
  await database.write(({ sql }) => sql('apps').whereIn('id', ids).update({ updated_at }))
  const listed: number[] = []
  for (const page of [1, 2, 3, 4]) {
    const { body } = await get(`/developer/apps?limit=2&page=${page}`, { key: keys.ada })
    listed.push(...body.data.apps.map(({ id }: { id: number }) => id))
    expect(body.data.pagination.total_pages).toBe(5)
  }
  expect(listed.slice(0, 7)).toEqual(ids.toReversed())
})

test('an owner who polls with the ETag gets 304 until the decision, and then the reason', async () => {
  const { get, decide } = await start()
  const path = '/developer/apps?status=rejected'
  const before = await get(path, { key: keys.bob })
  const poll = () =>
    get(path, { key: keys.bob, headers: { 'If-None-Match': String(before.headers.etag) } })
  expect((await poll()).status).toBe(304)
  await decide('reject', apps.bobsPending)
  const { status, body } = await poll()
  expect(status).toBe(200)
  expect(body.data.apps).toMatchObject([
    { id: apps.bobsPending, status: 'rejected', rejection_reason: 'Because.' },
  ])
})

test('a transferred app moves to the list of the other developer', async () => {
  const { names, databaseUrl } = await start()
  await commandLine(databaseUrl).run('app', 'transfer', String(apps.rejected), '--to', 'Bob')
  expect(await names()).toEqual(['Tide Clock', 'Cloud Atlas'])
  expect(await names('?status=rejected', keys.bob)).toEqual(['Broken Compass'])
})

test('every key of a developer lists the same apps', async () => {
  const { names, databaseUrl } = await start()
  const { stdout } = await commandLine(databaseUrl).run(
    'key',
    'issue',
    '--developer',
    'Ada',
    '--json',
  )
  expect(await names('', JSON.parse(stdout).key)).toEqual(await names())
})
