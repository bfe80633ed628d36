import type { IRouter, RequestHandler, Response } from 'express'
import { ServiceError } from '../contract/errors.ts'

export const methodNotAllowed = (allow: string[]) =>
  new ServiceError('method_not_allowed', 'This path does not support that method; see the Allow header.', {
    allow,
  })

/** Answers OPTIONS (RFC 9110, section 9.3.7). */
export function sendOptions(response: Response, allow: string[]) {
  response
    .set({ Allow: allow.join(', '), 'Cache-Control': 'no-store' })
    .status(204)
    .end()
}

/** A path beside the operations that only reads: GET and HEAD, OPTIONS, and 405 for the rest. */
export function readOnlyRoute(router: IRouter, path: string, handler: RequestHandler) {
  const allow = ['GET', 'HEAD', 'OPTIONS']
  router
    .route(path)
    .get(handler)
    .options((_request, response) => sendOptions(response, allow))
    .all(() => {
      throw methodNotAllowed(allow)
    })
}
