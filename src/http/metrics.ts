import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { Config } from '../config.ts'

/** A value of a metric, and its labels. */
type Sample = [labels: Record<string, string>, value: number]

/**
 * OpenTelemetry's for `http.server.request.duration`, in seconds (semantic conventions, "HTTP
 * metrics").
 */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/**
 * The metrics for Prometheus. The library itself measures the process, its event loop and garbage
 * collection.
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

  observeRequest(
    { method }: IncomingMessage,
    { statusCode, context: { route } }: ServerResponse,
    duration: number,
  ) {
    const labels = {
      // Node's parser knows 35 methods, and refuses others.
      http_request_method: method,
      http_response_status_code: statusCode,
      ...(route !== undefined && { http_route: route }),
    }
    this.#durations.observe(labels, duration / 1000)
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
  async listen({ host, metricsPort }: Pick<Config, 'host' | 'metricsPort'>): Promise<() => void> {
    // It must not keep the process alive if the service cannot listen.
    const server = createServer(this.#listener).listen(metricsPort, host).unref()
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
