import type { RequestHandler } from 'express'
import type { OpenAPIBackend } from 'openapi-backend'
import { notFound } from '../contract/errors.ts'
import { beginOperation, callOperation } from './api.ts'
import type { RateLimits } from './rate-limits.ts'
import { sendReply } from './response.ts'
import type { ResponseCache } from './response-cache.ts'

/** The step that answers requests to operations: from the response cache, or by openapi-backend. */
export const handleOperations =
  (api: OpenAPIBackend, limits: RateLimits, cache: ResponseCache | undefined): RequestHandler =>
  async (request, response, next) => {
    if (!cache?.isCacheable(request)) {
      const reply = await callOperation(api, request, response)
      return reply ? sendReply(request, response, reply) : next()
    }
    let isHit = true
    const reply = await cache.load(request.url, async () => {
      isHit = false
      const computed = await callOperation(api, request, response)
      if (!computed || !('representation' in computed)) throw notFound()
      return computed
    })
    if (isHit) {
      beginOperation(reply.operation, request, response, limits)
      response.context.isCacheHit = true
      cache.counts.hit++
    }
    return sendReply(request, response, reply)
  }
