import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import { countApps, findOldestWaiting } from '../catalogue/app-states.ts'
import type { Database } from '../db/database.ts'
import { secondsSince } from '../util/helpers.ts'
import type { ResponseCache } from './cache.ts'
import type { RateLimits } from './rate-limits.ts'

/** The parts of the service that have metrics. */
type Sources = { database: Database; limits: RateLimits; cache: ResponseCache | undefined }

/** A value of a metric, and its labels. */
type Sample = [labels: Record<string, string>, value: number]

/**
 * OpenTelemetry's for `http.server.request.duration`, in seconds (semantic conventions, "HTTP
 * metrics").
 */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/**
 * The metrics for Prometheus: those of requests, and in `addService` all others; a new metric
 * belongs there. The library itself measures the process, its event loop and garbage collection.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #durations: Histogram<string>

  /** `build` becomes the labels of a gauge that is always 1. */
  constructor(build: Record<string, string>) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    this.#durations = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'How long requests took, by operation and status.',
      labelNames: ['http_request_method', 'http_response_status_code', 'http_route'],
      buckets,
      registers,
    })
    this.addGauge(
      'apps_build_info',
      'Always 1; the labels are versions.',
      Object.keys(build),
      () => [[build, 1]],
    )
  }

  /** `duration` is in milliseconds. */
  readonly observeRequest = (
    { method }: IncomingMessage,
    { context: { operation, sentStatus } }: ServerResponse,
    duration: number,
  ) => {
    const labels = {
      // Node's parser knows 35 methods, and refuses others.
      http_request_method: method,
      ...(sentStatus !== undefined && { http_response_status_code: sentStatus }),
      ...(operation && { http_route: operation.route }),
    }
    this.#durations.observe(labels, duration / 1000)
  }

  /** Adds the metrics of the response cache, the rate limits, the database and the catalogue. */
  addService({ database, limits, cache }: Sources) {
    if (cache) addCacheMetrics(this, cache)
    addLimitMetrics(this, limits)
    addDatabaseMetrics(this, database)
    addCatalogueMetrics(this, database)
  }

  readonly addCounter = this.#adderOf(Counter)
  readonly addGauge = this.#adderOf(Gauge)

  /** Returns a function that adds a metric whose samples are read on each scrape. */
  #adderOf(Kind: typeof Counter | typeof Gauge) {
    return (
      name: string,
      help: string,
      labelNames: string[],
      read: () => Sample[] | Promise<Sample[]>,
    ) => {
      const metric = new Kind({
        name,
        help,
        labelNames,
        registers: [this.#registry],
        async collect() {
          const samples = await read()
          metric.reset()
          // reset sets a metric without labels to 0; without a sample it must be missing.
          if (labelNames.length === 0) metric.remove()
          for (const [labels, value] of samples) metric.inc(labels, value)
        },
      })
    }
  }

  /**
   * Serves `GET /metrics` in Prometheus' text format, on a separate port. Returns a function that
   * stops it.
   */
  async listen(address: { host: string | undefined; port: number }): Promise<() => void> {
    // It must not keep the process alive if the service cannot listen.
    const server = createServer(this.#listener).listen(address).unref()
    await once(server, 'listening')
    return () => {
      server.close()
      server.closeAllConnections()
    }
  }

  readonly #listener: RequestListener = ({ method, url }, response) => {
    if (url !== '/metrics') return response.writeHead(404).end()
    if (method !== 'GET') return response.writeHead(405, { Allow: 'GET' }).end()
    this.#registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': this.#registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  }
}

function addCacheMetrics(metrics: Metrics, { counts }: ResponseCache) {
  metrics.addCounter(
    'apps_response_cache_requests_total',
    'Reads that may be cached, by whether the response cache answered.',
    ['result'],
    () => [
      [{ result: 'hit' }, counts.hit],
      [{ result: 'miss' }, counts.miss],
    ],
  )
  metrics.addCounter(
    'apps_data_versions_total',
    'Versions of the data that reads have seen.',
    [],
    () => [[{}, counts.versions]],
  )
}

const addLimitMetrics = (metrics: Metrics, limits: RateLimits) =>
  metrics.addCounter(
    'apps_limited_requests_total',
    'Requests that a limit has refused.',
    ['limit'],
    () => Object.entries(limits).map(([name, limit]) => [{ limit: name }, limit?.refused ?? 0]),
  )

function addDatabaseMetrics(metrics: Metrics, { usage }: Database) {
  const [pool, state] = ['db_client_connection_pool_name', 'db_client_connection_state']
  metrics.addGauge(
    'db_client_connection_count',
    'Connections to the database, by what they do.',
    [pool, state],
    () =>
      usage().pools.flatMap(({ name, used, idle }) => [
        [{ [pool]: name, [state]: 'used' }, used],
        [{ [pool]: name, [state]: 'idle' }, idle],
      ]),
  )
  metrics.addGauge(
    'db_client_connection_pending_requests',
    'Operations that wait for a connection to the database.',
    [pool],
    () => usage().pools.map(({ name, pending, queued }) => [{ [pool]: name }, pending + queued]),
  )
  metrics.addCounter(
    'apps_shed_requests_total',
    'Work rejected because a bulkhead was full or its queue timed out.',
    ['kind'],
    () => Object.entries(usage().shed).map(([kind, count]) => [{ kind }, count]),
  )
  metrics.addCounter('apps_database_writes_total', 'Committed writes.', [], () => [
    [{}, usage().writes],
  ])
}

/**
 * Adds gauges of the apps that wait for a decision. While the database cannot be read, only these
 * gauges are missing.
 */
function addCatalogueMetrics(metrics: Metrics, database: Database) {
  let reading: ReturnType<typeof readCounts> | undefined

  /** Both gauges of a scrape share one read, so that they occupy one place in the queue. */
  function read() {
    reading ??= readCounts(database).finally(() => (reading = undefined))
    return reading
  }

  metrics.addGauge(
    'apps_by_status',
    'Apps in each state; changed ones are approved, too.',
    ['status'],
    async () => {
      const counts = await read()
      return Object.entries(counts?.apps ?? {}).map(([status, count]) => [{ status }, count])
    },
  )
  metrics.addGauge(
    'apps_oldest_pending_seconds',
    'How long the oldest pending app has waited; 0 if none waits.',
    [],
    async () => {
      const counts = await read()
      if (!counts) return []
      return [[{}, counts.oldest ? secondsSince(counts.oldest.waiting_since) : 0]]
    },
  )
}

/** Undefined while the database cannot be read. */
const readCounts = (database: Database) =>
  database
    .snapshot(
      async (runner) => ({
        apps: await countApps(runner),
        oldest: await findOldestWaiting(runner, 'pending'),
      }),
      { isExpensive: true },
    )
    .catch(() => undefined)
