import type { RequestHandler } from 'express'
import { ServiceError } from '../contract/errors.ts'

/**
 * Refuses a POST of another site. Browsers send Sec-Fetch-Site to https and localhost. They send
 * Origin everywhere, but as null if a proxy sets the Referrer-Policy no-referrer.
 */
export function refuseOtherSites(baseUrl: string): RequestHandler {
  const ownOrigin = new URL(baseUrl).origin
  return ({ method, headers }, _response, next) => {
    if (method !== 'POST') return next()
    const { 'sec-fetch-site': site, origin = 'null' } = headers
    // Another origin of the same page, such as http for https, would get a cookie that is less safe.
    const isOwnOrigin = origin === ownOrigin || (origin === 'null' && site === 'same-origin')
    const isOwnSite = site === undefined || site === 'same-origin'
    if (isOwnOrigin && isOwnSite) return next()
    const problem =
      site === undefined && origin === 'null'
        ? 'Your browser does not say where this form comes from, so nothing was done. Open the page over https, or keep the proxy from setting Referrer-Policy.'
        : `This form does not come from ${baseUrl}/, so nothing was done. Open the page there.`
    throw new ServiceError('forbidden', problem)
  }
}

/**
 * The path to open after signing in. Another site may have set the text, so one that leads elsewhere
 * is replaced by the first page.
 */
export function ownPath(text: string, baseUrl: string): string {
  const { origin, pathname } = new URL(`${baseUrl}/`)
  const url = URL.parse(text, baseUrl)
  const isOwn = url?.origin === origin && url.pathname.startsWith(pathname)
  // Browsers would take a path such as `//host/` for another host.
  return isOwn && !url.pathname.startsWith('//') ? url.pathname + url.search : pathname
}
