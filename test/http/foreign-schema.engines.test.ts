import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { knownMigrations } from '../../src/db/schema-age.ts'
import { required } from '../../src/util/helpers.ts'
import { type Call, newApp } from '../contract/valid-requests.ts'
import { decide, startWithService } from '../support/moderation-page.ts'
import { type Service, startService } from '../support/service.ts'

/** A server and a moderation page that were not stopped before the database was migrated. */

type Change = (service: { database: Database }) => Promise<unknown>

/** It also changes a table that prepared statements read whole. */
const upgrade: Change = ({ database }) =>
  database.write(async ({ sql }) => {
    await sql('knex_migrations').insert({ name: '9999-later.ts' })
    await sql.raw('alter table api_keys add column later text')
  })

/** As the restore of an older backup on PostgreSQL. */
const downgrade: Change = ({ database }) =>
  database.write(({ sql }) =>
    sql('knex_migrations')
      .where({ name: required(knownMigrations.at(-1), 'a migration') })
      .delete(),
  )

const auditLength = async ({ database }: { database: Database }) =>
  (await database.read(({ sql }) => sql('audit').pluck('id'))).length

describe('a server', () => {
  const requests: { what: string; call: (service: Service) => Call; status: number }[] = [
    {
      what: 'a create',
      call: ({ world: { keys } }) => ['POST', '/apps', { key: keys.ada, json: newApp }],
      status: 503,
    },
    {
      what: 'a create that can be repeated',
      call: ({ world: { keys } }) => [
        'POST',
        '/apps',
        { key: keys.ada, json: newApp, headers: { 'Idempotency-Key': 'k' } },
      ],
      status: 503,
    },
    {
      what: 'an update',
      call: ({ world: { keys, apps } }) => [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { version: '2' } },
      ],
      status: 503,
    },
    {
      what: 'an update that changes nothing',
      call: ({ world: { keys, apps } }) => [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { name: 'Tide Clock' } },
      ],
      status: 503,
    },
    {
      what: 'a deletion',
      call: ({ world: { keys, apps } }) => [
        'DELETE',
        `/apps/${apps.approved}`,
        { key: keys.oneApp },
      ],
      status: 503,
    },
    {
      what: 'a read with a key, which may have other rights now',
      call: ({ world: { keys } }) => ['GET', '/developer/apps', { key: keys.ada }],
      status: 503,
    },
    {
      what: 'a write with a key that does not exist',
      call: ({ world: { apps } }) => ['DELETE', `/apps/${apps.approved}`, { key: 'apps_x' }],
      status: 401,
    },
    { what: 'the list', call: () => ['GET', '/apps', {}], status: 200 },
    {
      what: 'an app',
      call: ({ world: { apps } }) => ['GET', `/apps/${apps.approved}`, {}],
      status: 200,
    },
    { what: '/readyz', call: () => ['GET', '/readyz', {}], status: 503 },
    { what: '/healthz', call: () => ['GET', '/healthz', {}], status: 200 },
  ]
  const changes = { newer: upgrade, older: downgrade }

  test.for(
    Object.entries(changes).flatMap(([age, change]) =>
      requests.map((row) => ({ ...row, age, change })),
    ),
  )('whose database has a $age schema answers $what with $status', async (row) => {
    const service = await startService()
    const call = row.call(service)
    const before = await auditLength(service)
    await row.change(service)
    const answer = await service.request(...call)
    expect(answer.status, answer.text).toBe(row.status)
    if (call[2]?.key && row.status === 503)
      expect(answer.body.message).toBe('The service is being upgraded; try again shortly.')
    expect(await auditLength(service)).toBe(before)
  })

  test('logs why, and writes again when the schema is its own', async () => {
    const service = await startService()
    const create = () =>
      service.request('POST', '/apps', { key: service.world.keys.ada, json: newApp })
    await upgrade(service)
    expect((await create()).status).toBe(503)
    expect(service.log.join('')).toContain(
      'the database was migrated to 9999-later.ts; restart this program',
    )
    await service.database.write(({ sql }) =>
      sql('knex_migrations').where({ name: '9999-later.ts' }).delete(),
    )
    expect((await create()).status).toBe(201)
  })

  test('finds it with the statement that finds the key', async () => {
    const service = await startService()
    const { keys, apps } = service.world
    const key = keys.ada
    const update = () =>
      service.request('PUT', `/apps/${apps.approved}`, { key, json: { version: '2' } })
    await update()
    await upgrade(service)
    const statements: string[] = []
    service.database.onStatement((statement) => statements.push(statement))
    expect((await update()).status).toBe(503)
    // PostgreSQL prepares it again, as the table has another column.
    expect([...new Set(statements)]).toEqual([expect.stringMatching(/^select .* from api_keys /)])
  })
})

describe('a moderation page', () => {
  test('makes no decision, and lets nobody sign in', async () => {
    const { page, ada, service } = await startWithService()
    const shown = await ada.get(`/apps/${service.world.apps.pending}`)
    const before = await auditLength(page)
    await upgrade(page)
    const decided = await decide(ada, shown.text, 'approve')
    expect(decided.status).toBe(503)
    expect(decided.text).toContain('The service is being upgraded; try again shortly.')
    expect((await ada.get('/')).status).toBe(503)
    expect((await page.post('/sign-in', { key: ada.key })).status).toBe(503)
    expect(await auditLength(page)).toBe(before)
  })
})
