import pg from 'pg'
import sqlite3 from 'sqlite3'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { addModerator } from '../../src/accounts/moderator-store.ts'
import { recordEntries } from '../../src/audit/audit-store.ts'
import { changeApps } from '../../src/catalogue/app-store.ts'
import { findLookAlikes } from '../../src/catalogue/look-alikes.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { type EntryFilter, findEntries, findEntriesAfter } from '../../src/moderation/entries.ts'
import { findApps } from '../../src/moderation/finder.ts'
import { required } from '../../src/util/helpers.ts'
import { operationsOf } from '../contract/operations.ts'
import { type Call, newApp } from '../contract/valid-requests.ts'
import { startService } from '../support/service.ts'
import { sortOrders } from '../support/sort-orders.ts'

/** What the engines do for each statement of the operations. */

const { keys, categories, apps } = inject('world')
const past = '2020-01-01T00:00:00.000Z'
const isSqlite = inject('engine') === 'sqlite'

type Statement = {
  text: string
  values?: unknown[]
  /** PostgreSQL's connection, whose settings its plan depends on. */
  client?: pg.Client
}

/** The statements that the drivers get from now on. SQLite's have their values in them. */
function recordStatements(): Statement[] {
  const statements: Statement[] = []
  const record = (statement: Statement) => {
    if (/^\s*(select|insert|update|delete|with)\b/i.test(statement.text)) statements.push(statement)
  }
  const { Database } = sqlite3
  sqlite3.Database = new Proxy(Database, {
    construct: (target, args) =>
      Reflect.construct(target, args).on('trace', (text: string) => record({ text })),
  })
  onTestFinished(() => {
    sqlite3.Database = Database
  })
  const { query } = pg.Client.prototype
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const [statement] = args
    // A setting is a string.
    if (typeof statement !== 'string') record({ ...(statement as Statement), client: this })
    return Reflect.apply(query, this, args)
  })
  onTestFinished(() => spy.mockRestore())
  return statements
}

/**
 * Adds apps, few of them in one of the categories, with many reviews, many stored idempotency keys,
 * and moderators of whom one has done little and one much.
 */
async function fill({ database }: Awaited<ReturnType<typeof startService>>, size: number) {
  const row = {
    developer_id: 2,
    status: 'approved' as const,
    rejection_reason: null,
    created_at: past,
    updated_at: past,
    package_name: null,
    short_description: null,
    description: 'Long. '.repeat(250),
    version: '1',
  }
  const rows = Array.from({ length: size }, (_, index) => ({
    at: past,
    app: {
      ...row,
      name: `Many ${index}`,
      category_id: index % 200 === 0 ? categories.games : categories.tools,
      approved_at: new Date(Date.UTC(2020, 0, 1, 0, 0, (index * 7919) % size)).toISOString(),
      total_downloads: (index * 7907) % size,
      weighted_rating: (index * 7901) % size,
    },
  }))
  const upTo = (count: number) =>
    `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})`
  await database.write(async (runner) => {
    await changeApps(runner, 'app import', { inserts: rows }, { operator: 'test' })
    await runner.sql.raw(`${upTo(50)} insert into reviews (app_id, rating, created_at, reviewer_name, comment)
      select id, 5, '${past}', 'Fay', 'Fine.' from numbers cross join apps`)
    await runner.sql.raw(`${upTo(20_000)} insert into idempotency_keys (developer_id, key, body_hash, created_at)
      select 2, n, '', '2999-01-01T00:00:00.000Z' from numbers`)
    await addEntries(runner, 'Ann', 3)
    await addEntries(runner, 'Ben', size)
  })
  await database.optimize({ isLast: true })
}

/** Entries of a moderator about an app of Bob, a second apart. */
async function addEntries(runner: QueryRunner, name: string, count: number) {
  const { id } = await addModerator(runner, name, { operator: 'test' })
  const about = { app_id: apps.bobs, developer_id: 2, after: {} }
  const actor = { operator: 'test', operatorName: name, operatorId: id }
  const entries = Array.from({ length: count }, (_, second) => {
    const at = new Date(Date.UTC(2025, 0, 1, 0, 0, second)).toISOString()
    return { action: 'app update' as const, at, actor, ...about }
  })
  await recordEntries(runner, entries)
}

