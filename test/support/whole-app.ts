import type { OwnerColumn } from '../../src/catalogue/app-columns.ts'
import { storedKeywords } from '../../src/catalogue/keywords.ts'
import type { NewApp } from '../../src/contract/contract.ts'
import type { appDefaults } from '../../src/db/rows.ts'

/** An app with each field that owners set, so that a new one is added to the tests here. */

type OptionalField = OwnerColumn & keyof typeof appDefaults

/** The fields that an owner may leave out. */
export const optionalFields = {
  short_description: 'High and low water',
  package_name: 'org.example.tideclock',
  website_url: 'https://tideclock.example.org/',
  source_code_url: 'https://code.example.org/tide-clock',
  icon_url: 'https://tideclock.example.org/icon.png',
  license: 'MIT',
  keywords: ['tides', 'harbour'],
} satisfies Required<Pick<NewApp, OptionalField>>

/** Without its category. */
export const wholeApp = {
  name: 'Tide Clock',
  description: 'Tide Clock is here.',
  version: '1.0.0',
  ...optionalFields,
}

/** The columns of it. */
export const wholeRow = { ...wholeApp, keywords: storedKeywords(wholeApp.keywords) }

/** An object with each of these fields. */
export const mapOptional = <Value>(value: (field: OptionalField) => Value) =>
  Object.fromEntries(
    (Object.keys(optionalFields) as OptionalField[]).map((field) => [field, value(field)]),
  ) as Record<OptionalField, Value>

/** Other values, which are valid, too. */
export const otherFields = mapOptional((field) => {
  const value = optionalFields[field]
  return typeof value === 'string' ? `${value}-x` : value.toReversed()
})

/** As requests send a field that is removed. */
export const emptyFields = mapOptional((field) =>
  typeof optionalFields[field] === 'string' ? '' : [],
)

/** As exports and commands print a field that an app has not. */
export const noFields = mapOptional(() => null)
