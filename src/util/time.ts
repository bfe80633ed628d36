import ms from 'ms'

/** Formats times for people. */

/** The age of a time in the largest unit: `3d`, `5h`. */
export const formatAge = (time: string) => ms(Math.max(0, Date.now() - Date.parse(time)))

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
export const formatDay = (time: string) => days.format(new Date(time))

/** `31 Jan 2026, 09:30`, in UTC. */
export const formatMoment = (time: string) => moments.format(new Date(time))

/** `2026-01-31 09:30`. */
export const formatMinute = (time: string) => time.slice(0, 16).replace('T', ' ')
