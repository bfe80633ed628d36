import type { RequestHandler } from 'express'
import type { OpenAPIBackend } from 'openapi-backend'
import { notFound } from '../contract/errors.ts'
import { beginOperation, callOperation, toApiRequest } from './api.ts'
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
    let isShared = true
    const compute = async (signal: AbortSignal) => {
      isShared = false
      const computed = await callOperation(api, request, response, signal)
      if (!computed || !('representation' in computed)) throw notFound()
      return computed
    }
    const reply = await cache.load(request, compute).catch((error) => {
      const operation = isShared && api.matchOperation(toApiRequest(request))
      if (operation) beginOperation(operation, request, response, limits)
      throw error
    })
    if (isShared) {
      beginOperation(reply.operation, request, response, limits)
      response.context.isCacheHit = true
      cache.counts.hit++
    }
    return sendReply(request, response, reply)
  }
