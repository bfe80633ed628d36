import supertest from 'supertest'
import { inject } from 'vitest'
import type { Decision } from '../../src/catalogue/policy.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { OperatorError } from '../../src/contract/errors.ts'
import type { Database } from '../../src/db/database.ts'
import { defaultLockTimeout } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { createApp } from '../../src/http/app.ts'
import type { ConnectionLimits } from '../../src/http/connections.ts'
import { createLogger } from '../../src/http/log.ts'
import type { Metrics } from '../../src/http/metrics.ts'
import type { RateLimitsConfig } from '../../src/http/rate-limits.ts'
import { readDocument } from '../../src/http/reference-routes.ts'
import {
  defaultConnectionLimits,
  defaultTimeouts,
  listen,
  type Timeouts,
} from '../../src/http/server.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import type { HttpResponse } from '../contract/checker.ts'
import { type CheckedResponse, check, type RequestOptions } from './check.ts'
import { copyWorld, emptyCatalogueUrl } from './database.ts'
import { whenFinished } from './lifetime.ts'
import { addReviews } from './reviews.ts'
import type { World } from './world.ts'

export type Service = {
  world: World
  database: DatabaseWithTools
  /** Its DATABASE_URL. */
  databaseUrl: string
  port: number
  /** The lines logged so far. */
  log: string[]
  /** Finishes requests in flight and accepts no more. */
  drain: () => Promise<void>
  /** Requests that the application has begun to handle. */
  arrived: () => number
  /** The number of open connections. */
  connections: () => Promise<number>
  request: (method: string, path: string, options?: RequestOptions) => Promise<CheckedResponse>
  get: (path: string, options?: RequestOptions) => Promise<CheckedResponse>
  /** Makes an operator's decision, if the app's status allows it. */
  decide: (decision: Decision, id: number) => Promise<void>
  /** Adds reviews of one to five stars in turn, one per second from the beginning of 2026. */
  addReviews: (id: number, count: number) => Promise<void>
}

export type ServiceOptions = {
  origin?: string
  prefix?: string
  timeouts?: Partial<Timeouts>
  connectionLimits?: Partial<ConnectionLimits>
  docsPage?: string
  /** The operators' contact. */
  contact?: Config['contact']
  isDraining?: () => boolean
  /** The size of the response cache, in bytes. */
  cacheSize?: number
  metrics?: Metrics
  /** Limits other than the defaults. */
  limits?: Partial<RateLimitsConfig & Pick<Config, 'trustProxy'>>
  /** The database; a new copy of the world by default. */
  databaseUrl?: string
  /** Milliseconds that a statement waits for another program's lock, other than the default. */
  lockTimeout?: number
  /** Wraps the operations' database, to make it fail. */
  database?: (database: DatabaseWithTools) => Database
}

const document = await readDocument()

/** Starts the real app on a real database. It stops when the test ends. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const {
    origin = 'http://apps.test',
    prefix = '',
    timeouts = {},
    connectionLimits = {},
    docsPage,
    contact = {},
    isDraining = () => false,
    cacheSize = 2 ** 20,
    limits = {},
    databaseUrl = await copyWorld(),
    lockTimeout = defaultLockTimeout,
  } = options
  const database = openDatabase(databaseUrl, { lockTimeout })
  const log: string[] = []
  const logger = createLogger('info', { write: (line: string) => log.push(line) })
  const baseUrl = origin + prefix
  const config = { ...readConfig({}), port: 0, baseUrl, prefix, contact, cacheSize, ...limits }
  const app = await createApp({
    config,
    database: options.database?.(database) ?? database,
    document,
    docsPage,
    logger,
    metrics: options.metrics,
    isDraining,
  })
  const { server, port, drain } = await listen(
    app,
    config,
    logger,
    { ...defaultTimeouts, ...timeouts },
    { ...defaultConnectionLimits, ...connectionLimits },
  )
  let arrived = 0
  // Called after the application, which `listen` has added before.
  server.on('request', () => arrived++)
  whenFinished(async () => {
    server.closeAllConnections()
    server.close()
    await database.close()
  })

  const request = async (method: string, path: string, options?: RequestOptions) =>
    check({ ...(await send(server, method, prefix + path, options)), path })

  return {
    world: inject('world'),
    database,
    databaseUrl,
    port,
    log,
    drain,
    arrived: () => arrived,
    connections: async () => {
      const { promise, resolve } = Promise.withResolvers<number>()
      server.getConnections((_error, count) => resolve(count))
      return promise
    },
    request,
    get: (path, more) => request('GET', path, more),
    decide: async (decision, id) => {
      const options = decision === 'reject' ? { reason: 'Because.' } : {}
      await database
        .write((runner) => decideApp(runner, decision, id, { operator: 'test' }, options))
        .catch((error: unknown) => {
          if (!(error instanceof OperatorError)) throw error
        })
    },
    addReviews: (id, count) =>
      database.write((runner) =>
        addReviews(
          runner,
          Array.from({ length: count }, (_, index) => ({
            app_id: id,
            reviewer_name: `Reviewer ${index}`,
            rating: 1 + (index % 5),
            comment: 'Seen.',
            created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
          })),
        ),
      ),
  }
}

/** Starts the real app on an empty catalogue. */
export const startEmptyService = async (): Promise<Service> =>
  startService({ databaseUrl: await emptyCatalogueUrl() })

/** Wraps a service's database so that its operations fail. Reading keys still works. */
export const failing =
  (error: Error) =>
  (database: Database): Database => ({
    ...database,
    read: async (work, options) => {
      const result = await database.read(work, options)
      if (Array.isArray(result) && result[0]?.sha256) return result
      throw error
    },
    snapshot: () => Promise.reject(error),
    write: () => Promise.reject(error),
    batchedWrite: () => () => Promise.reject(error),
  })

/** Sends one request to a server or base URL, and returns the response unchanged. */
export async function send(
  to: Parameters<typeof supertest>[0],
  method: string,
  path: string,
  { key, headers = {}, json, body }: RequestOptions = {},
): Promise<HttpResponse> {
  const pending = supertest(to)
    [method.toLowerCase() as 'get'](path)
    // superagent would accept compressed responses by default.
    .set({ 'Accept-Encoding': 'identity', ...headers })
    .buffer(true)
    .parse((response, done) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => done(null, Buffer.concat(chunks).toString()))
    })
  if (key !== undefined) pending.set('Authorization', `Bearer ${key}`)
  if (json !== undefined) pending.set('Content-Type', 'application/json').send(JSON.stringify(json))
  if (body !== undefined) pending.serialize((sent) => sent).send(body)
  const response = await pending
  return {
    method,
    path,
    status: response.status,
    headers: response.headers,
    text: typeof response.body === 'string' ? response.body : '',
  }
}
