import { describe, expect, test } from 'vitest'
import { type ExistingCategory, planCategories } from '../../src/transfer/category-plan.ts'
import type { LineCategory } from '../../src/transfer/line.ts'

const tools = { id: 1, slug: 'tools', name: 'Tools', created_at: '2026-01-01T00:00:00.000Z' }
const games = { id: 2, slug: 'games', name: 'Games', created_at: '2026-01-02T00:00:00.000Z' }
const there: ExistingCategory[] = [tools, games]
const sky = { id: 3, slug: 'sky', name: 'Sky', created_at: '2026-01-03T00:00:00.000Z' }
const elsewhere = '2025-01-01T00:00:00.000Z'

/** What each line does: add a category, rename or keep one, or nothing because its names are taken. */
const deeds = (lines: LineCategory[], here = there) =>
  planCategories(here, lines).map(({ action, existing }) =>
    action === 'rename' || action === 'keep' ? `${action} ${existing?.slug}` : action,
  )

describe('a category of a file', () => {
  test.for<[what: string, lines: LineCategory[], deeds: string[]]>([
    ['that is not here is added', [sky], ['add']],
    ['that is here, by id and time, is left as it is', [tools, games], ['keep tools', 'keep games']],
    ['with another name is renamed', [{ ...tools, name: 'Gear' }], ['rename tools']],
    ['with another slug is renamed', [{ ...tools, slug: 'gear' }], ['rename tools']],
    [
      'that is another by its time, or by its id, is known by its slug, and keeps its name',
      [
        { ...tools, created_at: elsewhere, name: 'Gear' },
        { ...games, id: 9, name: 'Play' },
      ],
      ['keep tools', 'keep games'],
    ],
    [
      'that another line knows better is not known by its slug',
      [
        { ...tools, slug: 'gear', name: 'Gear' },
        { ...sky, slug: 'tools' },
      ],
      ['rename tools', 'add'],
    ],
    [
      'may exchange its slug and name with another',
      [
        { ...tools, slug: 'games', name: 'Games' },
        { ...games, slug: 'tools', name: 'Tools' },
      ],
      ['rename tools', 'rename games'],
    ],
    [
      'may take what another gives up',
      [
        { ...sky, slug: 'odd', name: 'Games' },
        { ...games, name: 'Play' },
      ],
      ['add', 'rename games'],
    ],
    ['is refused a name that another keeps', [{ ...sky, name: 'Tools' }, games], ['refuse', 'keep games']],
    [
      'is refused a name that another keeps, whatever a line calls that',
      [
        { ...tools, created_at: elsewhere, name: 'Gear' },
        { ...sky, name: 'Tools' },
      ],
      ['keep tools', 'refuse'],
    ],
    ['is refused a slug that another keeps', [tools, { ...games, slug: 'tools' }], ['keep tools', 'refuse']],
    [
      'is refused a rename to what a new one has, whichever comes first',
      [sky, { ...tools, name: 'Sky' }],
      ['refuse', 'rename tools'],
    ],
    [
      'is refused where two new ones have the same name, but for the last',
      [sky, { ...sky, id: 4, slug: 'air' }, { ...sky, id: 5, slug: 'sea', name: 'Sea' }],
      ['refuse', 'add', 'add'],
    ],
    [
      'is refused what was to be free, where the one that has it is refused its own new name',
      [
        { ...sky, slug: 'odd', name: 'Games' },
        { ...games, name: 'Tools' },
      ],
      ['refuse', 'refuse'],
    ],
  ])('%s', ([, lines, expected]) => {
    expect(deeds(lines)).toEqual(expected)
  })

  test('is added where there is none', () => {
    expect(deeds([tools, games], [])).toEqual(['add', 'add'])
  })
})
