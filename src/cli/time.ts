import { InvalidArgumentError, Option } from 'commander'
import ms, { type StringValue } from 'ms'
import { parseTime, toSortableTime } from '../util/time.ts'

/** Parses times and durations that operators give. */

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
  const time =
    unit === '' ? parseTime(text) : toSortableTime(new Date(Date.now() + direction * duration))
  if (time !== undefined) return time
  throw new InvalidArgumentError(
    `It must be a time in UTC such as 2027-01-31 or 2027-01-31T09:30:00Z, or a duration such as 90d or 12h (${units.join(', ')}).`,
  )
}

/** Seconds since `begin`, a `performance.now()`, rounded to hundredths. */
export const elapsedSeconds = (begin: number): number =>
  Math.round((performance.now() - begin) / 10) / 100
