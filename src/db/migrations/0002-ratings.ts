import type { Knex } from 'knex'

/**
 * Adds ratings without a review (`other_…`) and totals of all ratings, and sorts by these. Sums are
 * in hundredths.
 */
export async function up(sql: Knex): Promise<void> {
  const columns = [
    'other_rating_sum',
    'other_rating_count',
    'rating_sum',
    'rating_count',
    'weighted_rating',
  ]
  for (const column of columns)
    await sql.raw(`alter table apps add column ${column} bigint not null default 0`)

  const listed = `where status = 'approved' and deleted_at is null`
  const order = 'weighted_rating, rating_count, id'
  await sql.raw('drop index apps_rating')
  await sql.raw('drop index apps_category_rating')
  await sql.raw(`create index apps_rating on apps (${order}) ${listed}`)
  await sql.raw(`create index apps_category_rating on apps (category_id, ${order}) ${listed}`)
}
