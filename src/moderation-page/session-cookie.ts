import type { CookieOptions, Request } from 'express'

/** The cookie that has the token of a session. */

const tokenPattern = /^[\w-]{43}$/
/** Tokens of a request that are tried: another path or a sibling host can set a cookie, too. */
const maxTokens = 4

export type SessionCookie = { name: string; options: CookieOptions }

/** `baseUrl` is MODERATION_URL, and `prefix` its path. */
export function sessionCookie(baseUrl: string, prefix: string): SessionCookie {
  const { protocol, port } = new URL(baseUrl)
  const secure = protocol === 'https:'
  // Browsers accept this prefix only from the host itself, with https and without a path (RFC
  // 6265bis, section 4.1.3.2).
  const hostPrefix = secure && prefix === '' ? '__Host-' : ''
  return {
    // Browsers send the cookies of a host to all its ports.
    name: `${hostPrefix}moderation_session${port && `_${port}`}`,
    options: { path: prefix || '/', httpOnly: true, sameSite: 'lax', secure },
  }
}

/** The tokens of a request, at most four. */
export const tokensOf = ({ name }: SessionCookie, { headers }: Request): string[] =>
  (headers.cookie ?? '')
    .split(/; ?/)
    .filter((cookie) => cookie.startsWith(`${name}=`))
    .map((cookie) => cookie.slice(name.length + 1))
    .filter((value) => tokenPattern.test(value))
    .slice(0, maxTokens)
