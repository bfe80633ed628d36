import { expect, test } from 'vitest'
import { addressColumns } from '../../src/catalogue/app-columns.ts'
import { ownerTexts } from '../contract/owner-fields.ts'

test('moderators see the hosts of all addresses that owners set', () => {
  const addresses = ownerTexts.filter(([, schema]) => schema['x-characters'] === 'address')
  expect(addresses.map(([name]) => name).toSorted()).toEqual(addressColumns.toSorted())
})