/** A step of PostgreSQL's plan that has been executed. */
type Step = Record<
  'Shared Hit Blocks' | 'Shared Read Blocks' | 'Actual Rows' | 'Actual Loops',
  number
> & {
  'Rows Removed by Filter'?: number
  Plans?: Step[]
}

/**
 * Pages of a statement, and rows of one of its steps: some for each of twenty apps, or for a
 * hundred reviews.
 */
const maxRead = 200

/** Of an index, to look up one of many values that a statement gets as a JSON array. */
const pagesPerValue = 4

const valuesOf = ({ text, values }: Statement): number =>
  text.includes('json_to_recordset') ? JSON.parse(String(values?.[0])).length : 0

const pagesRead = (step: Step) => step['Shared Hit Blocks'] + step['Shared Read Blocks']
function rowsRead(step: Step): number {
  const {
    'Actual Rows': found,
    'Rows Removed by Filter': removed = 0,
    'Actual Loops': loops,
  } = step
  return Math.max((found + removed) * loops, ...(step.Plans ?? []).map(rowsRead))
}

/** Whether SQLite's plan goes through a table that grows with the catalogue, or sorts its rows. */
function isWasteful(plan: string, { text }: Statement): boolean {
  const scans = plan.match(/\bSCAN (apps|reviews|developers|api_keys|audit)\b.*/g) ?? []
  // The list without a category walks the index of its order and stops after a page.
  const isWalk = (scan: string) =>
    scan.includes('USING INDEX apps_') && !text.includes('category_id =')
  return !scans.every(isWalk) || (text.startsWith('select') && / FOR (LAST .*)?ORDER BY/.test(plan))
}

