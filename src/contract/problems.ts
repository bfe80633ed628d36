import type { ErrorObject } from 'ajv'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { Problem } from './contract.ts'

/** Describes what ajv finds wrong with a request or a line of a file, in words for its author. */

/**
 * The problems that ajv found in a request (with `verbose`), one per field, in words for the
 * client's developer. Unknown parameters and fields are answered with the names that exist.
 */
export function requestProblems(errors: ErrorObject[]): Problem[] {
  const readOnly = errors.filter(isReadOnlyField).map(({ params }) => params.additionalProperty)
  const others = errors.filter((error) => !isReadOnlyField(error))
  return [
    ...(readOnly.length > 0 ? [readOnlyProblem(readOnly)] : []),
    ...problemsOf(others, (error) => {
      const names = knownNames(error)
      return names === '' ? '; this operation has none' : `; use one of ${names}`
    }),
  ]
}

/** The problems that ajv found in an object outside a request, named as in a body. */
export const objectProblems = (errors: ErrorObject[]): Problem[] =>
  problemsOf(
    errors.map((error) => ({ ...error, instancePath: `/requestBody${error.instancePath}` })),
    // A file may have many such lines, and each problem is written to the rejects file.
    () => '',
  )

const { App, OwnApp } = document.components.schemas

/** Fields of apps in responses. Those that can be set are not unknown in a body. */
const responseFields = new Set(Object.keys({ ...App.properties, ...OwnApp.properties }))

const isReadOnlyField = (error: ErrorObject) =>
  isUnknownName(error) &&
  error.instancePath === '/requestBody' &&
  responseFields.has(error.params.additionalProperty)

/** One problem, because clients send back an app that they have read, with all of these. */
const readOnlyProblem = (names: string[]): Problem => ({
  in: 'body',
  field: '',
  message: `must leave out the read-only field${names.length === 1 ? '' : 's'}: ${names.join(', ')}`,
})

const knownNames = ({ parentSchema }: ErrorObject) =>
  Object.keys(parentSchema?.properties ?? {})
    .toSorted()
    .join(', ')

/** One problem per field. `note` is added to the message about an unknown parameter or field. */
function problemsOf(errors: ErrorObject[], note: (error: ErrorObject) => string): Problem[] {
  const explained = new Set(
    errors.flatMap(({ keyword, schema, instancePath }) =>
      keyword === 'x-characters' && schema !== 'address' ? instancePath : [],
    ),
  )
  const relevant = errors.filter(({ keyword, instancePath }) => {
    // The errors of their subschemas say more.
    if (['allOf', 'anyOf', 'if'].includes(keyword)) return false
    // A pattern cannot say which of its rules is broken. That of an address has only one.
    return keyword !== 'pattern' || !explained.has(instancePath)
  })
  // A misspelled name is why another one is missing.
  const sorted = relevant.toSorted((a, b) => Number(isUnknownName(b)) - Number(isUnknownName(a)))
  return firstProblemPerField(sorted.map((error) => problemOf(error, note)))
}

const isUnknownName = ({ keyword }: ErrorObject) => keyword === 'additionalProperties'

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

function problemOf(error: ErrorObject, note: (error: ErrorObject) => string): Problem {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer)
  const within = error.params.missingProperty ?? error.params.additionalProperty
  if (within !== undefined) path.push(String(within))
  const [part = '', ...segments] = path
  const place = requestParts[part] ?? 'body'
  const field = place === 'body' ? fieldPointer(...segments) : truncateField(segments.join('/'))
  const message = messageOf(error, place)
  return { in: place, field, message: isUnknownName(error) ? message + note(error) : message }
}

/** RFC 6901, section 3. */
const escapePointer = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')
const unescapePointer = (segment: string) => segment.replaceAll('~1', '/').replaceAll('~0', '~')

const maxFieldLength = 200

/** A JSON pointer, cut to the length that the document allows. */
export const fieldPointer = (...segments: string[]): string =>
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
      if (place === 'body') return 'is not a field that can be set'
      // The name of the problem is empty, too, so it would be about the whole query.
      return params.additionalProperty === ''
        ? 'has a parameter without a name'
        : 'is not a parameter'
    case 'minProperties':
      return 'must have at least one field'
    case 'type':
      return place !== 'body' && params.type === 'string'
        ? 'must be given once'
        : `must be ${[params.type].flat().map(describeType).join(' or ')}`
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

const describeType = (type: string) => (type === 'null' ? type : withArticle(type))

export const withArticle = (noun: string): string =>
  `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
