import { describe, expect, test } from 'vitest'
import { noRatings, ratingColumns } from '../../src/apps/ratings.ts'
import type { Line } from '../../src/import/line.ts'
import {
  claims,
  conflicts,
  isSame,
  type KnownApp,
  lineChanges,
  matched,
  nameIdentity,
  newRow,
  packageIdentity,
  planOf,
  slugIdentity,
  withoutRepeats,
} from '../../src/import/plan.ts'

const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()

const line: Line = { name: 'Star Map', description: 'The sky.', category: 'tools', developer_name: 'Ada' }

const app: KnownApp = {
  id: 7,
  developer_id: 1,
  developer_name: 'Ada',
  category_id: 2,
  status: 'approved',
  deleted_at: null,
  approved_at: time(2),
  unreviewed_since: null,
  unreviewed_changes: null,
  created_at: time(1),
  updated_at: time(3),
  changed_at: time(3),
  total_downloads: 5,
  other_rating_sum: 0,
  other_rating_count: 0,
  ...ratingColumns(noRatings),
  review_count: 0,
  slug: 'star-map',
  package_name: 'org.example.stars',
  package_key: 'org.example.stars',
  version: '1.0.0',
  name: 'Star Map',
  short_description: null,
  rejection_reason: null,
  description: 'The sky.',
}
const strangers: KnownApp = { ...app, developer_id: 9, developer_name: 'Eve' }

const known = (...apps: KnownApp[]) =>
  new Map(
    apps.flatMap((one): [string, KnownApp[]][] => [
      [slugIdentity(one.slug), [one]],
      ...(one.package_name === null
        ? [[nameIdentity(one.developer_name, one.name), [one]] as [string, KnownApp[]]]
        : [[packageIdentity(one.package_name), [one]] as [string, KnownApp[]]]),
    ]),
  )
const match = (of: Line, ...apps: KnownApp[]) => matched(known(...apps), { number: 1, bytes: Buffer.of(), line: of })

describe('a line knows', () => {
  test.for<[what: string, line: Line, there: KnownApp[], ids: number[]]>([
    ['nothing where nothing is there', line, [], []],
    ['an app by its package name, whatever its case', { ...line, package_name: 'Org.Example.Stars' }, [app], [7]],
    ['an app by its slug', { ...line, slug: 'star-map' }, [app], [7]],
    ['no stranger’s app by its slug', { ...line, slug: 'star-map' }, [strangers], []],
    [
      'a stranger’s app by its id, slug and time',
      { ...line, id: 7, slug: 'star-map', created_at: time(1) },
      [strangers],
      [7],
    ],
    ['none by two of these', { ...line, id: 7, slug: 'star-map', created_at: time(2) }, [strangers], []],
    ['an app without a package name by its name', line, [{ ...app, package_name: null, package_key: null }], [7]],
    ['no app with a package name by its name', line, [app], []],
    [
      'the app of its package name before that of its slug',
      { ...line, slug: 'other', package_name: 'org.example.stars' },
      [app, { ...app, id: 8, slug: 'other', package_name: null, package_key: null }],
      [7],
    ],
  ])('%s', ([, of, there, ids]) => {
    expect(match(of, ...there).known.map(({ id }) => id)).toEqual(ids)
  })
})

test('two lines that claim the same app, by whatever, do not share a batch', () => {
  const shared = (one: Line, other: Line) => claims(one).some((claim) => claims(other).includes(claim))
  expect(shared(line, { ...line })).toBe(true)
  expect(shared(line, { ...line, developer_name: 'Bob', slug: 'star-map' })).toBe(true)
  expect(shared({ ...line, package_name: 'a.b.c' }, { ...line, name: 'Moon', package_name: 'A.B.C' })).toBe(true)
  expect(shared(line, { ...line, name: 'Moon' })).toBe(false)
})

