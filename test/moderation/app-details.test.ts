import { expect, test } from 'vitest'
import { mergeUnreviewed } from '../../src/catalogue/policy.ts'
import { type AppRow, appDefaults } from '../../src/db/rows.ts'
import { ownerChanges } from '../../src/moderation/app-details.ts'

/** An app without changes since the last decision. */
const decided: AppRow = {
  ...appDefaults,
  id: 1,
  slug: 'tide-clock',
  name: 'Tide Clock',
  short_description: 'High and low water',
  description: 'It shows the tides.',
  version: '1.0.0',
  website_url: 'https://tides.example/',
  status: 'approved',
  developer_id: 1,
  category_id: 1,
  total_downloads: 0,
  created_at: '2020-01-01T00:00:00.000Z',
  updated_at: '2020-01-01T00:00:00.000Z',
  changed_at: '2020-01-01T00:00:00.000Z',
  package_key: null,
  revision: 'k3f9a',
}
const categorySlugs = new Map<unknown, string>([
  [1, 'tools'],
  [2, 'games'],
])

test.for<{
  what: string
  updates: Partial<AppRow>[]
  changes: { field: string; before: string | null; after: string | null }[]
}>([
  { what: 'none', updates: [], changes: [] },
  {
    what: 'a field',
    updates: [{ version: '2' }],
    changes: [{ field: 'version', before: '1.0.0', after: '2' }],
  },
  {
    what: 'several updates of a field, from the decided value to the last one',
    updates: [{ version: '2' }, { version: '3' }, { version: '4' }],
    changes: [{ field: 'version', before: '1.0.0', after: '4' }],
  },
  {
    what: 'updates of several fields, in the order of the columns',
    updates: [{ version: '2' }, { name: 'Ebb' }],
    changes: [
      { field: 'name', before: 'Tide Clock', after: 'Ebb' },
      { field: 'version', before: '1.0.0', after: '2' },
    ],
  },
  {
    what: 'a field that is set again to its value, besides another one',
    updates: [{ name: 'Tide Clock', version: '2' }],
    changes: [{ field: 'version', before: '1.0.0', after: '2' }],
  },
  { what: 'what was undone', updates: [{ name: 'Ebb' }, { name: 'Tide Clock' }], changes: [] },
  {
    what: 'a text that is removed, and one that is added',
    updates: [{ short_description: null, license: 'MIT' }],
    changes: [
      { field: 'short_description', before: 'High and low water', after: null },
      { field: 'license', before: null, after: 'MIT' },
    ],
  },
  {
    what: 'an address, as it was sent',
    updates: [{ website_url: 'https://bücher.example' }],
    changes: [
      { field: 'website_url', before: 'https://tides.example/', after: 'https://bücher.example' },
    ],
  },
  {
    what: 'the category, by its slug',
    updates: [{ category_id: 2 }],
    changes: [{ field: 'category', before: 'tools', after: 'games' }],
  },
])('the changes of an owner are: $what', ({ updates, changes }) => {
  let app = decided
  for (const update of updates)
    app = { ...app, ...update, unreviewed_changes: mergeUnreviewed(app, update) }
  expect(ownerChanges(app, categorySlugs)).toEqual(changes)
})

test('what others change, such as an import, is no change of the owner', () => {
  const update = { version: '2' }
  const unreviewed_changes = mergeUnreviewed(decided, update)
  const imported = { ...decided, ...update, unreviewed_changes, name: 'Tide Table' }
  expect(ownerChanges(imported, categorySlugs)).toEqual([
    { field: 'version', before: '1.0.0', after: '2' },
  ])
})
