import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { maxMatches } from '../../src/search/best-matches.ts'
import { resolved, type Schema } from './operations.ts'
import { ownerTexts } from './owner-fields.ts'

/** Limits that the document states at several places. */

const { parameters, schemas } = document.components
const { properties: appFields = {} }: Schema = resolved(schemas.App, document)
const { current_page, per_page } = schemas.Pagination.properties

test.for<[what: string, limits: number[]]>([
  ...ownerTexts.map(([name, { maxLength = 0 }]): [string, number[]] => [
    `the length of a ${name}`,
    [maxLength, (appFields[name]?.items ?? appFields[name])?.maxLength ?? 0],
  ]),
  [
    'the length of a package name',
    [schemas.NewPackageName.maxLength, parameters.PackageNameFilter.schema.maxLength],
  ],
  ['the length of a slug', [schemas.AppSlug.maxLength, parameters.SlugFilter.schema.maxLength]],
  [
    "the length of a category's slug",
    [schemas.CategorySlug.maxLength, parameters.CategoryFilter.schema.maxLength],
  ],
  [
    'the apps of a page',
    [
      parameters.Limit.schema.maximum,
      per_page.maximum,
      schemas.AppList.properties.apps.maxItems,
      schemas.OwnAppList.properties.apps.maxItems,
    ],
  ],
  ['the number of a page', [parameters.Page.schema.maximum, current_page.maximum]],
  ['the first page', [parameters.Page.schema.minimum, current_page.minimum, 1]],
  ['the page without a parameter', [parameters.Page.schema.default, 1]],
  ['the apps of a search', [maxMatches, schemas.SearchInfo.properties.full_matches.maximum]],
  [
    'the length of a list of tags',
    [parameters.IfMatch.schema.maxLength, parameters.IfNoneMatch.schema.maxLength],
  ],
  [
    'the categories',
    [
      schemas.CategoryList.properties.categories.maxItems,
      schemas.UnknownCategoryError.properties.categories.maxItems,
    ],
  ],
  ['a rating', [schemas.Review.properties.rating.maximum, schemas.AverageRating.maximum, 5]],
])('%s has one limit', ([, limits]) => {
  expect(new Set(limits).size, String(limits)).toBe(1)
})
