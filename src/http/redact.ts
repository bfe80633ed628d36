import { keyPrefix } from '../accounts/keys.ts'

/** Everything from the beginning of a key to its end, also percent-encoded: a mistyped key still holds most of a valid one. */
const keyPattern = /(?:a|%61)(?:p|%70){2}(?:s|%73)(?:_|%5F)(?:[0-9A-Z_-]|%[0-9A-F]{2})+/gi
/** Text that could be the secret of a key without its beginning, if it has letters of both cases. */
const secretPattern = /(?:[0-9A-Za-z]|%[0-9A-Fa-f]{2}){20,}/g

/** Characters that secretPattern matches at least. */
const minSecretLength = 20

/** The same in a request's id: ids are shorter, or in lower case. */
const wholeSecretPattern = /[0-9A-Za-z]{40,}/g

const hasBothCases = (text: string) => /[A-Z]/.test(text) && /[a-z]/.test(text)

/** Characters of a URL in the log: the longest valid search has 1,200. */
const maxUrlLength = 2048

/** Characters: `apps_` and a key's id are no secret. */
const maxPrefixLength = keyPrefix('x'.repeat(12)).length + 1

/** The text without anything that could be an API key. */
export function redact(text: string): string {
  // Most lines have no underscore, so no key.
  if (!text.includes('_') && !text.includes('%5')) return text
  return text.replace(keyPattern, (found) => {
    const key = percentDecode(found)
    if (key.length <= maxPrefixLength) return found
    return `${/^apps_[0-9a-z]{12}_/.exec(key)?.[0] ?? 'apps_'}[redacted]`
  })
}

/** The same for the beginning of a URL, where callers may have put part of a key. */
export function redactUrl(url: string): string {
  if (url.length < minSecretLength) return url
  return redact(url.slice(0, maxUrlLength)).replace(secretPattern, (found) =>
    hasBothCases(percentDecode(found)) ? '[redacted]' : found,
  )
}

/** Whether a request's id could be a key that was sent in the wrong header. */
export const mayBeSecret = (id: string) => id.match(wholeSecretPattern)?.some(hasBothCases) ?? false

const percentDecode = (text: string) =>
  text.replace(/%([0-9A-F]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
