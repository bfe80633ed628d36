import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { optionalFields } from '../support/whole-app.ts'

/** Fields that a response may lack. All others are required. */
const optional: Record<string, string[]> = {
  SearchInfo: ['corrected', 'dropped'],
  AppList: ['search'],
  InvalidRequestError: ['errors'],
  PackageNameTakenError: ['app_id'],
  UnprocessableAppError: ['categories'],
  App: [...Object.keys(optionalFields), 'rejection_reason', 'approved_at'],
  AppSummary: ['icon_url'],
  OwnApp: ['rejection_reason', 'package_name', 'keywords', 'waiting_since', 'decided_at'],
}

type ObjectSchema = {
  description?: string
  properties?: object
  required?: string[]
  additionalProperties?: boolean
}

// Only those of requests refuse unknown fields.
test.for(
  Object.entries<ObjectSchema>(document.components.schemas).filter(
    ([, { properties, additionalProperties }]) => properties && additionalProperties === undefined,
  ),
)('%s has each field, unless it is optional', ([name, { properties = {}, required = [] }]) => {
  const others = Object.keys(properties).filter((field) => !required.includes(field))
  expect(others).toEqual(optional[name] ?? [])
})

/** Errors that any request can get, by the introduction. */
const common = [400, 401, 405, 406, 429, 500, 503]

test.for(
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      'responses' in operation
        ? [[`${method} ${path}`, Object.keys(operation.responses)] as const]
        : [],
    ),
  ),
)('%s has the errors that any request can get', ([, statuses]) => {
  expect(common.filter((status) => !statuses.includes(String(status)))).toEqual([])
})
