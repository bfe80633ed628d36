import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ratingColumns, ratingsOf } from '../../src/catalogue/ratings.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { importLines } from '../support/catalogue-file.ts'
import { copyWorld } from '../support/database.ts'
import { seed } from '../support/random.ts'
import { addReviews } from '../support/reviews.ts'
import { startService } from '../support/service.ts'

test.for<[what: string, sum: number, count: number, average: number, weighted: number]>([
  ['no ratings', 0, 0, 0, 0],
  ['one of 5', 500, 1, 5, 3_636_363],
  ['one of 1', 100, 1, 1, 3_272_727],
  ['a hundred with the mean 4.6', 46_000, 100, 4.6, 4_500_000],
  ['a mean with three decimals', 86_900, 200, 4.35, 4_304_761],
  ['69 million with the mean 4.4', 440 * 69e6, 69e6, 4.4, 4_399_999],
  ['a trillion of 5', 500e12, 1e12, 5, 4_999_999],
])(
  '%s: the average that is shown, and the weighted one that sorts',
  ([, sum, count, average_rating, weighted_rating]) => {
    expect(ratingColumns({ sum, count })).toEqual({
      rating_sum: sum,
      rating_count: count,
      average_rating,
      weighted_rating,
    })
  },
)

const line = (name: string, rating: object) => ({
  name,
  description: 'Here.',
  category: 'empty',
  developer_name: 'Ada',
  status: 'approved',
  ...rating,
})
const review = (rating: number) => ({
  reviewer_name: 'Cy',
  rating,
  comment: '',
  created_at: '2026-01-01T00:00:00.000Z',
})

test('sorts one 5.0 below many good ratings, equal means by the number of ratings, and unrated apps last', async () => {
  const { database, get } = await startService()
  await importLines(database, [
    line('One of 5', { reviews: [review(5)] }),
    line('None', {}),
    line('A million of 4.4', { average_rating: 4.4, rating_count: 1_000_000 }),
    line('Ten of 3.5', { average_rating: 3.5, rating_count: 10 }),
    line('Twenty of 3.5', { average_rating: 3.5, rating_count: 20 }),
    line('One of 1', { reviews: [review(1)] }),
    line('Twenty of 4.5', {
      reviews: Array.from({ length: 20 }, (_, index) => review(4 + (index % 2))),
    }),
  ])
  const order = [
    'A million of 4.4',
    'Twenty of 4.5',
    'One of 5',
    'Twenty of 3.5',
    'Ten of 3.5',
    'One of 1',
    'None',
  ]
  for (const query of ['?sort=rating&category=empty', '?sort=rating&search=here&category=empty']) {
    const { apps } = (await get(`/apps${query}`)).body.data
    expect(apps.map(({ name }: { name: string }) => name)).toEqual(order)
  }
})

test('the detail has the numbers of ratings and of reviews', async () => {
  const { database, get } = await startService()
  const stars = line('Stars', {
    average_rating: 4.4,
    rating_count: 69_000_000,
    reviews: [review(5), review(2)],
  })
  await importLines(database, [stars])
  const [{ id }] = (await get('/apps?category=empty')).body.data.apps
  expect((await get(`/apps/${id}`)).body.data.app).toMatchObject({
    average_rating: 4.4,
    rating_count: 69_000_002,
    review_count: 2,
  })
})

test('each review counts at once, in addition to imported ratings', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }), {
        maxLength: 8,
      }),
      fc.option(
        fc.tuple(fc.integer({ min: 100, max: 500 }), fc.integer({ min: 1, max: 1_000_000 })),
      ),
      async (batches, other) => {
        const database = openDatabase(await copyWorld())
        const imported = other && { average_rating: other[0] / 100, rating_count: other[1] }
        await importLines(database, [line('Stars', { slug: 'stars', ...imported })])
        const stored = () =>
          database.read(({ sql }) => sql('apps').where({ slug: 'stars' }).first())
        const id = (await stored())?.id ?? 0
        const added: number[] = []
        for (const batch of batches) {
          added.push(...batch)
          await database.write((runner) =>
            addReviews(
              runner,
              batch.map((rating) => ({ ...review(rating), app_id: id })),
            ),
          )
          const own = ratingsOf(added.map((rating) => ({ rating })))
          const sum = own.sum + (other ? other[0] * other[1] : 0)
          expect(await stored()).toMatchObject({
            review_count: added.length,
            ...ratingColumns({ sum, count: added.length + (other?.[1] ?? 0) }),
          })
        }
        await database.close()
      },
    ),
    { numRuns: 10, seed },
  )
})
