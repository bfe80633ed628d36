import { readFileSync } from 'node:fs'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { newApp } from '../contract/valid-requests.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'
import { administer, ask } from '../support/postgres.ts'
import { startService } from '../support/service.ts'

const citusScript = new URL('../../deploy/citus.sql', import.meta.url)

function open(address: string): DatabaseWithTools {
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  return database
}

test('an engine that does not list table locks is refused by name, whatever version it claims', async () => {
  const address = await copyWorld()
  await administer(
    address,
    'create view pg_locks as select * from pg_catalog.pg_locks where false',
    `create function version() returns text language sql
       as $$ select 'CockroachDB CCL v26.3.0 (x86_64-pc-linux-gnu, built 2026/08/01)' $$`,
    `alter database ${new URL(address).pathname.slice(1)} set search_path = public, pg_catalog`,
  )
  expect(await open(address).checkHealth()).toBe(
    'runs CockroachDB CCL v26.3.0, which does not list table locks in pg_locks; use PostgreSQL',
  )
})

/** Citus's functions that the script calls, with the rule that it broke once. */
const likeCitus = [
  'create table citus_tables (table_name regclass, citus_table_type text)',
  'create table pg_dist_partition (logicalrelid regclass, autoconverted boolean)',
  `create function create_reference_table(name text) returns void language sql as ''`,
  `create function citus_add_local_table_to_metadata(
     name regclass, cascade_via_foreign_keys boolean default false
   ) returns void language plpgsql as $$ begin
       if not cascade_via_foreign_keys and
         exists (select from pg_constraint where contype = 'f' and name in (conrelid, confrelid)) then
         raise exception 'relation % is involved in a foreign key relationship with another table', name;
       end if;
     end $$`,
]

test.skipIf(inject('workers').length > 0)(
  'deploy/citus.sql places tables with foreign keys together, also when it runs again',
  async () => {
    const address = await copyWorld()
    const script = readFileSync(citusScript, 'utf8')
    await administer(address, ...likeCitus, script, script)
    expect(
      await ask(
        address,
        `select column_default from information_schema.columns
         where table_name = 'apps' and column_name = 'id'`,
      ),
    ).toEqual([{ column_default: "next_id('apps_id_seq'::text)" }])
  },
)

test('deploy/citus.sql places every table', async () => {
  const tables = await ask<{ name: string }>(
    await copyWorld(),
    `select tablename as name from pg_tables
     where schemaname = current_schema() and tablename <> 'knex_migrations_lock' order by 1`,
  )
  const script = readFileSync(citusScript, 'utf8')
  const placed = [...script.matchAll(/text\[\] := '\{(.*)\}'/g)].flatMap(([, names = '']) =>
    names.split(', '),
  )
  expect(tables.map(({ name }) => name)).toEqual(placed.toSorted())
})

test('the audit log cannot be truncated', async () => {
  const database = open(await copyWorld())
  await expect(database.write(({ sql }) => sql.raw('truncate audit'))).rejects.toThrow(
    /audit is append-only/,
  )
})

test('a node that stops during a transaction makes the service unavailable, which Citus calls an internal error', async () => {
  const database = open(await copyWorld())
  const raise = (message: string) =>
    database.write(({ sql }) =>
      sql.raw(`do $$ begin raise exception '${message}' using errcode = 'XX000'; end $$`),
    )
  for (const message of [
    'failure on connection marked as essential: db-2:5432',
    'postmaster was shut down, exiting',
    'terminating connection due to unexpected postmaster exit',
    'no connection to the server',
    'could not receive data from server: Connection reset by peer',
  ])
    await expect(raise(message), message).rejects.toThrow(/temporarily unavailable/)
  await expect(raise('unexpected state')).rejects.toThrow(/unexpected state/)
})

/** A copy of the world, as the coordinator and each worker of a cluster open it. */
async function copyCluster(): Promise<string[]> {
  const coordinator = await copyWorld()
  const { pathname } = new URL(coordinator)
  return [
    coordinator,
    ...inject('workers').map((worker) => Object.assign(new URL(worker), { pathname }).href),
  ]
}

test('exports wait for writers on any node', async () => {
  const nodes = await copyCluster()
  const database = open(nodes[0] ?? '')
  for (const node of nodes) {
    const order: string[] = []
    const begun = Promise.withResolvers<void>()
    const write = open(node).write(async ({ sql }) => {
      await sql('developers').update({ changed_at: '' })
      begun.resolve()
      await sql.raw('select pg_sleep(0.5)')
      order.push('written')
    })
    await begun.promise
    await database.committedBefore()
    order.push('committed')
    await write
    expect(order).toEqual(['written', 'committed'])
  }
})

describe.skipIf(inject('workers').length === 0)(
  'on a Citus cluster, of which TEST_POSTGRES_URL is the coordinator',
  () => {
    test('a server on each node sees all writes at once, and all ids come from one sequence', async () => {
      const services = await Promise.all(
        (await copyCluster()).map((databaseUrl) => startService({ databaseUrl })),
      )
      const ids: number[] = []
      for (let round = 0; round < 5; round++) {
        for (const { request, world } of services) {
          const key = world.keys.ada
          const created = await request('POST', '/apps', { key, json: newApp })
          expect(created.status).toBe(201)
          const id: number = created.body.data.app_id
          ids.push(id)
          for (const { get } of services)
            expect((await get(`/apps/${id}`, { key })).status).toBe(200)
        }
      }
      expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      expect(new Set(ids).size).toBe(ids.length)
      expect(Math.max(...ids)).toBeLessThan(1000)
      for (const { database } of services) await expectConsistent(database)
    })

    test.for(["update audit set action = 'x'", 'delete from audit', 'truncate audit'])(
      'no node allows %s',
      async (statement) => {
        for (const node of await copyCluster())
          await expect(ask(node, statement)).rejects.toThrow(/audit is append-only/)
      },
    )
  },
)
