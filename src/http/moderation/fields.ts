import { parse } from 'node:querystring'
import type { RequestHandler } from 'express'
import { OperatorError, ServiceError } from '../../contract/errors.ts'
import { type AppReference, parseReference } from '../../contract/field-rules.ts'
import { parseTime } from '../../util/time.ts'
import { readBytes } from '../body.ts'

/**
 * Reads forms, and fields of forms and queries. A repeated field is a list. Throws an OperatorError
 * for an invalid value.
 */

/** A parsed form or query. */
export type FormFields = Record<string, unknown>

/** Parameters of a query to be written. Undefined and false are left out. */
export type Parameters = Record<string, string | number | boolean | undefined>

/** Apps that a form can decide at once: those of a page. */
export const maxSelected = 50
/** More than any form of the page has. They limit the page that repeats a form. */
const maxFields = 1000
const maxFormBytes = 128 * 1024

/** Sets `request.body` to the fields of a form, for the handlers after it. */
export const readForm: RequestHandler = async (request, response, next) => {
  const body = await readBytes(request, response, 'application/x-www-form-urlencoded')
  if (body.length > maxFormBytes)
    throw new ServiceError('payload_too_large', 'The form is over 128 KiB; shorten its texts.')
  const text = body.toString()
  if (text.split('&', maxFields + 1).length > maxFields)
    throw new OperatorError(`the form has over ${maxFields} fields; select fewer apps`)
  request.body = parse(text, '&', '=', { maxKeys: maxFields })
  next()
}

/** All values of a field; of one that is empty or missing, none. PostgreSQL has no NUL in texts. */
export const fieldsOf = (fields: FormFields, name: string): string[] =>
  [fields[name] ?? []]
    .flat()
    .map((value) => String(value).replaceAll('\0', '\uFFFD'))
    .filter(Boolean)

/** The first value; an empty text if there is none. */
export const fieldOf = (fields: FormFields, name: string): string => fieldsOf(fields, name)[0] ?? ''

export function positiveInteger(name: string, text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
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
  text
    .split(' ', maxSelected)
    .filter((id) => /^[1-9]\d{0,14}$/.test(id))
    .map(Number)

/** An app at the revision that was shown. */
export function shownApp(text: string): AppReference {
  const app = parseReference(text)
  if (app?.revision !== undefined) return app
  throw new OperatorError(
    `an app must be a reference such as 108@k3f9a, not ${JSON.stringify(text)}`,
  )
}
