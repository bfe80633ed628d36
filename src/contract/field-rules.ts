import document from '../../generated/openapi.json' with { type: 'json' }
import { OperatorError } from './errors.ts'
import { invalidTextReason } from './validation.ts'

/**
 * The document's rules, applied to texts that operators write: lengths as in responses, characters as in requests. Surrounding
 * white space is removed.
 */

const { App, AppSlug, CategoryName, CategorySlug, DeveloperName, Review, UnknownCategoryError } =
  document.components.schemas
const { NewAppDescription, NewAppName } = document.components.schemas

type TextRule = { minLength: number; maxLength: number; pattern: string; 'x-pattern-message': string }

const patternOf = ({ pattern, 'x-pattern-message': message }: Omit<TextRule, 'minLength' | 'maxLength'>) => ({
  pattern,
  'x-pattern-message': message,
})
export const developerNameRule = { ...DeveloperName, ...patternOf(NewAppName) }
export const categoryNameRule = { ...CategoryName, ...patternOf(NewAppName) }
export const reviewerNameRule = { ...Review.properties.reviewer_name, ...patternOf(NewAppName) }
/** The reason that the owner of a rejected app sees. */
export const reasonRule = { ...App.properties.rejection_reason, ...patternOf(NewAppDescription) }

/** Throws an OperatorError that says what the text should have been. */
export const parseDeveloperName = (text: string) => parseText(text, developerNameRule, 'a developer name')
export const parseCategoryName = (text: string) => parseText(text, categoryNameRule, 'a category name')
export const parseReason = (text: string) => parseText(text, reasonRule, 'a reason')

/** The document has no key names; they are shown beside developer names. */
export const parseKeyName = (text: string) => parseText(text, developerNameRule, 'the name of a key')

/** Surrounding white space is not removed from slugs. */
export function assertSlug(slug: string) {
  if (matchesRule(CategorySlug, slug)) return
  throw new OperatorError(`the slug ${CategorySlug['x-pattern-message']}, not ${JSON.stringify(slug)}`)
}

export const maxAppSlugLength = AppSlug.maxLength

/** How many a response may have. */
export const maxCategories = UnknownCategoryError.properties.categories.maxItems

function parseText(text: string, rule: TextRule, what: string): string {
  const trimmed = text.trim()
  if (matchesRule(rule, trimmed)) return trimmed
  const { minLength, maxLength } = rule
  throw new OperatorError(`${what} has ${minLength} to ${maxLength} characters, and ${rule['x-pattern-message']}`)
}

/** Lengths count code points, as JSON Schema does. */
function matchesRule({ minLength, maxLength, pattern }: Omit<TextRule, 'x-pattern-message'>, text: string): boolean {
  const length = [...text].length
  const isMatch = new RegExp(pattern, 'u').test(text)
  return length >= minLength && length <= maxLength && isMatch && invalidTextReason(text) === undefined
}
