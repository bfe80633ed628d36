import { expect, test } from 'vitest'
import { required } from '../../src/util/helpers.ts'
import { importLines } from '../support/catalogue-file.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { openWorld } from '../support/database.ts'

/** Lines for the same app are in different batches, each of which becomes a segment of the index. */
const lines = Array.from({ length: 7 }, (_, index) => ({
  name: 'Star Map',
  category: 'tools',
  developer_name: 'Ada',
  package_name: 'org.example.starmap',
  description: `Number ${index}.`,
}))

test('an import leaves few segments of the index, since a search looks into each', async () => {
  const database = await openWorld()
  expect(await importLines(database, lines)).toMatchObject({ created: 1, updated: 6 })
  const [found] = await database.read(({ rows }) =>
    rows<{ segments: number }>('select count(distinct segid) as segments from app_search_idx', []),
  )
  expect(required(found, 'the count').segments).toBeLessThanOrEqual(2)
})

test.for<[milliseconds: number, steps: string[]]>([
  [999, ['merge', 'merge', 'checkpoint']],
  [1000, ['merge', 'checkpoint', 'merge', 'checkpoint']],
])(
  'merging the index for %i ms pauses for other writers if that is a second',
  async ([milliseconds, steps]) => {
    const advance = freezeMonotonicClock()
    const database = await openWorld()
    const seen: string[] = []
    database.onStatement((statement) => {
      if (statement.includes(`'merge'`)) {
        seen.push('merge')
        advance(milliseconds)
      } else if (statement.includes('checkpoint')) seen.push('checkpoint')
    })
    await database.optimize({ isLast: true })
    expect(seen).toEqual(steps)
  },
)
