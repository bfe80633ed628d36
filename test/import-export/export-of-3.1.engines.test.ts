import { expect, test } from 'vitest'
import { counts, exportLines, importLines, mirrorLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue } from '../support/database.ts'

/** Lines that 3.1 exported. Mirrors and files of it can be imported, without a problem. */

const category = { id: 3, slug: 'tools', name: 'Tools' }
const app = {
  id: 7,
  name: 'Tide Clock',
  short_description: 'High and low water',
  description: 'High and low water for 4,000 harbours.',
  version: '2.4.1',
  package_name: 'org.example.tideclock',
  website_url: 'https://tideclock.example.org/',
  source_code_url: 'https://code.example.org/tide-clock',
  license: 'MIT',
  slug: 'tide-clock',
  category,
  developer_name: 'Ada Lovelace',
  status: 'approved',
  rejection_reason: null,
  total_downloads: 5482,
  average_rating: 4.2,
  rating_count: 310,
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-03-04T09:12:45.001Z',
  approved_at: '2026-01-03T00:00:00.000Z',
  deleted_at: null,
  reviews: [
    {
      id: 9,
      reviewer_name: 'Cy',
      rating: 4,
      comment: 'Fine.',
      created_at: '2025-12-31T00:00:00.000Z',
    },
  ],
}
const nulls = {
  ...app,
  ...{ id: 8, name: 'Plain', slug: 'plain', package_name: null, short_description: null },
  ...{ website_url: null, source_code_url: null, license: null, approved_at: null, reviews: [] },
  ...{ average_rating: null, rating_count: null, status: 'pending', total_downloads: 0 },
}
const rejected = {
  ...nulls,
  ...{ id: 9, name: 'Refused', slug: 'refused', status: 'rejected', rejection_reason: 'No.' },
}
const deleted = { ...nulls, id: 10, slug: 'gone', name: 'Gone', deleted_at: app.updated_at }
const whole = [
  { category: { ...category, created_at: '2026-01-01T00:00:00.000Z' } },
  ...[app, nulls, rejected, deleted],
]

test('an export of 3.1 is imported whole, and what it exports since then', async () => {
  const database = await openEmptyCatalogue()
  for (const expected of [{ created: 5 }, { unchanged: 5 }])
    expect(await importLines(database, whole)).toMatchObject({
      ...counts(expected),
      ...{ rejects: [], left: [] },
    })
  const exported = (await exportLines(database)).map((line) => JSON.parse(line))
  for (const [index, line] of whole.entries()) expect(exported[index]).toMatchObject(line)
  const later = { ...app, version: '3.0', updated_at: '2026-04-01T00:00:00.000Z' }
  expect(await importLines(database, [later])).toMatchObject(counts({ updated: 1 }))
  const removed = { removed: { id: 7, created_at: app.created_at } }
  expect(await importLines(database, [removed])).toMatchObject(counts({ updated: 1 }))
  await expectConsistent(database)
})

test('a whole public export of 3.1 is imported into a mirror', async () => {
  const database = await openEmptyCatalogue()
  const { rejection_reason: _, ...listed } = app
  const other = { ...listed, id: 8, slug: 'other', package_name: null, reviews: [] }
  await importLines(database, [whole[0] ?? {}, listed, other])
  expect(await mirrorLines(database, [whole[0] ?? {}, listed])).toMatchObject({
    ...counts({ unchanged: 2 }),
    ...{ hidden: 1, rejects: [], left: [] },
  })
})
