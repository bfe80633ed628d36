import { parse } from 'node:querystring'
import type { RequestHandler } from 'express'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { readBytes } from '../http/body.ts'

/** The steps that each form passes: it comes from the page itself, and is read. */

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
