import { expect, inject, test } from 'vitest'
import { moderationStore } from '../../src/moderation/store.ts'
import { expectConsistentFile } from '../support/consistent.ts'
import { commandLine, serve } from '../support/process.ts'
import { copyWorld, startService } from '../support/service.ts'

test('a deleted app comes back as it was, in a running server at once', async () => {
  const file = copyWorld()
  const server = await serve(file)
  const cli = commandLine(file)
  const { keys, apps } = inject('world')
  const found = async (search: string) =>
    (await server.request('GET', `/apps?search=${search}`)).body.data.apps.map(({ id }: { id: number }) => id)
  const listed = async () =>
    (await server.request('GET', '/apps?category=games&limit=1')).body.data.pagination.total_pages

  const before = (await server.request('GET', `/apps/${apps.bobs}`)).body.data.app
  await server.request('DELETE', `/apps/${apps.bobs}`, { key: keys.bob })
  expect([await found('bird'), await listed()]).toEqual([[], 0])
  expect(await cli.run('app', 'restore', String(apps.bobs))).toEqual({
    code: 0,
    stdout: `App ${apps.bobs} (bird-song) is back; it is approved.\n`,
    stderr: '',
  })
  expect([await found('bird'), await listed()]).toEqual([[apps.bobs], 1])
  const { updated_at, ...after } = (await server.request('GET', `/apps/${apps.bobs}`)).body.data.app
  expect({ ...after, updated_at: before.updated_at }).toEqual(before)
  expect(updated_at > before.updated_at).toBe(true)
  expect((await cli.json('audit', '--app', String(apps.bobs), '--limit', '1'))[0]).toMatchObject({
    action: 'app restore',
    key_id: null,
    before: { deleted_at: expect.any(String) },
    after: { deleted_at: null },
  })

  // Pending, it is its owner's alone again.
  await server.request('DELETE', `/apps/${apps.pending}`, { key: keys.ada })
  expect(await cli.json('app', 'restore', String(apps.pending))).toEqual({
    id: apps.pending,
    slug: 'cloud-atlas',
    status: 'pending',
  })
  expect((await server.request('GET', `/apps/${apps.pending}`)).status).toBe(404)
  expect((await server.request('GET', `/apps/${apps.pending}`, { key: keys.ada })).status).toBe(200)
  await expectConsistentFile(file)
})

test('an app handed over is the new owner’s at once, in a running server', async () => {
  const file = copyWorld()
  const server = await serve(file)
  const cli = commandLine(file)
  const { keys, apps } = inject('world')
  const path = `/apps/${apps.approved}`
  const found = async (search: string) =>
    (await server.request('GET', `/apps?search=${search}`)).body.data.apps.map(({ id }: { id: number }) => id)

  expect([await found('tide+ada'), await found('tide+bob')]).toEqual([[apps.approved], []])
  expect(await cli.json('app', 'transfer', String(apps.approved), '--to', 'Bob')).toEqual({
    id: apps.approved,
    slug: 'tide-clock',
    developer_name: 'Bob',
  })
  expect([await found('tide+ada'), await found('tide+bob')]).toEqual([[], [apps.approved]])
  expect((await server.request('GET', path)).body.data.app.developer_name).toBe('Bob')
  expect((await server.request('PUT', path, { key: keys.ada, json: { version: '2' } })).status).toBe(403)
  expect((await server.request('DELETE', path, { key: keys.ada })).status).toBe(403)
  expect((await server.request('PUT', path, { key: keys.bob, json: { version: '2' } })).status).toBe(200)
  const [transfer] = (await cli.json('audit', '--app', String(apps.approved))).slice(-2)
  expect(transfer).toMatchObject({
    action: 'app transfer',
    developer_name: 'Bob',
    before: { developer_id: 1 },
    after: { developer_id: 2 },
  })

  // A pending one disappears from its old owner.
  expect((await cli.run('app', 'transfer', String(apps.pending), '--to', ' Bob ')).stdout).toBe(
    `App ${apps.pending} (cloud-atlas) belongs to Bob now.\n`,
  )
  expect((await server.request('GET', `/apps/${apps.pending}`, { key: keys.ada })).status).toBe(404)
  expect((await server.request('GET', `/apps/${apps.pending}`, { key: keys.bob })).status).toBe(200)
  await expectConsistentFile(file)
})

test.for<[what: string, message: string]>([
  ['restore 99', 'there is no app 99'],
  ['restore 1', 'app 1 is not deleted; it is approved'],
  ['transfer 99 Bob', 'there is no app 99'],
  ['transfer 4 Bob', 'app 4 is deleted now; it must be restored first'],
  ['transfer 1 Eve', 'there is no developer "Eve"'],
  ['transfer 1 Ada', 'app 1 belongs to "Ada" already'],
])('%s is refused, and changes nothing', async ([what, message]) => {
  const { database } = await startService()
  const [command, id, to = ''] = what.split(' ')
  const audited = () => database.read(({ sql }) => sql('audit').count())
  const before = await audited()
  const done = database.write<unknown>((connection) => {
    const store = moderationStore(connection)
    return command === 'restore'
      ? store.restore(Number(id), { operator: 'test' })
      : store.transfer(Number(id), to, { operator: 'test' })
  })
  await expect(done).rejects.toMatchObject({ name: 'Refusal', message })
  expect(await audited()).toEqual(before)
})
