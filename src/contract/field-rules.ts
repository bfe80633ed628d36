import document from '../../generated/openapi.json' with { type: 'json' }
import { Refusal } from './errors.ts'
import { textFault } from './validation.ts'

/**
 * What operators write, held to the rules that the document has for the same of callers: lengths as answers show it,
 * characters as requests may bring them. White space around it goes.
 */

const { App, AppSlug, CategoryName, CategorySlug, DeveloperName, Review, UnknownCategoryError } =
  document.components.schemas
const { NewAppDescription, NewAppName } = document.components.schemas

type Rule = { minLength: number; maxLength: number; pattern: string; 'x-pattern-message': string }

const charactersOf = ({ pattern, 'x-pattern-message': message }: Omit<Rule, 'minLength' | 'maxLength'>) => ({
  pattern,
  'x-pattern-message': message,
})
export const developerNameRule = { ...DeveloperName, ...charactersOf(NewAppName) }
export const categoryNameRule = { ...CategoryName, ...charactersOf(NewAppName) }
export const reviewerNameRule = { ...Review.properties.reviewer_name, ...charactersOf(NewAppName) }
/** What a rejected app's owner is told. */
export const reasonRule = { ...App.properties.rejection_reason, ...charactersOf(NewAppDescription) }

/** Throws a Refusal that says what the text should have been. */
export const developerNameFrom = (text: string) => textFrom(text, developerNameRule, 'a developer name')
export const categoryNameFrom = (text: string) => textFrom(text, categoryNameRule, 'a category name')
export const reasonFrom = (text: string) => textFrom(text, reasonRule, 'a reason')

/** No caller writes it; it is as long as the name beside it. */
export const keyNameFrom = (text: string) => textFrom(text, developerNameRule, 'the name of a key')

/** White space around it does not go: whoever writes it means each character. */
export function demandSlug(slug: string) {
  if (isBy(CategorySlug, slug)) return
  throw new Refusal(`the slug ${CategorySlug['x-pattern-message']}, not ${JSON.stringify(slug)}`)
}

export const longestAppSlug = AppSlug.maxLength

/** How many an answer has room for. */
export const mostCategories = UnknownCategoryError.properties.categories.maxItems

function textFrom(text: string, rule: Rule, what: string): string {
  const trimmed = text.trim()
  if (isBy(rule, trimmed)) return trimmed
  const { minLength, maxLength } = rule
  throw new Refusal(`${what} has ${minLength} to ${maxLength} characters, and ${rule['x-pattern-message']}`)
}

/** Lengths count code points, as JSON Schema does. */
function isBy({ minLength, maxLength, pattern }: Omit<Rule, 'x-pattern-message'>, text: string): boolean {
  const length = [...text].length
  const isMatch = new RegExp(pattern, 'u').test(text)
  return length >= minLength && length <= maxLength && isMatch && textFault(text) === undefined
}