const matchesPath = (template: string, path: string) =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, '\\d+')}$`).test(path)

test.for([300, 2000])('statements of %i apps read no rows in vain', async (size, { skip }) => {
  skip(
    inject('workers').length > 0,
    'a plan of Citus has those of its nodes inside, in its own format',
  )
  const statements = recordStatements()
  const service = await startService({ cacheSize: 0 })
  await fill(service, size)

  async function findProblem(statement: Statement): Promise<string | undefined> {
    if (isSqlite) {
      const explain = `explain query plan ${statement.text.replaceAll('?', '\\?')}`
      const steps: { detail: string }[] = await service.database.read(({ sql }) => sql.raw(explain))
      const plan = steps.map(({ detail }) => detail).join('\n')
      return isWasteful(plan, statement) ? plan : undefined
    }
    const client = required(statement.client, 'the connection')
    await client.query('begin')
    const { rows } = await client.query(
      `explain (analyze, buffers, costs off, timing off, summary off, format json) ${statement.text}`,
      statement.values,
    )
    await client.query('rollback')
    const plan: Step = rows[0]['QUERY PLAN'][0].Plan
    const limit = maxRead + pagesPerValue * valuesOf(statement)
    const isCheap = pagesRead(plan) <= limit && rowsRead(plan) <= limit
    return isCheap ? undefined : JSON.stringify(plan, null, 1)
  }

  const key = keys.ada
  const package_name = 'org.example.tideclock'
  const lists = ['', '&category=games'].flatMap((category) =>
    sortOrders.map((sort): Call => ['GET', `/apps?sort=${sort}${category}`]),
  )
  const calls: Call[] = [
    ...lists,
    ['GET', '/apps?search=tide'],
    ['GET', '/apps?search=many&category=games'],
    ['GET', '/apps?search=tidee'],
    ['GET', '/apps?slug=tide-clock&category=tools'],
    ['GET', '/apps?package_name=org.example.tideclock'],
    ['GET', '/categories'],
    ['GET', '/developer/apps', { key }],
    ['GET', '/developer/apps?status=rejected', { key }],
    ['GET', '/apps/1'],
    ['GET', '/apps/1', { key }],
    ['POST', '/apps', { key, json: newApp, headers: { 'Idempotency-Key': 'k' } }],
    ['POST', '/apps', { key, json: newApp, headers: { 'Idempotency-Key': 'k' } }],
    ['POST', '/apps', { key, json: { ...newApp, package_name } }],
    // Takes the name from a deleted app.
    ['PUT', `/apps/${apps.pending}`, { key, json: { package_name: 'org.example.gone' } }],
    [
      'PUT',
      '/apps/1',
      {
        key,
        json: { name: 'New', package_name: 'org.example.new', category_id: categories.games },
      },
    ],
    ['DELETE', '/apps/1', { key }],
  ]
  const uncalled = operationsOf(document).filter(
    ({ method, path }) =>
      !calls.some(
        ([called, target]) => called === method && matchesPath(path, target.split('?', 1).join()),
      ),
  )
  expect(uncalled.map(({ operationId }) => operationId)).toEqual([])
  // None of the apps is popular. First, since explaining writes blocks SQLite's readers.
  const findSimilar = () =>
    service.database.snapshot((runner) =>
      findLookAlikes(runner, [{ name: 'Nothing alike', developer_id: 1, status: 'pending' }]),
    )
  // An id, words of one name and of none, and developers with most of the apps, with the oldest and
  // with none. Of a word of most names, PostgreSQL reads all matches.
  const named = ['7', 'many 17', 'org.example.none', 'Bob', 'Ada', 'Nobody'].map(
    (text): [string, () => Promise<unknown>] => [
      `apps named ${text}`,
      () => service.database.read((runner) => findApps(runner, text, 20)),
    ],
  )
  const filters: EntryFilter[] = [
    {},
    { since: '2999-01-01T00:00:00.000Z' },
    { until: past },
    // Behind all entries of one time.
    { until: '2020-01-01T00:00:00.001Z' },
    { before: 3 },
    { developer: 'Ada' },
    { developer: 'Bob' },
    { developer: 'Bob', until: past },
    { developer: 'Ada', since: past, until: '2999-01-01T00:00:00.000Z' },
    { developer: 'Bob', since: '2999-01-01T00:00:00.000Z' },
    { moderator: 'Ann' },
    { moderator: 'Ben' },
    { moderator: 'Ben', since: '2999-01-01T00:00:00.000Z' },
    { moderator: 'Ben', until: '2025-01-01T00:00:01.000Z' },
    { moderator: 'Ben', before: 1_000_000 },
    { app: apps.approved },
    { app: apps.approved, since: past, until: '2999-01-01T00:00:00.000Z' },
    { app: apps.approved, before: 1_000_000 },
  ]
  const filtered = filters.map((filter): [string, () => Promise<unknown>] => [
    `entries ${JSON.stringify(filter)}`,
    () => findEntries(service.database.read, filter, 20, (entry) => entry),
  ])
  const after = (id: number): [string, () => Promise<unknown>] => [
    `entries after ${id}`,
    () => findEntriesAfter(service.database, id, 20),
  ]
  const works: [what: string, work: () => Promise<unknown>][] = [
    ['similar names', findSimilar],
    ...named,
    ...filtered,
    after(0),
    after(1_000_000),
    ...calls.map((call): [string, () => Promise<unknown>] => [
      `${call[0]} ${call[1]}`,
      () => service.request(...call),
    ]),
  ]
  const problems: string[] = []
  for (const [what, work] of works) {
    statements.length = 0
    await work()
    // SQLite's driver may report a statement after its result.
    await expect.poll(() => statements.length).toBeGreaterThan(0)
    for (const statement of statements.splice(0)) {
      const problem = await findProblem(statement)
      if (problem !== undefined) problems.push(`${what}: ${statement.text}\n${problem}`)
    }
  }
  expect(problems).toEqual([])
})