test('of lines that know one app, the later ones wait', () => {
  const of = (number: number, one: Line) => ({ ...match(one, app), number })
  const [first, again] = withoutRepeats([
    of(1, { ...line, slug: 'star-map' }),
    of(2, { ...line, name: 'New' }),
    of(3, { ...line, package_name: 'org.example.stars' }),
  ])
  expect([first.map(({ number }) => number), again.map(({ number }) => number)]).toEqual([[1, 2], [3]])
})

describe('a line is refused', () => {
  test.for<[what: string, line: Line, there: KnownApp[], fields: string[]]>([
    ['with another slug for its app', { ...line, package_name: 'org.example.stars', slug: 'other' }, [app], ['/slug']],
    ['of an app that was deleted', { ...line, slug: 'star-map' }, [{ ...app, deleted_at: time(4) }], ['']],
    ['never where all agrees', { ...line, slug: 'star-map', package_name: 'org.example.stars' }, [app], []],
  ])('%s', ([, of, there, fields]) => {
    expect(conflicts(match(of, ...there)).map(({ field }) => field)).toEqual(fields)
  })

  test('in a category that is not there', () => {
    expect(planOf(match(line), new Map([['games', 3]]))).toMatchObject([{ field: '/category' }])
  })
})

/** What is to be done with a line where the category is there. */
function plan(of: Line, ...apps: KnownApp[]) {
  const made = planOf(match(of, ...apps), new Map([['tools', 2]]))
  if (Array.isArray(made)) throw new Error(JSON.stringify(made))
  return made
}

describe('a new row', () => {
  test('has defaults for what the line leaves out', () => {
    expect(newRow(plan(line), undefined, 1, time(9))).toMatchObject({
      ...{ status: 'pending', version: '1.0.0', total_downloads: 0, package_name: null, short_description: null },
      ...{ created_at: time(9), updated_at: time(9), approved_at: null, deleted_at: null },
    })
  })

  test('of an approved app was approved when it was created, unless the line says otherwise', () => {
    const approved: Line = { ...line, status: 'approved', created_at: time(1) }
    expect(newRow(plan(approved), undefined, 1, time(9)).approved_at).toBe(time(1))
    expect(newRow(plan({ ...approved, approved_at: time(5) }), undefined, 1, time(9)).approved_at).toBe(time(5))
  })
})

describe('what changes of an app', () => {
  const changes = (of: Partial<Line>) => {
    const made = plan({ ...line, slug: 'star-map', ...of }, app)
    return lineChanges(made, app, 1, time(9))
  }

  test('is what the line says otherwise', () => {
    expect(changes({ name: 'Sky', total_downloads: 6, short_description: 'Stars' })).toMatchObject({
      name: 'Sky',
      total_downloads: 6,
      short_description: 'Stars',
    })
  })

  test('is not what the line leaves out', () => {
    for (const column of ['version', 'package_name', 'total_downloads', 'status', 'created_at', 'deleted_at']) {
      expect(changes({})).not.toHaveProperty(column)
    }
  })

  test('is nothing that an operator has looked at, where the status stays', () => {
    expect(changes({ status: 'approved' })).not.toHaveProperty('unreviewed_since')
    expect(changes({ status: 'rejected', rejection_reason: 'No.' })).toMatchObject({ unreviewed_since: null })
  })
})

test('reviews are the same in whatever order, and not where one word differs', () => {
  const review = (comment: string, rating = 4) => ({ reviewer_name: 'Cy', rating, comment, created_at: time(1) })
  const row = (comment: string, id: number) => ({ ...review(comment), id, app_id: 7 })
  const rows = [row('A', 1), row('B', 2)]
  expect(isSame([review('B'), review('A')], rows)).toBe(true)
  expect(isSame([review('B'), review('C')], rows)).toBe(false)
  expect(isSame([review('B'), review('A', 5)], rows)).toBe(false)
  expect(isSame([review('A')], rows)).toBe(false)
})
