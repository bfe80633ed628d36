import { Router } from 'express'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import { readOnlyRoute } from './error-response.ts'

/** `/healthz`: the process responds. `/readyz`: it can also use the database. */
export function healthRoutes(database: Database, isDraining: () => boolean): Router {
  const assertReady = readinessCheck(database)
  const router = Router({ strict: true, caseSensitive: true })
  readOnlyRoute(router, '/healthz', (_request, response) => {
    response
      .set('Cache-Control', 'no-store')
      .json({ success: true, message: 'The process is alive.', data: {} })
  })
  readOnlyRoute(router, '/readyz', async (_request, response) => {
    if (isDraining())
      throw new ServiceError('unavailable', 'The service is shutting down.', { isExpected: true })
    await assertReady()
    response
      .set('Cache-Control', 'no-store')
      .json({ success: true, message: 'The service is ready.', data: {} })
  })
  return router
}

/**
 * Returns a function that throws `unavailable` while the database cannot be used. Concurrent calls
 * share a check and fail after 5 s; the next check begins when it has ended.
 */
function readinessCheck(database: Database): () => Promise<void> {
  let running: Promise<void> | undefined

  async function check() {
    const healthError = await database.checkHealth()
    if (healthError !== undefined)
      // The rest is for operators, and may have the program's path.
      throw new ServiceError('unavailable', `The database ${healthError.replace(/;.*/, '')}.`)
    const age = await database.schemaAge().catch(() => undefined)
    if (age !== 'current')
      throw new ServiceError('unavailable', 'The database does not answer or is not migrated.')
  }
  function timeOut(): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>()
    const error = new ServiceError('unavailable', 'The database does not answer.')
    setTimeout(() => reject(error), 5000).unref()
    return promise
  }
  return async () => {
    running ??= Promise.race([check().finally(() => (running = undefined)), timeOut()])
    await running
  }
}
