import { expect, test } from 'vitest'
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
