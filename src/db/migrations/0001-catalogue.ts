import type { Knex } from 'knex'
import type { SchemaHelpers } from '../engine.ts'

/**
 * Creates all tables of the first version: developers, their keys, categories, apps, reviews and
 * the audit log. Later migrations change them; db/rows.ts has the current columns. Times are ISO
 * 8601 text in UTC, set by the program. Long texts come last in a table, so that reading numbers
 * reads little.
 */
export async function up(sql: Knex, { makeAppendOnly }: SchemaHelpers): Promise<void> {
  await sql.schema.createTable('developers', (table) => {
    table.bigIncrements('id')
    table.text('name').notNullable().unique()
    table.text('created_at').notNullable()
  })

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
    table.check('listed_apps >= 0', [], 'categories_listed_apps')
  })

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

  // One index for each sort order of the public list, with and without a category. All orders
  // descend, so the indexes are read backwards.
  const orders = {
    latest: 'approved_at, id',
    popular: 'total_downloads, id',
    rating: 'average_rating, review_count, id',
  }
  const listed = `where status = 'approved' and deleted_at is null`
  for (const [sort, columns] of Object.entries(orders)) {
    await sql.raw(`create index apps_${sort} on apps (${columns}) ${listed}`)
    await sql.raw(`create index apps_category_${sort} on apps (category_id, ${columns}) ${listed}`)
  }
  // Apps that wait for an operator, the longest wait first: pending ones, and approved ones that
  // have changed.
  const waiting = 'coalesce(unreviewed_since, created_at), id'
  await sql.raw(
    `create index apps_queue on apps (${waiting}) where status = 'pending' and deleted_at is null`,
  )
  await sql.raw(
    `create index apps_changed on apps (${waiting}) ${listed} and unreviewed_since is not null`,
  )

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

  // The audit log: who did what, when, and to what (an app and its owner, a developer, or a
  // category). The actor is an operator's account or a developer's key. `before` and `after` are
  // JSON.
  await sql.schema.createTable('audit', (table) => {
    table.bigIncrements('id')
    table.text('at').notNullable().index()
    table.text('action').notNullable()
    table.bigInteger('app_id').references('apps.id').index()
    table.bigInteger('developer_id').references('developers.id').index()
    table.bigInteger('category_id').references('categories.id')
    table.text('key_id').references('api_keys.id')
    table.text('operator')
    table.text('before')
    table.text('after').notNullable()
    table.check('(operator is null) <> (key_id is null)', [], 'audit_actor')
    table.check('developer_id is not null or category_id is not null', [], 'audit_subject')
  })
  await makeAppendOnly(sql, 'audit')
}
