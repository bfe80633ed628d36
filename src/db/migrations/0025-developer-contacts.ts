import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { SchemaHelpers } from '../tools.ts'

/**
 * Creates the schema of version 3.1, whose last migration had this name, so databases of 3.1 have it
 * already. The text of the schema is the same on both ways, but for the indexes of searches, which
 * 0026 creates anew. Later migrations change it; db/rows.ts has the current columns. Times are
 * ISO 8601 text in UTC, set by the program.
 */
export async function up(sql: Knex, { makeAppendOnly }: SchemaHelpers): Promise<void> {
  // The default of rows that were older than `changed_at`; every insert sets it.
  const now = new Date().toISOString()

  // `changed_at` in this and later tables: when the row was last written in this database, so that
  // an export can select the changes since a time. `contact`: the e-mail address for decisions.
  await sql.schema.createTable('developers', (table) => {
    table.bigIncrements('id')
    table.text('name').notNullable().unique()
    table.text('created_at').notNullable()
    table.text('changed_at').notNullable().defaultTo(now)
    table.text('contact')
  })
  await sql.raw('create index developers_changed_at on developers (changed_at)')

  await sql.schema.createTable('api_keys', (table) => {
    // The public part of a key; `sha256` is the hash of the whole key.
    table.text('id').primary()
    table.bigInteger('developer_id').notNullable().references('developers.id').index()
    table.text('name')
    table.text('sha256').notNullable()
    table.text('created_at').notNullable()
    table.text('expires_at').notNullable()
    table.text('revoked_at')
    table.text('last_used_at')
  })

  await sql.schema.createTable('categories', (table) => {
    table.bigIncrements('id')
    table.text('slug').notNullable().unique()
    table.text('name').notNullable().unique()
    // The number of listed apps, which catalogue/app-store.ts updates with each change, so that no
    // request counts them.
    table.bigInteger('listed_apps').notNullable().defaultTo(0)
    table.text('changed_at').notNullable().defaultTo(now)
    // Identifies a category after a rename, together with its id.
    table.text('created_at').notNullable().defaultTo(now)
    table.check('listed_apps >= 0', [], 'categories_listed_apps')
  })

  // Long texts come late, so that reading numbers reads little.
  await sql.schema.createTable('apps', (table) => {
    table.bigIncrements('id')
    table.bigInteger('developer_id').notNullable().references('developers.id')
    table.bigInteger('category_id').notNullable().references('categories.id').index()
    table.text('status').notNullable()
    table.text('deleted_at')
    table.text('approved_at')
    // Since when the app has differed from what an operator last decided on; null if it does not
    // differ.
    table.text('unreviewed_since')
    table.text('created_at').notNullable()
    table.text('updated_at').notNullable()
    table.bigInteger('total_downloads').notNullable().defaultTo(0)
    table.double('average_rating').notNullable().defaultTo(0)
    table.bigInteger('review_count').notNullable().defaultTo(0)
    table.text('slug').notNullable().unique()
    table.text('package_name')
    // The package name in lower case: no two apps share one, whatever its case.
    table.text('package_key').unique()
    table.text('version').notNullable()
    table.text('name').notNullable()
    table.text('short_description')
    table.text('rejection_reason')
    table.text('description').notNullable()
    table.check(`status in ('pending', 'approved', 'rejected')`, [], 'apps_status')
    table.check(`status <> 'approved' or approved_at is not null`, [], 'apps_approved_at')
    table.check(
      `(status = 'rejected') = (rejection_reason is not null)`,
      [],
      'apps_rejection_reason',
    )
    table.check('(package_name is null) = (package_key is null)', [], 'apps_package_key')
    table.check('total_downloads >= 0 and review_count >= 0', [], 'apps_counts')
    table.check('average_rating = 0 or average_rating between 1 and 5', [], 'apps_average_rating')
    table.index(['developer_id', 'name'], 'apps_developer_name')
  })
  // Ratings without a review (`other_…`), and totals of all ratings. Sums are in hundredths. Not by
  // knex, which writes names and defaults differently from the schema of 3.1.
  for (const column of [
    'other_rating_sum',
    'other_rating_count',
    'rating_sum',
    'rating_count',
    'weighted_rating',
  ])
    await sql.raw(`alter table apps add column ${column} bigint not null default 0`)
  await sql.schema.alterTable('apps', (table) => {
    // JSON: the former values of the fields that the owner has changed since an operator's last
    // decision.
    table.text('unreviewed_changes')
    table.text('changed_at').notNullable().defaultTo(now)
    // catalogue/app-store.ts: apps older than the column have the default until their next change.
    table.text('revision').notNullable().defaultTo('first')
    table.text('website_url')
    table.text('source_code_url')
    table.text('license')
    // The time of the last decision. Of decisions before version 3.0, only the audit log has it.
    table.text('decided_at')
  })

  // One index for each sort order of the public list, with and without a category. All orders
  // descend, so the indexes are read backwards.
  const listed = `where status = 'approved' and deleted_at is null`
  const orders = {
    latest: 'approved_at, id',
    popular: 'total_downloads, id',
    rating: 'weighted_rating, rating_count, id',
  }
  for (const [sort, columns] of Object.entries(orders)) {
    await sql.raw(`create index apps_${sort} on apps (${columns}) ${listed}`)
    await sql.raw(`create index apps_category_${sort} on apps (category_id, ${columns}) ${listed}`)
  }
  // Apps that wait for an operator, the longest wait first: pending ones, and approved ones that
  // have changed.
  await sql.raw(
    `create index apps_queue on apps (coalesce(unreviewed_since, created_at), id, developer_id)
     where status = 'pending' and deleted_at is null`,
  )
  await sql.raw(
    `create index apps_changed on apps (coalesce(unreviewed_since, created_at), id) ${listed} and unreviewed_since is not null`,
  )
  await sql.raw(
    `create index apps_rejected on apps (id) where status = 'rejected' and deleted_at is null`,
  )
  await sql.raw('create index apps_deleted on apps (id) where deleted_at is not null')
  // The state of each app of a developer. The condition always holds. With it, SQLite uses the index
  // only for the apps of a developer, not to count those of a state.
  await sql.raw(
    `create index apps_developer on apps (developer_id, id, status, deleted_at)
     where developer_id is not null`,
  )
  // A developer's own apps, the last changed first, counted and found by status without reading the
  // rows. The comparison always holds. With it, only the query of catalogue/own-apps.ts uses the
  // index; SQLite would prefer it to the shorter indexes of operators' queues.
  await sql.raw(
    `create index apps_own on apps (developer_id, updated_at, id, status)
     where deleted_at is null and updated_at > ''`,
  )
  // The names with which similar names are compared, so that no rows are read.
  await sql.raw(
    `create index apps_popular_names on apps (total_downloads desc, id, developer_id, name)
     where status = 'approved' and deleted_at is null and total_downloads >= 10000`,
  )
  await sql.raw('create index apps_changed_at on apps (changed_at)')

  // The last number appended to a slug that several names share. The next app gets the next number
  // without a search for a free one.
  await sql.schema.createTable('slug_numbers', (table) => {
    table.text('slug').primary()
    table.bigInteger('last').notNullable()
  })

  await sql.schema.createTable('reviews', (table) => {
    table.bigIncrements('id')
    table.bigInteger('app_id').notNullable().references('apps.id')
    table.integer('rating').notNullable()
    table.text('created_at').notNullable()
    table.text('reviewer_name').notNullable()
    table.text('comment').notNullable()
    table.check('rating in (1, 2, 3, 4, 5)', [], 'reviews_rating')
    table.index(['app_id', 'created_at', 'id'], 'reviews_newest')
  })

  // Creates made with an `Idempotency-Key` (catalogue/idempotency.ts). `app_id` is null only in the
  // transaction that creates the app. `body_hash` begins with the version of its format.
  await sql.schema.createTable('idempotency_keys', (table) => {
    table.bigIncrements('id')
    table.bigInteger('developer_id').notNullable().references('developers.id')
    table.text('key').notNullable()
    table.text('body_hash').notNullable()
    table.bigInteger('app_id').references('apps.id')
    table.text('created_at').notNullable().index()
    table.unique(['developer_id', 'key'])
  })

  // Moderators, who sign in to the moderation page, and their sessions.
  await sql.schema.createTable('operators', (table) => {
    // The public part of the sign-in key; `sha256` is the hash of the whole key.
    table.text('id').primary()
    table.text('name').notNullable()
    table.text('sha256').notNullable()
    table.text('created_at').notNullable()
    table.text('expires_at').notNullable()
    table.text('revoked_at')
    table.text('last_used_at')
  })
  await sql.schema.createTable('operator_sessions', (table) => {
    table.text('sha256').primary()
    table.text('operator_id').notNullable().references('operators.id').index()
    table.text('last_used_at').notNullable().index()
    // The app that the session has opened from a queue, and when.
    table.bigInteger('opened_app_id')
    table.text('opened_at')
  })

  // The audit log: who did what, when, and to what (an app and its owner, a developer, or a
  // category; a moderator is in `after`). It keeps its entries when a developer, a key or a category
  // is removed, and so refers to rows that are gone. `before` and `after` are JSON.
  await sql.schema.createTable('audit', (table) => {
    table.bigIncrements('id')
    table.text('at').notNullable()
    table.text('action').notNullable()
    table.bigInteger('app_id').references('apps.id').index()
    table.bigInteger('developer_id')
    table.bigInteger('category_id').references('categories.id')
    // The actor is a developer's key or an operator's account.
    table.text('key_id')
    table.text('operator')
    table.text('before')
    table.text('after').notNullable()
    // The name that an operator gave with `OPERATOR`, and a moderator's sign-in key.
    table.text('operator_name')
    table.text('operator_id')
    table.check('(operator is null) <> (key_id is null)', [], 'audit_actor')
  })
  // Knex then copies the table on SQLite, which gives it the text that it has in 3.1.
  await sql.schema.alterTable('audit', (table) => table.dropForeign('category_id'))
  await makeAppendOnly(sql, 'audit')
  // Newest first: all entries, those of a developer, and those of a moderator, which have the
  // developers, so that entries of others are skipped without reading the rows.
  await sql.raw('create index audit_time on audit (at, id)')
  await sql.raw('create index audit_developer_time on audit (developer_id, at, id)')
  await sql.raw(
    `create index audit_operator_time on audit (operator_id, at, id, developer_id)
     where operator_id is not null`,
  )
  // The last import, and the last reasons of rejections.
  await sql.raw("create index audit_imports on audit (id) where action = 'app import'")
  await sql.raw(`create index audit_rejections on audit (id) where action = 'app reject'`)

  // The version of the public data (db/database.ts). The key lets PostgreSQL replicate the row
  // logically.
  await sql.schema.createTable('catalogue_version', (table) => {
    table.integer('id').primary()
    table.text('value').notNullable()
    table.check('id = 1', [], 'catalogue_version_id_check')
  })
  await sql('catalogue_version').insert({ id: 1, value: randomUUID() })
}
