import { expect, inject, test } from 'vitest'
import { insertApp, saveApp } from '../../src/catalogue/app-store.ts'
import { describeLostName, restoreApp } from '../../src/moderation/decisions.ts'
import { required } from '../../src/util/helpers.ts'
import { newApp } from '../contract/valid-requests.ts'
import { exportLines, importLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'

/** A package name belongs to its developer: a deleted app gives it to another app of theirs. */

const { apps } = inject('world')
const name = 'org.example.gone'
const operator = { operator: 'test' }

async function start() {
  const service = await startService()
  const { keys } = service.world
  const create = async (key: string, fields: object = {}, headers = {}) => {
    const json = { ...newApp, package_name: name, ...fields }
    const { status, body } = await service.request('POST', '/apps', { key, json, headers })
    return { status, id: body.data.app_id as number }
  }
  const remove = (id: number) => service.request('DELETE', `/apps/${id}`, { key: keys.ada })
  const give = async (id: number, package_name: string, key = keys.ada) =>
    (await service.request('PUT', `/apps/${id}`, { key, json: { package_name } })).status
  const restore = (id: number) =>
    service.database.write((runner) => restoreApp(runner, id, operator))
  return { service, keys, create, remove, give, restore }
}

const rowOf = ({ database }: Service, id: number) =>
  database.read(async ({ sql }) => required(await sql('apps').where({ id }).first(), 'the app'))

/** The entries about package names of deleted apps, oldest first. */
const releases = ({ database }: Service) =>
  database.read(({ sql }) =>
    sql('audit')
      .where({ action: 'package name release' })
      .orderBy('id')
      .select('app_id', 'developer_id', 'key_id', 'before', 'after'),
  )

test('is created, deleted and created again; the first is restored without it', async () => {
  const { service, keys, create, remove, restore } = await start()
  const version = await service.database.dataVersion()
  const second = await create(keys.ada)
  expect(second.status).toBe(201)
  // Nobody sees a deleted app, so no cache is emptied.
  expect(await service.database.dataVersion()).toBe(version)
  expect(await rowOf(service, apps.deleted)).toMatchObject({
    package_name: null,
    package_key: null,
    deleted_at: '2020-01-01T00:00:00.000Z',
  })
  const released = {
    app_id: apps.deleted,
    developer_id: 1,
    key_id: keys.ada.slice(5, 17),
    before: `{"package_name":"${name}"}`,
    after: '{"package_name":null}',
  }
  expect(await releases(service)).toEqual([released])
  await remove(second.id)
  // Also for a deleted app of a name that another one had.
  expect((await create(keys.bob)).status).toBe(409)
  const third = await create(keys.ada)
  await remove(third.id)
  expect((await releases(service)).map(({ app_id }) => app_id)).toEqual([apps.deleted, second.id])
  const lost = { name, app_id: third.id }
  expect(await restore(apps.deleted)).toEqual({
    id: apps.deleted,
    slug: 'gone',
    status: 'approved',
    lost_package_name: lost,
  })
  expect(describeLostName(lost)).toBe(`Its package name ${name} belongs to app ${third.id} now.`)
  const { body } = await service.get(`/apps/${apps.deleted}`)
  expect(body.data.app).not.toHaveProperty('package_name')
  // The last one has it until it gives it up.
  expect(await restore(third.id)).not.toHaveProperty('lost_package_name')
  expect((await create(keys.ada)).status).toBe(409)
  await expectConsistent(service.database)
})

test('is given to another app by an update, and back', async () => {
  const { service, keys, remove, give, restore } = await start()
  expect(await give(apps.bobs, name, keys.bob)).toBe(409)
  expect(await give(apps.pending, name)).toBe(200)
  expect(await releases(service)).toHaveLength(1)
  // Nothing differs any more.
  expect(await give(apps.pending, name)).toBe(200)
  expect(await releases(service)).toHaveLength(1)
  await restore(apps.deleted)
  expect(await give(apps.deleted, name)).toBe(409)
  await remove(apps.pending)
  expect(await give(apps.deleted, name)).toBe(200)
  expect((await releases(service)).map(({ app_id }) => app_id)).toEqual([
    apps.deleted,
    apps.pending,
  ])
  // Deleted again, it has lost nothing since.
  await remove(apps.deleted)
  expect(await restore(apps.deleted)).not.toHaveProperty('lost_package_name')
  await expectConsistent(service.database)
})

test('that an update has given up is free for everybody, and a restoration says so', async () => {
  const { service, keys, create, give, restore } = await start()
  const { id } = await create(keys.ada)
  expect(await give(id, '')).toBe(200)
  const lost = { name, app_id: null }
  expect(await restore(apps.deleted)).toMatchObject({ lost_package_name: lost })
  expect(describeLostName(lost)).toBe(`Its package name ${name} was given up; no app has it now.`)
  expect((await create(keys.bob)).status).toBe(201)
  expect((await create(keys.ada)).status).toBe(409)
  await expectConsistent(service.database)
})

test('of a deleted app stays with it if the create fails afterwards', async () => {
  const { service, keys, create, restore } = await start()
  const fields = { category_id: 999 }
  expect((await create(keys.ada, fields)).status).toBe(422)
  expect((await create(keys.ada, fields, { 'Idempotency-Key': 'k' })).status).toBe(422)
  expect(await releases(service)).toEqual([])
  expect(await restore(apps.deleted)).not.toHaveProperty('lost_package_name')
  expect(await rowOf(service, apps.deleted)).toMatchObject({ package_name: name })
})

test('is taken once by a create that is repeated with its Idempotency-Key', async () => {
  const { service, keys, create } = await start()
  const headers = { 'Idempotency-Key': 'k' }
  const first = await create(keys.ada, {}, headers)
  expect(first.status).toBe(201)
  expect(await create(keys.ada, {}, headers)).toEqual(first)
  expect(await releases(service)).toHaveLength(1)
})

test('of a deleted app belongs to the developer that it was transferred to', async () => {
  const { service, keys, create } = await start()
  await service.database.write(({ sql }) =>
    sql('apps').where({ id: apps.deleted }).update({ developer_id: 2 }),
  )
  expect((await create(keys.ada)).status).toBe(409)
  expect((await create(keys.bob)).status).toBe(201)
})

test('is never taken from a deleted app by an operator', async () => {
  const { service } = await start()
  const app = await rowOf(service, apps.pending)
  const save = service.database.write((runner) =>
    saveApp(runner, 'app import', app, { package_name: name }, operator),
  )
  await expect(save).rejects.toMatchObject({ code: 'package_name_taken' })
  const { id: _, slug: __, package_key: ___, revision: ____, ...columns } = app
  const insert = service.database.write((runner) =>
    insertApp(runner, { ...columns, package_name: name }, operator),
  )
  await expect(insert).rejects.toMatchObject({ code: 'package_name_taken' })
})

test('whole and partial exports carry it from the deleted app to the new one', async () => {
  const { service, keys, create } = await start()
  const mirror = await openEmptyCatalogue()
  await importLines(mirror, await exportLines(service.database))
  const { id } = await create(keys.ada)
  const lines = await exportLines(service.database)
  expect(await importLines(mirror, lines)).toMatchObject({ created: 1, updated: 1, rejected: 0 })
  expect(await exportLines(mirror)).toEqual(lines)
  expect(await importLines(mirror, lines)).toMatchObject({ unchanged: lines.length })
  const empty = await openEmptyCatalogue()
  await importLines(empty, lines)
  expect(await exportLines(empty)).toEqual(lines)
  // A line without an id still finds the deleted app by its name, until another app has it.
  const line = { name: 'N', description: 'D', category: 'tools', developer_name: 'Ada' }
  expect(await importLines(service.database, [{ ...line, package_name: name }])).toMatchObject({
    updated: 1,
  })
  expect(await rowOf(service, id)).toMatchObject({ name: 'N', package_name: name })
  await expectConsistent(mirror)
})
