import type { Ajv, ErrorObject, SchemaValidateFunction } from 'ajv'
import type { Problem } from './contract.ts'

/**
 * The problems that ajv found in a request (with `verbose`), one per field, in words for the
 * client's developer.
 */
export function requestProblems(errors: ErrorObject[]): Problem[] {
  const explained = new Set(
    errors.flatMap(({ keyword, instancePath }) => (keyword === 'x-characters' ? instancePath : [])),
  )
  const relevant = errors.filter(({ keyword, instancePath }) => {
    // The errors of their subschemas say more.
    if (['allOf', 'anyOf', 'if'].includes(keyword)) return false
    // A pattern cannot say which of its rules is broken.
    return keyword !== 'pattern' || !explained.has(instancePath)
  })
  return firstProblemPerField(relevant.map(problemOf))
}

/** The problems that ajv found in an object outside a request, named as in a body. */
export const objectProblems = (errors: ErrorObject[]): Problem[] =>
  requestProblems(
    errors.map((error) => ({ ...error, instancePath: `/requestBody${error.instancePath}` })),
  )

/** The first problem of each field. */
export function firstProblemPerField(problems: Problem[]): Problem[] {
  const fields = new Map<string, Problem>()
  for (const problem of problems) {
    const key = `${problem.in} ${problem.field}`
    if (!fields.has(key)) fields.set(key, problem)
  }
  return [...fields.values()]
}

const requestParts: Record<string, Problem['in']> = {
  path: 'path',
  query: 'query',
  header: 'header',
  requestBody: 'body',
}

function problemOf(error: ErrorObject): Problem {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer)
  const within = error.params.missingProperty ?? error.params.additionalProperty
  if (within !== undefined) path.push(String(within))
  const [part = '', ...segments] = path
  const place = requestParts[part] ?? 'body'
  const field = place === 'body' ? fieldPointer(...segments) : truncateField(segments.join('/'))
  return { in: place, field, message: messageOf(error, place) }
}

/**
 * Adds the keyword `x-characters`, which names a set of rules below: what a text may not have,
 * beyond what patterns can exclude in every language. The document's introduction lists it.
 */
export function addCharacterRules(ajv: Ajv): Ajv {
  const validate: SchemaValidateFunction = (rule: string, text: string) => {
    const message = characterProblem(rule, text)
    if (message !== undefined) validate.errors = [{ keyword: 'x-characters', message, params: {} }]
    return message === undefined
  }
  return ajv.addKeyword({ keyword: 'x-characters', type: 'string', schemaType: 'string', validate })
}

/** The problem of a text by the rules of that name; undefined if there is none. */
export function characterProblem(name: string, text: string): string | undefined {
  const rules = characterRules[name]
  if (!rules) throw new Error(`x-characters has the unknown value ${name}`)
  const refused = findRefused(rules, text)?.[0].codePointAt(0)
  if (refused !== undefined)
    return `must not have the character U+${refused.toString(16).toUpperCase().padStart(4, '0')}`
  if (rules.needsVisible && !visible.test(text)) return 'must have a visible character'
  if (rules.needsTrimmed && text !== text.trim()) return 'must not begin or end with white space'
  return undefined
}

function findRefused(
  { refused }: CharacterRules,
  text: string,
): RegExpExecArray | null | undefined {
  const find = (part: string) => refusedAnywhere.exec(part) ?? refused?.exec(part)
  // Removing the sequences is slow, and few texts have characters that occur in them.
  return find(text) && find(text.replace(visibleSequences, ''))
}

/**
 * Control characters except tabs and line breaks, unpaired surrogates, and ignorable characters
 * beyond 16 bits: format controls, tags and variation selectors (Default_Ignorable_Code_Point in
 * https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt).
 */
const refusedAnywhere =
  /[^\P{Cc}\t\n\r]|[\p{Cs}\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/u

const refusedInNames =
  /(?![\p{Join_Control}\p{Variation_Selector}])[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\uFFF9-\uFFFB]/u

type CharacterRules = { refused?: RegExp; needsVisible?: true; needsTrimmed?: true }
const characterRules: Record<string, CharacterRules> = {
  text: {},
  line: { refused: /[\u2028-\u202E\u2066-\u2069]/u },
  prose: { refused: /[\u202A-\u202E\u2066-\u2069]/u, needsVisible: true },
  name: { refused: refusedInNames, needsVisible: true },
  version: { refused: refusedInNames, needsVisible: true, needsTrimmed: true },
}

/**
 * Flags of regions, spelled with tags (https://www.unicode.org/reports/tr51/, section 2.9), and
 * variants of ideographs.
 */
const visibleSequences = /\p{RGI_Emoji_Tag_Sequence}|\p{Ideographic}[\u{E0100}-\u{E01EF}]/gv

/** U+2800 is the Braille pattern without a dot. */
const visible = /[^\s\u2800\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/u

/** RFC 6901, section 3. */
const escapePointer = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')
const unescapePointer = (segment: string) => segment.replaceAll('~1', '/').replaceAll('~0', '~')

const maxFieldLength = 200

/** A JSON pointer, cut to the length that the document allows. */
export const fieldPointer = (...segments: string[]) =>
  truncateField(segments.map((segment) => `/${escapePointer(segment)}`).join(''))

/**
 * The field cut to the length that the document allows: clients choose the names. A character has
 * two units at most.
 */
const truncateField = (field: string) =>
  [...field.slice(0, 2 * maxFieldLength).toWellFormed()].slice(0, maxFieldLength).join('')

/** A schema can replace the message of a keyword: `x-pattern-message` that of `pattern`. */
function messageOf(
  { keyword, params, parentSchema, message }: ErrorObject,
  place: Problem['in'],
): string {
  const replacement: unknown = parentSchema?.[`x-${keyword}-message`]
  if (typeof replacement === 'string') return replacement
  switch (keyword) {
    case 'required':
    case 'dependencies':
      return 'is required'
    case 'additionalProperties':
      return place === 'body' ? 'is not a field that can be set' : 'is not a known parameter'
    case 'minProperties':
      return 'must have at least one field'
    case 'type':
      return place !== 'body' && params.type === 'string'
        ? 'must be given once'
        : `must be ${[params.type].flat().map(withArticle).join(' or ')}`
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`
    case 'minLength':
      return params.limit === 1
        ? 'must not be empty'
        : `must have at least ${params.limit} characters`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'pattern':
      return `must match ${params.pattern}`
    case 'format':
      return `must be of the format ${params.format}`
    default:
      return message ?? 'does not match the API document'
  }
}

const withArticle = (type: string) =>
  type === 'null' ? type : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
