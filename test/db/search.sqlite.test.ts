import { expect, test } from 'vitest'
import { withTemporaryCopy } from '../../src/db/copy-database.ts'
import type { Database } from '../../src/db/database.ts'
import { toSearchDocument } from '../../src/search/terms.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { openWorld } from '../support/database.ts'

test.for([1, 2, 3, 8])(
  'after %i transactions, searches look into one segment of the index',
  async (transactions) => {
    const database = await openWorld()
    await database.optimize({ isLast: true })
    for (let app = 0; app < transactions; app++) {
      const document = toSearchDocument({ name: `Star Map ${app}` }, 'Ada')
      await database.write(({ search }) =>
        search.index([{ id: 1000 + app, slug: `star-map-${app}`, categoryId: 1, ...document }]),
      )
    }
    await database.optimize({ isLast: true })
    const segments = await database.read(({ rows }) =>
      rows('select distinct segid from app_search_idx', []),
    )
    expect(segments).toHaveLength(1)
  },
)

/** Records the merges and checkpoints of the database's statements. */
function recordSteps(database: Database, afterMerge = () => {}): string[] {
  const steps: string[] = []
  database.onStatement((statement) => {
    if (statement.includes(`'merge'`)) {
      steps.push('merge')
      afterMerge()
    } else if (statement.includes('checkpoint')) steps.push('checkpoint')
  })
  return steps
}

test.for<[milliseconds: number, steps: string[]]>([
  [999, ['merge', 'merge', 'checkpoint']],
  [1000, ['merge', 'checkpoint', 'merge', 'checkpoint']],
])(
  'merging the index for %i ms pauses for other writers if that is a second',
  async ([milliseconds, expected]) => {
    const advance = freezeMonotonicClock()
    const database = await openWorld()
    const steps = recordSteps(database, () => advance(milliseconds))
    await database.optimize({ isLast: true })
    expect(steps).toEqual(expected)
  },
)

test('the index of a temporary copy, which nobody searches, is not merged', async () => {
  const database = await openWorld()
  const steps = await withTemporaryCopy(database, async (copy) => {
    const seen = recordSteps(copy)
    await copy.optimize({ isLast: true })
    return seen
  })
  expect(steps).toEqual(['checkpoint'])
})
