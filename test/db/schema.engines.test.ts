import { expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openWorld } from '../support/database.ts'
import { share } from '../support/lifetime.ts'

/** What the schema itself refuses, whatever the code does. */

let database: Database
share(async () => {
  database = await openWorld()
})

const insertApp =
  (columns: object) =>
  ({ sql }: QueryRunner) =>
    sql('apps').insert({
      developer_id: 1,
      category_id: 1,
      status: 'pending',
      created_at: '',
      updated_at: '',
      changed_at: '',
      slug: 'new',
      version: '1',
      name: 'N',
      description: 'D',
      total_downloads: 0,
      package_key: null,
      revision: '',
      ...columns,
    })
const insertReview =
  (columns: object) =>
  ({ sql }: QueryRunner) =>
    sql('reviews').insert({
      app_id: 1,
      rating: 5,
      created_at: '',
      reviewer_name: '',
      comment: '',
      ...columns,
    })
const run =
  (statement: string) =>
  ({ sql }: QueryRunner) =>
    sql.raw(statement)

const tide = { package_name: 'Org.Example.TideClock', package_key: 'org.example.tideclock' }

test.for<{ what: string; change: (runner: QueryRunner) => PromiseLike<unknown>; refusal: RegExp }>([
  { what: 'an unknown status', change: insertApp({ status: 'draft' }), refusal: /apps_status/ },
  {
    what: 'an approved app without a time of approval',
    change: insertApp({ status: 'approved' }),
    refusal: /apps_approved_at/,
  },
  {
    what: 'a rejected app without a reason',
    change: insertApp({ status: 'rejected' }),
    refusal: /apps_rejection_reason/,
  },
  {
    what: 'a pending app with a reason',
    change: insertApp({ rejection_reason: 'x' }),
    refusal: /apps_rejection_reason/,
  },
  {
    what: 'two apps with one slug',
    change: insertApp({ slug: 'tide-clock' }),
    refusal: /unique .*apps.slug/i,
  },
  {
    what: 'two apps with one package name',
    change: insertApp(tide),
    refusal: /unique .*apps.package_key/i,
  },
  {
    what: 'an app with an unknown category',
    change: insertApp({ category_id: 99 }),
    refusal: /foreign key/i,
  },
  {
    what: 'an app with an unknown developer',
    change: insertApp({ developer_id: 99 }),
    refusal: /foreign key/i,
  },
  { what: 'a rating of 0', change: insertReview({ rating: 0 }), refusal: /reviews_rating/ },
  { what: 'a rating of 6', change: insertReview({ rating: 6 }), refusal: /reviews_rating/ },
  {
    what: 'a review without an app',
    change: insertReview({ app_id: 99 }),
    refusal: /foreign key/i,
  },
  {
    what: 'deleting an app with reviews',
    change: run('delete from apps where id = 1'),
    refusal: /foreign key/i,
  },
  {
    what: 'deleting a category with apps',
    change: run('delete from categories where id = 1'),
    refusal: /foreign key/i,
  },
  {
    what: 'a negative total',
    change: run('update categories set listed_apps = -1'),
    refusal: /categories_listed_apps/,
  },
  {
    what: 'changing an audit row',
    change: run("update audit set action = 'x'"),
    refusal: /audit is append-only/,
  },
  {
    what: 'deleting an audit row',
    change: run('delete from audit'),
    refusal: /audit is append-only/,
  },
  {
    what: 'an audit row without an actor',
    change: run(
      "insert into audit (app_id, developer_id, at, action, after) values (1, 1, '', 'x', '{}')",
    ),
    refusal: /audit_actor/,
  },
])('the schema refuses $what', async ({ change, refusal }) => {
  await expect(database.write(async (runner) => change(runner))).rejects.toThrow(refusal)
})
