import { expect } from 'vitest'
import type { HttpResponse } from '../contract/checker.ts'
import { checkHtml } from './html.ts'

/** What holds for every response of the moderation page, errors too. */

type Address = { origin: string; prefix: string }

/** The statuses that the page sends. */
const statuses = [200, 204, 303, 400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 501, 503, 505]

/** Every response of every test of the page passes through here. */
export function checkPage(response: HttpResponse, address: Address) {
  const problems = [
    ...headerProblems(response, address),
    ...cookieProblems(response, address),
    ...bodyProblems(response, address),
  ]
  expect(
    problems,
    `${response.method} ${response.path}\n${response.status} ${response.text.slice(0, 2000)}`,
  ).toEqual([])
}

const isStyle = ({ path, status }: HttpResponse) => path === '/style.css' && status === 200
const isHealth = ({ path }: HttpResponse) => /^\/(healthz|readyz)(\?|$)/.test(path)

function headerProblems(response: HttpResponse, { origin, prefix }: Address): string[] {
  const { status, headers } = response
  const policy = String(headers['content-security-policy'])
  const directives = policy.split(';').map((directive) => directive.trim())
  const location = headers.location
  const ownPath = `${prefix}/`
  const rules: Record<string, boolean> = {
    'a known status': statuses.includes(status),
    'an X-Request-Id': /^[\w.-]{1,128}$/.test(String(headers['x-request-id'])),
    'nothing is sniffed': headers['x-content-type-options'] === 'nosniff',
    'nothing is allowed by default': directives.includes("default-src 'none'"),
    'no script, and no style but the file': !/script-src|unsafe|\*|https?:/.test(policy),
    'no frame': directives.includes("frame-ancestors 'none'"),
    'forms are sent here only': directives.includes("form-action 'self'"),
    'no base address': directives.includes("base-uri 'none'"),
    'not stored':
      headers['cache-control'] === (isStyle(response) ? 'no-cache' : 'no-store') &&
      headers.etag === undefined &&
      headers['last-modified'] === undefined,
    'not indexed': headers['x-robots-tag'] === 'noindex, nofollow',
    'no address is told to other sites': headers['referrer-policy'] === 'same-origin',
    'not for other sites':
      headers['cross-origin-resource-policy'] === 'same-origin' &&
      !Object.keys(headers).some((name) => name.startsWith('access-control-')),
    'https is kept exactly behind https':
      (headers['strict-transport-security'] !== undefined) === origin.startsWith('https:'),
    'no word about the software':
      headers['x-powered-by'] === undefined && headers.server === undefined,
    'no dialog of the browser': headers['www-authenticate'] === undefined,
    'a redirect leads to this page':
      (status === 303) === (location !== undefined) &&
      (location === undefined || isOwnPath(String(location), ownPath)),
    'when to try again':
      ![429, 503].includes(status) || /^\d+$/.test(String(headers['retry-after'])),
  }
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [rule]))
}

/** Not `//host` or `/\host`, which browsers take for another host. */
export const isOwnPath = (location: string, ownPath: string) =>
  location.startsWith(ownPath) && !/^\/[/\\]/.test(location) && !/[^\x21-\x7E]/.test(location)

function cookieProblems({ headers }: HttpResponse, { origin, prefix }: Address): string[] {
  return [headers['set-cookie'] ?? []].flat().flatMap((cookie) => {
    const [pair = '', ...attributes] = cookie.split('; ')
    const expected = [
      `Path=${prefix || '/'}`,
      // Without a value, the browser removes it. Otherwise it lasts until the browser is closed.
      ...(pair.endsWith('=') ? ['Expires=Thu, 01 Jan 1970 00:00:00 GMT'] : []),
      'HttpOnly',
      ...(origin.startsWith('https:') ? ['Secure'] : []),
      'SameSite=Lax',
    ]
    // Of a sibling host, browsers accept no cookie with this prefix, which has these attributes.
    const isOfThisHost = origin.startsWith('https:') && prefix === ''
    const isRight =
      attributes.join() === expected.join() && pair.startsWith('__Host-') === isOfThisHost
    return isRight ? [] : [`the cookie ${cookie}`]
  })
}

function bodyProblems(response: HttpResponse, { prefix }: Address): string[] {
  const { method, status, headers, text } = response
  const type = String(headers['content-type'])
  if (method === 'HEAD' || status === 204 || status === 303) return []
  if (isStyle(response)) return type === 'text/css; charset=utf-8' ? [] : [`the type ${type}`]
  if (isHealth(response) && status === 200) {
    JSON.parse(text)
    return type === 'application/json; charset=utf-8' ? [] : [`the type ${type}`]
  }
  if (method === 'OPTIONS') return []
  return [
    ...(type === 'text/html; charset=utf-8' ? [] : [`the type ${type}`]),
    ...checkHtml(text, prefix),
  ]
}
