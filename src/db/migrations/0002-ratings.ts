import type { Knex } from 'knex'

/**
 * Ratings that come without a review, the number of all, and the order by both. Sums are in hundredths. What an app's average
 * was made of is told by its reviews; one that had none counts as one rating.
 */
export async function up(sql: Knex) {
  const columns = ['other_rating_sum', 'other_rating_count', 'rating_sum', 'rating_count', 'weighted_rating']
  for (const column of columns) await sql.raw(`alter table apps add column ${column} bigint not null default 0`)

  const rated = `
    select reviews.app_id as id, 100 * sum(reviews.rating) as sum, count(*) as count, 0 as other_count
    from reviews group by reviews.app_id
    union all
    select apps.id, cast(round(100 * apps.average_rating) as bigint), 1, 1
    from apps where apps.average_rating > 0 and not exists (select 1 from reviews where reviews.app_id = apps.id)`
  // As catalogue/ratings.ts makes them. What is subtracted lets the quotient be whole, on an engine whose division is exact, too.
  const weighed = '(3500 + rated.sum) * 10000'
  const weighing = '(10 + rated.count)'
  await sql.raw(
    `update apps set
       other_rating_sum = rated.sum * rated.other_count,
       other_rating_count = rated.other_count,
       rating_sum = rated.sum,
       rating_count = rated.count,
       weighted_rating = cast((${weighed} - ${weighed} % ${weighing}) / ${weighing} as bigint)
     from (${rated}) as rated where rated.id = apps.id`,
  )

  const listed = `where status = 'approved' and deleted_at is null`
  const order = 'weighted_rating, rating_count, id'
  await sql.raw('drop index apps_rating')
  await sql.raw('drop index apps_category_rating')
  await sql.raw(`create index apps_rating on apps (${order}) ${listed}`)
  await sql.raw(`create index apps_category_rating on apps (category_id, ${order}) ${listed}`)
}
