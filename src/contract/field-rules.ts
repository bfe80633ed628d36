import { domainToASCII } from 'node:url'
import document from '../../generated/openapi.json' with { type: 'json' }
import { characterProblem } from './character-rules.ts'
import { OperatorError } from './errors.ts'

/**
 * Rules for texts that operators write or import, such as names of developers. No request has these
 * fields, so the lengths are those of the fields in responses, and the characters are those of
 * similar fields in requests. The `parse…` functions remove surrounding white space. If the rest is
 * not valid, they throw an OperatorError that describes the problem.
 */

const {
  AppSlug,
  CategoryList,
  CategoryName,
  CategorySlug,
  DeveloperName,
  NewAppDescription,
  NewAppName,
  RejectionReason,
  Review,
} = document.components.schemas

/** The maximum number of categories, which is as many as a response may list. */
export const maxCategories = CategoryList.properties.categories.maxItems

export const maxAppSlugLength = AppSlug.maxLength

type Rule = { minLength: number; maxLength: number; pattern: string; 'x-pattern-message': string }
type TextRule = Rule & { 'x-characters': string }

const charactersOf = (schema: TextRule) => ({
  pattern: schema.pattern,
  'x-pattern-message': schema['x-pattern-message'],
  'x-characters': schema['x-characters'],
})
export const developerNameRule = { ...DeveloperName, ...charactersOf(NewAppName) }
export const categoryNameRule = { ...CategoryName, ...charactersOf(NewAppName) }
export const reviewerNameRule = { ...Review.properties.reviewer_name, ...charactersOf(NewAppName) }
/** The reason that the owner of a rejected app sees. */
export const reasonRule = { ...RejectionReason, ...charactersOf(NewAppDescription) }

export const slugPattern = /^[a-z0-9]+(-[a-z0-9]+)*$/
const slugCharacters = {
  pattern: slugPattern.source,
  'x-pattern-message': 'must be lower-case letters and digits with single hyphens between',
}
export const appSlugRule = { ...AppSlug, ...slugCharacters }
export const categorySlugRule = { ...CategorySlug, ...slugCharacters }

export const parseDeveloperName = (text: string): string =>
  parseText(text, developerNameRule, 'a developer name')

export const parseCategoryName = (text: string): string =>
  parseText(text, categoryNameRule, 'a category name')

/** Key names follow the rule for developer names, since the document has none for them. */
export const parseKeyName = (text: string): string =>
  parseText(text, developerNameRule, 'the name of a key')

/**
 * One address in the header of a mail, which no program takes for an option or a pipe, with a host of
 * two labels or more.
 */
const emailAddress =
  /^(?!-)[\w!#$%&'*+/=?^{}~-]+(?:\.[\w!#$%&'*+/=?^{}~-]+)*@[a-z\d]+(?:-+[a-z\d]+)*(?:\.[a-z\d]+(?:-+[a-z\d]+)*)+$/i
/** RFC 5321, section 4.5.3.1.3. */
const maxEmailLength = 254

const isEmailAddress = (text: string) => text.length <= maxEmailLength && emailAddress.test(text)

export function parseEmailAddress(text: string): string {
  const address = text.trim()
  if (isEmailAddress(address)) return address
  const ascii = address.replace(/(?<=@)[\p{L}\p{M}\p{N}.。-]+$/u, domainToASCII)
  throw new OperatorError(
    isEmailAddress(ascii)
      ? `the contact must have the ASCII form of its host: ${ascii}`
      : 'the contact must be an e-mail address such as ada@example.org',
  )
}

/**
 * Stands for bytes that are not UTF-8
 * (https://www.unicode.org/versions/Unicode16.0.0/core-spec/chapter-5/#G40630). Node decodes
 * arguments and environment variables this way.
 */
const replacementCharacter = '\uFFFD'

export function parseReason(text: string): string {
  const reason = parseText(text, reasonRule, 'a reason')
  if (!reason.includes(replacementCharacter)) return reason
  throw new OperatorError(
    'a reason must be valid UTF-8; this one contains U+FFFD, the replacement character',
  )
}

/**
 * Names of people follow the rule for developer names. Returns undefined if the name is not valid,
 * and does not throw, because config.ts reports all errors together.
 */
export function parsePersonName(text: string): string | undefined {
  const name = text.trim()
  return findProblem(name, developerNameRule) || name.includes(replacementCharacter)
    ? undefined
    : name
}

const { minLength, maxLength, 'x-pattern-message': nameMessage } = developerNameRule
export const personNameFormat = `a name in UTF-8, of ${minLength} to ${maxLength} characters, which ${nameMessage}`

/** Throws an OperatorError for a slug that is not valid, also if white space surrounds it. */
export function assertSlug(slug: string): void {
  const problem = lengthProblem(categorySlugRule, slug) ?? patternProblem(categorySlugRule, slug)
  if (problem !== undefined) throw new OperatorError(`the slug ${JSON.stringify(slug)} ${problem}`)
}

function parseText(text: string, rule: TextRule, what: string): string {
  const trimmed = text.trim()
  const problem = findProblem(trimmed, rule)
  if (problem === undefined) return trimmed
  throw new OperatorError(`${what} ${problem}`)
}

const findProblem = (text: string, rule: TextRule) =>
  lengthProblem(rule, text) ??
  characterProblem(rule['x-characters'], text) ??
  patternProblem(rule, text)

/** Lengths count code points, as JSON Schema does. */
function lengthProblem({ minLength, maxLength }: Rule, text: string): string | undefined {
  const { length } = [...text]
  return length >= minLength && length <= maxLength
    ? undefined
    : `must have ${minLength} to ${maxLength} characters, not ${length}`
}

// recheck-ignore: the patterns are those of the document, which are checked, too.
const patternProblem = ({ pattern, 'x-pattern-message': message }: Rule, text: string) =>
  new RegExp(pattern, 'u').test(text) ? undefined : message

/** An app, at a revision if one is given. Operators write it after the id: `108@k3f9a`. */
export type AppReference = { id: number; revision?: string | undefined }

export const formatReference = ({ id, revision }: AppReference): string =>
  revision === undefined ? String(id) : `${id}@${revision}`

/** Parses `108` or `108@k3f9a`; undefined if the text is neither. */
export function parseReference(text: string): AppReference | undefined {
  const [, id, revision] = /^([1-9]\d{0,14})(?:@([0-9a-z]+))?$/.exec(text) ?? []
  return id === undefined ? undefined : { id: Number(id), revision }
}

/** The format that `parseReference` accepts, for messages. */
export const referenceFormat = 'a number such as 108, or 108@k3f9a with a revision'
