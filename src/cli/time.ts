import { InvalidArgumentError, Option } from 'commander'
import ms, { type StringValue } from 'ms'

/**
 * Parses times that operators give. A time without an offset is in UTC; a date is its
 * midnight.
 */

/** A time, or a duration before now. */
export const parsePastTime = (text: string): string =>
  parseTimeOrDuration(text, -1, ['s', 'm', 'min', 'h', 'd', 'w', 'y'])

/**
 * A time in the future, or a duration from now. Its minutes are `min` only, since `6m` or `6M` as
 * the expiry of a key would be taken for months.
 */
export function parseFutureTime(text: string): string {
  const time = parseTimeOrDuration(text, 1, ['s', 'min', 'h', 'd', 'w', 'y'])
  if (Date.parse(time) <= Date.now()) throw new InvalidArgumentError('It must be in the future.')
  return time
}

/** When a key that is issued expires. */
export const expiresOption = new Option(
  '--expires <time>',
  'when the key expires: 90d, 12h, 2027-01-31 for its midnight in UTC (default: 365d)',
).argParser(parseFutureTime)

function parseTimeOrDuration(text: string, direction: 1 | -1, units: string[]): string {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/i.exec(text) ?? []
  // `ms` would take more units, in upper case, too.
  const duration = units.includes(unit) ? ms(`${Number(amount)}${unit}` as StringValue) : Number.NaN
  const date = new Date(unit === '' ? parseTime(text) : Date.now() + direction * duration)
  // ISO writes a year of more than four digits with a sign, which would not sort as text.
  if (!Number.isNaN(date.getTime()) && /^\d{4}-/.test(date.toISOString())) return date.toISOString()
  throw new InvalidArgumentError(
    `It must be a time in UTC such as 2027-01-31 or 2027-01-31T09:30:00Z, or a duration such as 90d or 12h (${units.join(', ')}).`,
  )
}

function parseTime(text: string): number {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(
      text,
    )
  const [, day = '', time = '00:00', offset = 'Z'] = match ?? []
  const start = Date.parse(day)
  // Date.parse reads the 31st of February as the 3rd of March.
  if (Number.isNaN(start) || !new Date(start).toISOString().startsWith(day)) return Number.NaN
  return Date.parse(`${day}T${time}${offset}`)
}

/** Seconds since `begin`, a `performance.now()`, rounded to hundredths. */
export const elapsedSeconds = (begin: number) => Math.round((performance.now() - begin) / 10) / 100
