import { expect, test } from 'vitest'
import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import type { AppState, Queue } from '../../src/catalogue/app-states.ts'
import { changeApps } from '../../src/catalogue/app-store.ts'
import { findLookAlikes } from '../../src/catalogue/look-alikes.ts'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import type { AppFilter } from '../../src/moderation/app-filter.ts'
import { listApps } from '../../src/moderation/finder.ts'
import { listQueue } from '../../src/moderation/queue.ts'
import { readCatalogueStatus } from '../../src/moderation/status.ts'
import { openWorld } from '../support/database.ts'

const past = '2020-01-01T00:00:00.000Z'
const actor = { operator: 'test' }

test.for<[state: AppState | undefined, filter: AppFilter, indexes: string[]]>([
  ['pending', {}, ['apps_queue', 'apps_queue']],
  ['rejected', {}, ['apps_rejected', 'apps_rejected']],
  ['deleted', {}, ['apps_deleted', 'apps_deleted']],
  ['pending', { category: 'tools' }, ['apps_queue', 'apps_queue']],
  ['rejected', { category: 'tools' }, ['apps_rejected', 'apps_rejected']],
  ['deleted', { developer: 'Ada' }, ['apps_developer', 'apps_developer']],
  [undefined, { category: 'tools' }, ['apps_category_id_index', 'apps_category_id_index']],
])(
  'the list of apps of %s, %j, reads no rows that an index can skip',
  async ([state, filter, indexes]) => {
    const database = await openWorld()
    const { plans } = await explainQueries(database, (runner) =>
      listApps(runner, state, filter, 10, 0),
    )
    expect(plans).toEqual(
      indexes.map((index) => expect.stringMatching(`USING (COVERING )?INDEX ${index}\\b`)),
    )
  },
)

test.for<[name: Queue, index: string, filter: AppFilter]>([
  ['pending', 'apps_queue', {}],
  ['changed', 'apps_changed', {}],
  ['pending', 'apps_queue', { category: 'tools' }],
  ['changed', 'apps_changed', { category: 'tools' }],
])(
  'late in a long queue of %s apps, a page comes from its index %s, of %j',
  async ([name, index, filter]) => {
    const database = await openWorld()
    await database.write(async (runner) => {
      const { id } = await findOrAddDeveloper(runner, 'Ada')
      const state =
        name === 'pending'
          ? { status: 'pending' as const, approved_at: null }
          : { status: 'approved' as const, approved_at: past }
      const texts = {
        short_description: null,
        description: 'D',
        version: '1',
        package_name: null,
        rejection_reason: null,
      }
      const row = {
        developer_id: id,
        category_id: 1,
        updated_at: past,
        total_downloads: 0,
        ...state,
        ...texts,
      }
      const app = (number: number) => ({
        app: {
          ...row,
          name: `Queued ${number}`,
          created_at: past,
          unreviewed_since: new Date(Date.UTC(2021, 0, 1, 0, 0, -number)).toISOString(),
        },
        at: past,
      })
      const inserts = Array.from({ length: 120 }, (_, number) => app(number))
      await changeApps(runner, 'app import', { inserts }, actor)
    })
    const { result: page, plans } = await explainQueries(database, (runner) =>
      listQueue(runner, name, filter, 50, 100),
    )
    // The others read names to compare.
    const ofQueue = plans.filter((plan) => !plan.startsWith('CO-ROUTINE named'))
    expect(ofQueue).toHaveLength(2)
    for (const plan of ofQueue) expect(plan).toContain(`USING INDEX ${index}`)
    const waitingBefore = name === 'pending' ? 2 : 0
    expect(page.total).toBe(120 + waitingBefore)
    expect(page.apps.at(-1)?.name).toBe('Queued 0')
    expect(page.apps).toHaveLength(20 + waitingBefore)
  },
)

test('the last import comes from its index, without sorting', async () => {
  const database = await openWorld()
  const { plans } = await explainQueries(database, (runner) => readCatalogueStatus(runner))
  expect(plans).toEqual([expect.stringMatching(/^SCAN audit USING INDEX audit_imports$/)])
})

test('names to compare come from their indexes, in their order', async () => {
  const database = await openWorld()
  const { plans } = await explainQueries(database, (runner) =>
    findLookAlikes(runner, [{ name: 'Tide Clocks', developer_id: 9, status: 'pending' }]),
  )
  expect(plans).toEqual([
    'CO-ROUTINE named; SEARCH apps USING INDEX apps_popular_names (total_downloads>?); SCAN named',
  ])
})

type Statement = { sql: string; bindings: (string | number)[] }

/**
 * The result of a read, and SQLite's plans of its statements that select apps, their names or audit
 * entries other than by id.
 */
async function explainQueries<T>(database: Database, work: (runner: QueryRunner) => Promise<T>) {
  const statements: Statement[] = []
  const record = (statement: Statement) => statements.push(statement)
  const result = await database.read(async (runner) => {
    runner.sql.on('query', record)
    return work(runner).finally(() => runner.sql.removeListener('query', record))
  })
  const plans = await database.read(({ sql }) =>
    Promise.all(
      statements
        .filter((statement) => /from `(apps|audit)` where|select string_agg/.test(statement.sql))
        .map(async (statement) => {
          const rows: { detail: string }[] = await sql.raw(
            `explain query plan ${statement.sql}`,
            statement.bindings,
          )
          return rows.map(({ detail }) => detail).join('; ')
        }),
    ),
  )
  return { result, plans }
}
