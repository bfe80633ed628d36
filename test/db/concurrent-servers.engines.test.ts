import { expect, test } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { expectStatuses } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'

/** Several servers on one database, each with its own connections, like separate processes. */

/** However busy the machine is, none gives up. */
async function startThree(): Promise<Service[]> {
  stopTimers()
  const databaseUrl = await copyWorld()
  return Promise.all([1, 2, 3].map(() => startService({ databaseUrl, lockTimeout: 60_000 })))
}

/** Runs work concurrently, distributed over the servers. */
const atOnce = <T>(
  services: Service[],
  count: number,
  work: (service: Service, number: number) => Promise<T>,
) =>
  Promise.all(
    Array.from({ length: count }, (_, number) => {
      const service = services[number % services.length]
      if (!service) throw new Error('there is no service')
      return work(service, number)
    }),
  )

test('fifty concurrent creates with one name get fifty slugs', async () => {
  const services = await startThree()
  const key = services[0]?.world.keys.ada ?? ''
  const created = await atOnce(services, 50, (service) =>
    service.request('POST', '/apps', { key, json: newApp }),
  )
  expect(created.map(({ status, text }) => (status === 201 ? 201 : text))).toEqual(
    created.map(() => 201),
  )
  const slugs = created.map(({ body }) => body.data.slug)
  const numbers = Array.from({ length: 49 }, (_, index) => `star-map-${index + 2}`)
  expect(slugs.toSorted()).toEqual(['star-map', ...numbers].toSorted())
  for (const { database } of services.slice(0, 1)) await expectConsistent(database)
})

test('one of several concurrent creates with one package name wins', async () => {
  const services = await startThree()
  const key = services[0]?.world.keys.ada ?? ''
  const json = { ...newApp, package_name: 'org.example.wanted' }
  const created = await atOnce(services, 12, (service) =>
    service.request('POST', '/apps', { key, json }),
  )
  expectStatuses(
    created.toSorted((one, other) => one.status - other.status),
    [201, ...Array.from({ length: 11 }, () => 409)],
  )
  for (const { database } of services.slice(0, 1)) await expectConsistent(database)
})

test('one of several concurrent updates with one ETag wins', async () => {
  const services = await startThree()
  const { keys, apps } = services[0]?.world ?? { keys: { ada: '' }, apps: { approved: 0 } }
  const path = `/apps/${apps.approved}`
  const etag = (await services[0]?.get(path, { key: keys.ada }))?.headers.etag
  const updated = await atOnce(services, 12, (service, number) =>
    service.request('PUT', path, {
      key: keys.ada,
      headers: { 'If-Match': String(etag) },
      json: { version: `9.${number}` },
    }),
  )
  expectStatuses(
    updated.toSorted((one, other) => one.status - other.status),
    [200, ...Array.from({ length: 11 }, () => 412)],
  )
  for (const { database } of services.slice(0, 1)) await expectConsistent(database)
})

test('counters stay exact while apps change their categories concurrently', async () => {
  const services = await startThree()
  const [first] = services
  if (!first) return
  const { keys, categories } = first.world
  const created = await atOnce(services, 6, (service) =>
    service.request('POST', '/apps', {
      key: keys.ada,
      json: { ...newApp, category_id: categories.tools },
    }),
  )
  const ids: number[] = created.map(({ body }) => body.data.app_id)
  for (const id of ids) await first.decide('approve', id)
  const moved = await atOnce(services, 60, (service, number) => {
    const category_id =
      Math.floor(number / ids.length) % 2 === 0 ? categories.games : categories.tools
    const path = `/apps/${ids[number % ids.length]}`
    return service.request('PUT', path, { key: keys.ada, json: { category_id } })
  })
  expectStatuses(moved, Array(60).fill(200))
  await expectConsistent(first.database)
})

test('a write that one server acknowledged is in the next response of all others, cached or not', async () => {
  const services = await startThree()
  const key = services[0]?.world.keys.ada ?? ''
  const path = `/apps/${services[0]?.world.apps.approved}`
  for (let number = 1; number <= 5; number++) {
    for (const service of services) {
      const version = `${number}.${service.port}`
      expect((await service.request('PUT', path, { key, json: { version } })).status).toBe(200)
      for (const other of services)
        expect((await other.get(path)).body.data.app.version).toBe(version)
      for (const other of services)
        expect((await other.get(path)).body.data.app.version).toBe(version)
    }
  }
})
