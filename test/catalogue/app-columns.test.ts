import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { addressColumns } from '../../src/catalogue/app-columns.ts'

test('moderators see the hosts of all addresses that owners set', () => {
  const { properties } = document.components.schemas.NewApp
  const addresses = Object.entries(properties).filter(
    ([, schema]) => '$ref' in schema && schema.$ref.endsWith('/NewWebAddress'),
  )
  expect(addresses.map(([name]) => name).toSorted()).toEqual(addressColumns.toSorted())
})
