import { OperatorError } from '../contract/errors.ts'
import { type AppReference, parseReference } from '../contract/field-rules.ts'
import type { QueuePosition } from '../moderation/queue.ts'
import { parseTime } from '../util/time.ts'
import type { DecidedIds, QueueView } from './parts/links.ts'

/**
 * Parses the fields of forms and queries. A repeated field is a list. Throws an OperatorError for an
 * invalid value.
 */

/** A parsed form or query. */
export type FormFields = Record<string, unknown>

/** Apps that a form can decide at once: those of a page. */
export const maxSelected = 50

/** All values of a field; of one that is empty or missing, none. PostgreSQL has no NUL in texts. */
export const fieldsOf = (fields: FormFields, name: string): string[] =>
  [fields[name] ?? []]
    .flat()
    .map((value) => String(value).replaceAll('\0', '\uFFFD'))
    .filter(Boolean)

/** The first value; an empty text if there is none. */
export const fieldOf = (fields: FormFields, name: string): string => fieldsOf(fields, name)[0] ?? ''

/** A number of up to 15 digits is exact. */
const isPositiveInteger = (text: string): boolean => /^[1-9]\d{0,14}$/.test(text)

export function positiveInteger(name: string, text: string): number {
  if (isPositiveInteger(text)) return Number(text)
  throw new OperatorError(`${name} must be a whole number from 1, not ${JSON.stringify(text)}`)
}

export function timeInUtc(name: string, text: string): string {
  const time = parseTime(text)
  if (time !== undefined) return time
  throw new OperatorError(
    `${name} must be a time in UTC such as 2027-01-31T09:30, not ${JSON.stringify(text)}`,
  )
}

/** Ids of apps, at most as many as a form can decide. */
export const idList = (text: string): number[] =>
  text.split(' ', maxSelected).filter(isPositiveInteger).map(Number)

export const decidedIds = (query: FormFields): DecidedIds => ({
  decided: idList(fieldOf(query, 'decided')),
  refused: idList(fieldOf(query, 'refused')),
})

/** An app at the revision that was shown. */
export function shownApp(text: string): AppReference {
  const app = parseReference(text)
  if (app?.revision !== undefined) return app
  throw new OperatorError(
    `an app must be a reference such as 108@k3f9a, not ${JSON.stringify(text)}`,
  )
}

/** The queue that the page of an app leads through, if it does. */
export const viewOf = (query: FormFields): QueueView | undefined =>
  fieldOf(query, 'queue') ? parseQueueView(query) : undefined

/** From the address of a link, or from the form of the filter. */
export function parseQueueView(query: FormFields): QueueView {
  const after = fieldOf(query, 'after')
  return {
    queue: fieldOf(query, 'queue') === 'changed' ? 'changed' : 'pending',
    filter: {
      developer: fieldOf(query, 'developer').trim() || undefined,
      category: fieldOf(query, 'category') || undefined,
    },
    after: after ? parsePosition(after) : undefined,
  }
}

function parsePosition(text: string): QueuePosition {
  const [, waiting_since, id] =
    /^(\d{4}-\d{2}-\d{2}T[\d:.]{8,15}Z)~([1-9]\d{0,14})$/.exec(text) ?? []
  if (waiting_since !== undefined) return { waiting_since, id: Number(id) }
  throw new OperatorError(
    `after must be a place in the queue, as the link Next has it, not ${JSON.stringify(text)}`,
  )
}

/** The app that a form leads to instead of the next one of the queue. */
export const nextApp = (body: FormFields): number | undefined =>
  fieldOf(body, 'next') ? positiveInteger('next', fieldOf(body, 'next')) : undefined

/** The last entry of the history that the page of the form has shown. */
export function seenEntry(body: FormFields): number | undefined {
  const seen = fieldOf(body, 'seen')
  return /^\d{1,15}$/.test(seen) ? Number(seen) : undefined
}
