import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { addressColumns, appColumns, ownerColumns } from '../../src/catalogue/app-columns.ts'
import { ownerTexts } from '../contract/owner-fields.ts'

test('moderators see the hosts of all addresses that owners set', () => {
  const addresses = ownerTexts.filter(([, schema]) => schema['x-characters'] === 'address')
  expect(addresses.map(([name]) => name).toSorted()).toEqual(addressColumns.toSorted())
})

const { App, AppChanges } = document.components.schemas
const columns = Object.entries(appColumns).map(([column, { label, uses }]) => ({
  column,
  label,
  uses: new Set<string>(uses),
}))

test('owners change the columns that the document says', () => {
  expect(ownerColumns.toSorted()).toEqual(Object.keys(AppChanges.properties).toSorted())
})

test.for(columns.filter(({ uses }) => uses.has('owner')))(
  'the $column of owners has a label, and is audited, public and in files',
  ({ column, label, uses }) => {
    expect(label).not.toBeNull()
    expect(uses.isSupersetOf(new Set(['audited', 'public']))).toBe(true)
    // Files have the category by its slug and name.
    expect(uses.has('imported')).toBe(column !== 'category_id')
  },
)

test('only columns of owners are in lists of moderators, or addresses', () => {
  const shown = columns.filter(({ uses }) => uses.has('queue') || uses.has('address'))
  expect(ownerColumns).toEqual(expect.arrayContaining(shown.map(({ column }) => column)))
})

test('everybody sees the fields of an app that the document has, except why it was rejected', () => {
  const isColumn = (field: string) => field in appColumns
  const fields = Object.keys(App.properties).filter(isColumn)
  const isPublic = columns.filter(({ uses }) => uses.has('public'))
  expect(isPublic.map(({ column }) => column).toSorted()).toEqual(
    // Its export as null brings back an app that was hidden before.
    [...fields.filter((field) => field !== 'rejection_reason'), 'deleted_at'].toSorted(),
  )
})
