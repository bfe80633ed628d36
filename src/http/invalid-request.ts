import type { Problem } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import { required } from '../util/helpers.ts'
import { formatQuantity, sanitize, shorten } from '../util/text.ts'

/**
 * `invalid_request` with the first 100 problems. The message has the first one, and how many more
 * there are, because many clients show nothing else.
 */
export function invalidRequest(problems: Problem[]): ServiceError {
  const first = required(problems[0], 'the first problem')
  const message = `${nameOf(first)} ${first.message}.`
  return new ServiceError('invalid_request', message + countOthers(problems.length - 1), {
    errors: problems.slice(0, 100),
  })
}

function countOthers(count: number): string {
  if (count === 0) return ''
  const verb = count === 1 ? 'is' : 'are'
  return ` There ${verb} ${formatQuantity(count, 'more problem')}; see data.errors.`
}

/** Code points of a name that a message shows, because clients choose the names. */
const shownLength = 60

/** The subject of a problem, to begin a sentence. Unusual names are quoted. */
export function nameOf({ in: place, field }: Problem): string {
  if (field === '') return wholeParts[place]
  const name = place === 'body' ? field.slice(1) : field
  if (/^[\w/-]+$/.test(name) && name.length <= shownLength) return name
  return `"${shorten(sanitize(name.replace(/\s+/g, ' ')), shownLength, (text) => [...text].length)}"`
}

const wholeParts: Record<Problem['in'], string> = {
  path: 'The path',
  query: 'The query',
  header: 'The request',
  body: 'The body',
}
