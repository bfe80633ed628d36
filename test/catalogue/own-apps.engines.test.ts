import { expect, inject, test } from 'vitest'
import { exportLines, importLines } from '../support/catalogue-file.ts'
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

test.for<[query: string, names: string[], pages: number]>([
  ['', ['Broken Compass'], 3],
  ['status=approved', ['Tide Clock'], 1],
  ['status=rejected', ['Broken Compass'], 1],
])(
  'the pages of "%s" are those of its own apps, without deleted ones',
  async ([query, first, pages]) => {
    const { get } = await start()
    const { body } = await get(`/developer/apps?limit=1&${query}`, { key: keys.ada })
    expect(body.data.apps.map(({ name }: { name: string }) => name)).toEqual(first)
    expect(body.data.pagination.total_pages).toBe(pages)
  },
)

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

test('an app says since when it waits or when it was decided, by each step of its life', async () => {
  const { get, request, decide, database } = await start()
  const standing = async (id: number) => {
    const { body } = await get('/developer/apps', { key: keys.ada })
    const app = body.data.apps.find((one: { id: number }) => one.id === id)
    return { waiting: app.waiting_since, decided: app.decided_at, updated: app.updated_at }
  }
  const update = (id: number, version: string) =>
    request('PUT', `/apps/${id}`, { key: keys.ada, json: { version } })
  const { approved, pending, rejected } = apps

  // A pending app waits since it was created, also after the owner's changes.
  const created = { waiting: '2020-01-01T00:00:00.000Z', decided: undefined }
  expect(await standing(pending)).toMatchObject(created)
  await update(pending, '2')
  expect(await standing(pending)).toMatchObject(created)
  const before = await standing(approved)

  // Also if the clock is behind the last change.
  const updated_at = '2999-01-01T00:00:00.000Z'
  await database.write(({ sql }) => sql('apps').where({ id: pending }).update({ updated_at }))
  await decide('approve', pending)
  const first = await standing(pending)
  expect(first).toEqual({ waiting: undefined, decided: first.updated, updated: first.updated })
  // Another decision decides nothing about this app.
  expect(await standing(approved)).toEqual(before)

  // Changes of a decided app wait since the first of them.
  await update(pending, '3')
  const changed = await standing(pending)
  expect(changed).toMatchObject({ decided: undefined, waiting: expect.any(String) })
  expect(changed.waiting >= first.updated).toBe(true)
  await update(pending, '4')
  expect((await standing(pending)).waiting).toBe(changed.waiting)

  await decide('approve', pending)
  const second = await standing(pending)
  expect(second.waiting).toBeUndefined()
  expect(second.decided > first.decided).toBe(true)
  // The same values again are no change.
  await update(pending, '4')
  expect(await standing(pending)).toEqual(second)

  // A rejected app that is changed waits from then on, not from its creation.
  const no = await standing(rejected)
  await update(rejected, '2')
  const again = await standing(rejected)
  expect(again.decided).toBeUndefined()
  expect(again.waiting > no.decided).toBe(true)
  await decide('reject', rejected)
  expect((await standing(rejected)).decided > again.waiting).toBe(true)

  // Of decisions before there was a record of them, the first approval is known.
  await database.write(({ sql }) => sql('apps').update({ decided_at: null }))
  const { body } = await get(`/apps/${approved}`)
  expect(await standing(approved)).toMatchObject({ decided: body.data.app.approved_at })
  expect(await standing(rejected)).toMatchObject({ decided: undefined, waiting: undefined })
  // That approval is not the decision on an app that was rejected afterwards.
  await decide('reject', approved)
  await database.write(({ sql }) => sql('apps').update({ decided_at: null }))
  expect(await standing(approved)).toMatchObject({ decided: undefined, waiting: undefined })
})

test('an import decides only by a new status', async () => {
  const { get, database } = await start()
  const decidedAt = async () => {
    const { body } = await get(`/developer/apps?status=approved`, { key: keys.ada })
    return body.data.apps[0].decided_at
  }
  const lines = (await exportLines(database)).map((line) => JSON.parse(line))
  const app = lines.find(({ id, name }) => id === apps.approved && name === 'Tide Clock')
  const before = await decidedAt()
  await importLines(database, [{ ...app, version: '9' }])
  expect(await decidedAt()).toBe(before)
  for (const state of [{ status: 'pending' }, { status: 'approved' }])
    await importLines(database, [{ ...app, ...state }])
  expect((await decidedAt()) > before).toBe(true)
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
