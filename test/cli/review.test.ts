import { expect, test } from 'vitest'
import { expectConsistent } from '../support/consistency.ts'
import { commandLine } from '../support/process.ts'
import { startService } from '../support/service.ts'

test('a removed review and its rating are gone at once, and in the audit log', async () => {
  const service = await startService()
  const { approved } = service.world.apps
  const read = async () => (await service.get(`/apps/${approved}`)).body.data.app
  const { reviews } = await read()
  const [first, ...others] = reviews
  const cli = commandLine(service.databaseUrl)
  const reason = 'It names a private person.'
  expect(await cli.run('review', 'remove', String(first.id), '--reason', reason)).toEqual({
    code: 0,
    stdout: `Removed review ${first.id} of app ${approved}.\n`,
    stderr: '',
  })
  const ratings = others.map(({ rating }: { rating: number }) => rating)
  const average_rating = ratings.reduce((sum: number, rating: number) => sum + rating) / 2
  expect(await read()).toMatchObject({
    reviews: others,
    review_count: 2,
    rating_count: 2,
    average_rating,
  })
  expect((await cli.json('audit', '--app', String(approved))).at(-1)).toMatchObject({
    action: 'review remove',
    before: first,
    after: { reason },
  })
  await expectConsistent(service.database)
  expect(await cli.run('review', 'remove', String(first.id), '--reason', reason)).toEqual({
    code: 1,
    stdout: '',
    stderr: `apps-service: there is no review ${first.id}\n`,
  })
})

test('reviews are listed with their ids, newest first', async () => {
  const service = await startService()
  const { approved, bobs } = service.world.apps
  const cli = commandLine(service.databaseUrl)
  const { body } = await service.get(`/apps/${approved}`)
  const [first, second, third] = body.data.app.reviews
  const listed = await cli.run('review', 'list', '--app', String(approved))
  expect(listed).toEqual({
    code: 0,
    stdout: `ID  RATING  REVIEWER  WHEN (UTC)
${first.id}   5       Di        2026-02-01 00:00
${second.id}   5       Ed        2026-01-15 00:00
    Right.
${third.id}   4       Cy        2026-01-01 00:00
    Fine.
`,
    stderr: 'Page 1 of 1, 3 in all.\n',
  })
  const { reviews } = await cli.json(
    'review',
    'list',
    '--app',
    String(approved),
    '--limit',
    '2',
    '--page',
    '2',
  )
  expect(reviews).toEqual([third])
  expect((await cli.run('review', 'list', '--app', String(bobs))).stderr).toBe('No reviews.\n')
  expect(await cli.run('review', 'list', '--app', '99')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/ 99\n$/),
  })
})
