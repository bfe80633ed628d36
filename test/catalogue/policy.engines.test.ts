import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { findApp, findListedApps } from '../../src/catalogue/app-store.ts'
import {
  assertOwner,
  canDecide,
  type Decision,
  statusAfterUpdate,
} from '../../src/catalogue/policy.ts'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { startService } from '../support/service.ts'

const statuses = ['pending', 'approved', 'rejected'] as const
type Status = (typeof statuses)[number]
const owner = { developerId: 1, keyId: 'a' }
const other = { developerId: 2, keyId: 'b' }
test('an app can be changed only by its owner', () => {
  expect(() => assertOwner(owner, { developer_id: 1 })).not.toThrow()
  expect(() => assertOwner(other, { developer_id: 1 })).toThrow(
    expect.objectContaining({ code: 'forbidden' }),
  )
})

test('an app is read from the database only for its owner, and for others if it is approved', async () => {
  const { database, world } = await startService()
  const owners = await database.read(({ sql }) =>
    sql('apps').distinct('developer_id').pluck('developer_id'),
  )
  const callers = [undefined, ...owners.map((developerId) => ({ developerId, keyId: 'a' }))]
  for (const id of Object.values(world.apps)) {
    const app = await database.read((runner) => findApp(runner, id))
    for (const caller of callers) {
      const [read] = await database.read(async (runner) => {
        return caller
          ? [await findApp(runner, id, { visibleTo: caller })]
          : findListedApps(runner, [id])
      })
      const isVisible =
        app?.status === 'approved' || (app && app.developer_id === caller?.developerId)
      expect(read !== undefined).toBe(Boolean(isVisible))
    }
  }
})

test('readers who ask for many apps at the same time each get their own app, or a 404 if it is not listed', async () => {
  // Requests that arrive meanwhile wait for the same version of the data, and then read their apps
  // together.
  const slowVersion = (database: Database): Database => ({
    ...database,
    dataVersion: () => delay(100).then(database.dataVersion),
  })
  const { get, decide, world } = await startService({ database: slowVersion })
  const { approved, bobs, ...hidden } = world.apps
  const missing = Array.from({ length: 10 }, (_, index) => 999_990 + index)
  const ids = [...Object.values(hidden), bobs, ...missing, approved]
  const responses = await Promise.all(ids.map((id) => get(`/apps/${id}`)))
  const found = responses.map(({ status, body }) => (status === 200 ? body.data.app.id : status))
  expect(found).toEqual(ids.map((id) => (id === approved || id === bobs ? id : 404)))
  // Later readers get the app as it is then.
  await decide('reject', approved)
  expect((await get(`/apps/${approved}`)).status).toBe(404)
})

test.for<[method: string, json: object | undefined]>([
  ['GET', undefined],
  ['PUT', { name: 'Mine' }],
  ['DELETE', undefined],
])(
  '%s runs the same statements for a hidden app as for a missing one, so response times do not differ',
  async ([method, json]) => {
    const statements: string[] = []
    const recording =
      <T>(work: (runner: QueryRunner) => Promise<T>) =>
      (runner: QueryRunner) => {
        const note = ({ sql }: { sql: string }) => statements.push(sql)
        const noted: QueryRunner = {
          ...runner,
          rows: (statement, values) => {
            statements.push(statement)
            return runner.rows(statement, values)
          },
        }
        runner.sql.on('query', note)
        return work(noted).finally(() => runner.sql.removeListener('query', note))
      }
    const service = await startService({
      database: (database) => ({
        ...database,
        read: (work, options) => database.read(recording(work), options),
        write: (work, options) => database.write(recording(work), options),
      }),
    })
    const { apps, keys } = service.world
    for (const key of [...(method === 'GET' ? [undefined] : []), keys.bob]) {
      const run = async (id: number) => {
        statements.length = 0
        const { status } = await service.request(method, `/apps/${id}`, {
          ...(key && { key }),
          json,
        })
        expect(status).toBe(404)
        // The use of a key is recorded now and then.
        return statements.filter((statement) => !/^update .api_keys/.test(statement))
      }
      const ofMissing = await run(999)
      expect(ofMissing).not.toEqual([])
      for (const id of [apps.pending, apps.rejected, apps.deleted])
        expect(await run(id)).toEqual(ofMissing)
    }
  },
)

test('an owner’s update makes a rejected app pending', () => {
  expect(statuses.map(statusAfterUpdate)).toEqual(['pending', 'approved', 'pending'])
})

test.for<[decision: Decision, status: Status, isChanged: boolean, isOpen: boolean]>([
  ['approve', 'pending', false, true],
  ['approve', 'approved', false, false],
  ['approve', 'approved', true, true],
  ['approve', 'rejected', false, true],
  ['reject', 'pending', false, true],
  ['reject', 'approved', false, true],
  ['reject', 'approved', true, true],
  ['reject', 'rejected', false, false],
  ['reject', 'rejected', true, false],
  ['reopen', 'pending', false, false],
  ['reopen', 'pending', true, false],
  ['reopen', 'approved', false, true],
  ['reopen', 'approved', true, true],
  ['reopen', 'rejected', false, true],
  ['reopen', 'rejected', true, true],
])(
  '%s is possible for an app that is %s, changed since: %j; expected: %j',
  ([decision, status, isChanged, isOpen]) => {
    const unreviewed_since = isChanged ? '2026-01-01T00:00:00.000Z' : null
    expect(canDecide(decision, { status, unreviewed_since })).toBe(isOpen)
  },
)
