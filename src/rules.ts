import document from '../generated/openapi.json' with { type: 'json' }
import { Refusal } from './errors.ts'

/** What operators write, held to the rules that the document has for the same of callers. White space around it goes. */

const { App, AppSlug, CategoryName, CategorySlug, DeveloperName, UnknownCategoryError } = document.components.schemas

type Rule = { minLength: number; maxLength: number; pattern: string }

/** Throws a Refusal that begins with what the text should have been. */
export const developerNameFrom = (text: string) => lineFrom(text, DeveloperName, 'a developer name')
export const categoryNameFrom = (text: string) => lineFrom(text, CategoryName, 'a category name')

/** No caller writes it; it is as long as the name beside it. */
export const keyNameFrom = (text: string) => lineFrom(text, DeveloperName, 'the name of a key')

const lineFrom = (text: string, rule: Rule, what: string) =>
  textFrom(text, rule, `${what} is ${lengthsOf(rule)} characters on one line`)

/** What a rejected app's owner is told. */
export function reasonFrom(text: string): string {
  const rule = App.properties.rejection_reason
  return textFrom(
    text,
    rule,
    `a reason is ${lengthsOf(rule)} characters, without control characters but line breaks and tabs`,
  )
}

/** White space around it does not go: whoever writes it means each character. */
export function demandSlug(slug: string) {
  if (isBy(CategorySlug, slug)) return
  throw new Refusal(`the slug ${CategorySlug['x-pattern-message']}, not ${JSON.stringify(slug)}`)
}

export const longestAppSlug = AppSlug.maxLength

/** How many an answer has room for. */
export const mostCategories = UnknownCategoryError.properties.categories.maxItems

function textFrom(text: string, rule: Rule, refusal: string): string {
  const trimmed = text.trim()
  if (isBy(rule, trimmed)) return trimmed
  throw new Refusal(refusal)
}

/** Lengths count code points, as JSON Schema does; lone surrogates are the rule that no pattern can tell. */
function isBy({ minLength, maxLength, pattern }: Rule, text: string): boolean {
  const length = [...text].length
  return length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(text) && text.isWellFormed()
}

const lengthsOf = ({ minLength, maxLength }: Rule) => `${minLength} to ${maxLength}`
