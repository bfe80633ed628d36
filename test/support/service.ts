import supertest from 'supertest'
import { inject, onTestFinished } from 'vitest'
import type { Decision } from '../../src/catalogue/policy.ts'
import { appStore } from '../../src/catalogue/store.ts'
import { catalogueBackend } from '../../src/cli/serve.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { OperatorError } from '../../src/contract/errors.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { createListener } from '../../src/http/app.ts'
import type { ConnectionLimits } from '../../src/http/connections.ts'
import { readDocument } from '../../src/http/docs.ts'
import { createLogger } from '../../src/http/log.ts'
import type { Metrics } from '../../src/http/metrics.ts'
import type { RateLimitsConfig } from '../../src/http/rate-limits.ts'
import { defaultConnectionLimits, defaultTimeouts, listen, type Timeouts } from '../../src/http/server.ts'
import { moderationStore } from '../../src/moderation/store.ts'
import type { HttpResponse } from '../contract/checker.ts'
import { type CheckedResponse, check, type RequestOptions } from './check.ts'
import { copyWorld } from './database.ts'
import type { World } from './world.ts'

export type Service = {
  world: World
  database: Database
  /** As DATABASE_URL has it. */
  databaseUrl: string
  port: number
  /** Lines that were logged so far. */
  log: string[]
  /** Lets requests in flight finish, and takes no more. */
  drain: () => Promise<void>
  /** How many are open. */
  connections: () => Promise<number>
  request: (method: string, path: string, options?: RequestOptions) => Promise<CheckedResponse>
  get: (path: string, options?: RequestOptions) => Promise<CheckedResponse>
  /** Takes an operator's decision where the app's status allows it. */
  decide: (decision: Decision, id: number) => Promise<void>
  /** Adds reviews of one to five stars in turn, a second apart from the beginning of 2026. */
  addReviews: (id: number, count: number) => Promise<void>
}

export type ServiceOptions = {
  origin?: string
  prefix?: string
  timeouts?: Partial<Timeouts>
  connectionLimits?: Partial<ConnectionLimits>
  docsPage?: string
  /** How the operators are reached. */
  contact?: Config['contact']
  isDraining?: () => boolean
  /** Bytes that kept answers may take. */
  cacheSize?: number
  metrics?: Metrics
  /** Other limits than those that a server has by itself. */
  limits?: Partial<RateLimitsConfig>
  /** A database that another serves, too; a copy of the world where it is left out. */
  databaseUrl?: string
  /** Wraps what the operations use, to make it fail. */
  database?: (database: Database) => Database
}

/** The real app on a real database, listening; it stops when the test ends. */
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
  } = options
  const database = openDatabase(databaseUrl)
  const log: string[] = []
  const logger = createLogger('info', { write: (line: string) => log.push(line) })
  const baseUrl = origin + prefix
  const listener = await createListener({
    config: { ...readConfig({}), baseUrl, prefix, contact, cacheSize, ...limits },
    backend: catalogueBackend(options.database?.(database) ?? database, baseUrl),
    document: await readDocument(),
    docsPage,
    logger,
    metrics: options.metrics,
    isDraining,
  })
  const { server, port, drain } = await listen(
    listener,
    { port: 0, host: '127.0.0.1' },
    logger,
    { ...defaultTimeouts, ...timeouts },
    { ...defaultConnectionLimits, ...connectionLimits },
  )
  onTestFinished(async () => {
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
        .write((connection) => moderationStore(connection).decide(decision, id, { operator: 'test' }, options))
        .catch((error: unknown) => {
          if (!(error instanceof OperatorError)) throw error
        })
    },
    addReviews: (id, count) =>
      database.write((connection) =>
        appStore(connection).addReviews(
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

/** Sends one request to a server, or to the base address of one, and takes the answer as it comes. */
export async function send(
  to: Parameters<typeof supertest>[0],
  method: string,
  path: string,
  { key, headers = {}, json, body }: RequestOptions = {},
): Promise<HttpResponse> {
  const pending = supertest(to)
    [method.toLowerCase() as 'get'](path)
    // Unless a test asks for another: superagent would, by itself.
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
