import ms from 'ms'

/** Shows times to operators. */

/** How long ago a time was, in the largest unit: `3d`, `5h`. */
export const formatAge = (time: string) => ms(Math.max(0, Date.now() - Date.parse(time)))

/** `2026-01-31 09:30`. */
export const formatMinute = (time: string) => time.slice(0, 16).replace('T', ' ')
