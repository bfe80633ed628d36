import { describe, expect, test } from 'vitest'
import { type ExistingCategory, planCategories } from '../../src/transfer/category-plan.ts'
import type { LineCategory } from '../../src/transfer/line.ts'

const tools = { id: 1, slug: 'tools', name: 'Tools', created_at: '2026-01-01T00:00:00.000Z' }
const games = { id: 2, slug: 'games', name: 'Games', created_at: '2026-01-02T00:00:00.000Z' }
const there: ExistingCategory[] = [tools, games]
const sky = { id: 3, slug: 'sky', name: 'Sky', created_at: '2026-01-03T00:00:00.000Z' }
const elsewhere = '2025-01-01T00:00:00.000Z'

/** The action for each line, with the slug of the existing category. */
const actions = (lines: LineCategory[], here = there) =>
  planCategories(here, lines).map(({ action, existing }) =>
    action === 'rename' || action === 'keep' ? `${action} ${existing?.slug}` : action,
  )

describe('a category in a file', () => {
  test.for<[what: string, lines: LineCategory[], actions: string[]]>([
    ['that does not exist is added', [sky], ['add']],
    ['with an existing id and creation time is kept', [tools, games], ['keep tools', 'keep games']],
    ['with another name is renamed', [{ ...tools, name: 'Gear' }], ['rename tools']],
    ['with another slug is renamed', [{ ...tools, slug: 'gear' }], ['rename tools']],
    [
      'with another id or creation time is found by its slug, and keeps its name',
      [
        { ...tools, created_at: elsewhere, name: 'Gear' },
        { ...games, id: 9, name: 'Play' },
      ],
      ['keep tools', 'keep games'],
    ],
    [
      'is not found by its slug if another line identifies the existing one by id and creation time',
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
      'may take the names that another gives up',
      [
        { ...sky, slug: 'odd', name: 'Games' },
        { ...games, name: 'Play' },
      ],
      ['add', 'rename games'],
    ],
    ['is refused a name that another keeps', [{ ...sky, name: 'Tools' }, games], ['refuse', 'keep games']],
    [
      'is refused a name that another keeps although its line has a new one',
      [
        { ...tools, created_at: elsewhere, name: 'Gear' },
        { ...sky, name: 'Tools' },
      ],
      ['keep tools', 'refuse'],
    ],
    ['is refused a slug that another keeps', [tools, { ...games, slug: 'tools' }], ['keep tools', 'refuse']],
    ['is refused if an existing one takes its name', [sky, { ...tools, name: 'Sky' }], ['refuse', 'rename tools']],
    [
      'is refused if a later new one has the same name',
      [sky, { ...sky, id: 4, slug: 'air' }, { ...sky, id: 5, slug: 'sea', name: 'Sea' }],
      ['refuse', 'add', 'add'],
    ],
    [
      'is refused a name that would have been free, had the other not been refused',
      [
        { ...sky, slug: 'odd', name: 'Games' },
        { ...games, name: 'Tools' },
      ],
      ['refuse', 'refuse'],
    ],
  ])('%s', ([, lines, expected]) => {
    expect(actions(lines)).toEqual(expected)
  })

  test('is added to an empty database', () => {
    expect(actions([tools, games], [])).toEqual(['add', 'add'])
  })
})
