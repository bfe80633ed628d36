import ms from 'ms'

/** Formats times for people, and parses those that they write. */

/** The age of a time in the largest unit: `3d`, `5h`. */
export const formatAge = (time: string): string => ms(Math.max(0, Date.now() - Date.parse(time)))

/** The age of a time in words: `3 days`, `1 hour`; `a moment` if it is under a second. */
export function formatWait(time: string): string {
  const age = Date.now() - Date.parse(time)
  return age < 1000 ? 'a moment' : ms(age, { long: true })
}

const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const moments = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** `31 Jan 2026`, in UTC. */
export const formatDay = (time: string): string => days.format(new Date(time))

/** `31 Jan 2026, 09:30`, in UTC. */
export const formatMoment = (time: string): string => moments.format(new Date(time))

/** `2026-01-31 09:30`. */
export const formatMinute = (time: string): string => time.slice(0, 16).replace('T', ' ')

/**
 * The ISO time of a text such as `2026-01-31` or `2026-01-31T09:30:00Z`; undefined if it is none. A
 * time without an offset is in UTC; a date is its midnight.
 */
export function parseTime(text: string): string | undefined {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(
      text,
    )
  const [, day = '', time = '00:00', offset = 'Z'] = match ?? []
  // Date.parse reads the 31st of February as the 3rd of March.
  if (!new Date(day).toJSON()?.startsWith(day)) return undefined
  return toSortableTime(new Date(`${day}T${time}${offset}`))
}

/** Undefined of an invalid date, and of a year that ISO writes with a sign, which sorts wrongly. */
export function toSortableTime(date: Date): string | undefined {
  const time = date.toJSON()
  return time !== null && /^\d{4}-/.test(time) ? time : undefined
}
