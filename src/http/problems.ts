import type { ErrorObject } from 'ajv'
import type { Problem } from '../contract.ts'

/** What ajv found (with `verbose`), one problem a place, in words for the person who sent the request. */
export function problemsOf(errors: ErrorObject[]): Problem[] {
  return firstOfEachField(errors.filter(({ keyword }) => keyword !== 'allOf').map(problemOf))
}

/** A place that is wrong in several ways is named once, by what was said of it first. */
export function firstOfEachField(problems: Problem[]): Problem[] {
  const fields = new Map<string, Problem>()
  for (const problem of problems) {
    const key = `${problem.in} ${problem.field}`
    if (!fields.has(key)) fields.set(key, problem)
  }
  return [...fields.values()]
}

const parts: Record<string, Problem['in']> = { path: 'path', query: 'query', header: 'header', requestBody: 'body' }

function problemOf(error: ErrorObject): Problem {
  const [, part = '', ...segments] = error.instancePath.split('/')
  const place = parts[part] ?? 'body'
  const within = error.params.missingProperty ?? error.params.additionalProperty
  if (within !== undefined) segments.push(String(within).replaceAll('~', '~0').replaceAll('/', '~1'))
  const field = place === 'body' ? segments.map((segment) => `/${segment}`).join('') : segments.join('/')
  return { in: place, field: [...field].slice(0, 200).join(''), message: messageOf(error, place) }
}

function messageOf({ keyword, params, parentSchema, message }: ErrorObject, place: Problem['in']): string {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return place === 'body' ? 'is not a field that can be set' : 'is not a known parameter'
    case 'minProperties':
      return 'must have at least one field'
    case 'type':
      return place !== 'body' && params.type === 'string' ? 'must be given once' : `must be ${article(params.type)}`
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'pattern':
      return parentSchema?.['x-pattern-message'] ?? `must match ${params.pattern}`
    default:
      return message ?? 'is not as the document describes it'
  }
}

const article = (type: string) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)
