import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import autocannon from 'autocannon'

/**
 * Requests on many connections, sent by wrk if it is installed. autocannon, the fallback, uses up a
 * core sooner.
 */

export type Load = {
  /** Requested in this order. */
  paths: readonly string[]
  /**
   * Whether the load ends after the last path, even before its time. Otherwise it starts over with
   * the first.
   */
  once: boolean
  seconds: number
  /** The expected status of every response. */
  status: 200 | 404
}

export type Throughput = {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** Cores used by the load generator. Near 1, it is the bottleneck instead of the server. */
  cores: number
}

/** Times in milliseconds unless named otherwise. */
type Report = {
  requests: number
  seconds: number
  p50: number
  p99: number
  /** Responses with an error status. */
  refused: number
  /** Connection errors and timeouts. */
  failed: number
  cpuSeconds: number
}

const connections = 32

export const loader = spawnSync('wrk', ['-v']).error ? 'autocannon' : 'wrk'

/** `folder` is for temporary files. */
export async function putUnderLoad(
  load: Load,
  origin: string,
  folder: string,
): Promise<Throughput> {
  const report =
    loader === 'wrk' ? await runWrk(load, origin, folder) : await runAutocannon(load, origin)
  const { requests, seconds, p50, p99, refused, failed, cpuSeconds } = report
  const wrong = failed + (load.status === 200 ? refused : requests - refused)
  if (wrong > 0 || requests === 0)
    throw new Error(`${wrong} of ${requests} requests did not get a ${load.status}`)
  return { perSecond: requests / seconds, p50, p99, cores: cpuSeconds / seconds }
}

async function runWrk(
  { paths, once, seconds }: Load,
  origin: string,
  folder: string,
): Promise<Report> {
  const file = join(folder, 'paths')
  writeFileSync(file, paths.join('\n'))
  const script = `${import.meta.dirname}/wrk.lua`
  const { stdout } = await promisify(execFile)('wrk', [
    ...[
      '--threads',
      '1',
      '--connections',
      String(connections),
      '--duration',
      // wrk takes only whole seconds.
      `${Math.ceil(seconds)}s`,
      '--timeout',
      '30s',
    ],
    ...['--script', script, origin, '--', file, once ? 'once' : 'repeat'],
  ])
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

async function runAutocannon({ paths, once, seconds }: Load, origin: string): Promise<Report> {
  const before = process.cpuUsage()
  let clients = 0
  const result = await autocannon({
    url: origin,
    connections,
    // The interval, in milliseconds, in which it checks whether it is done.
    sampleInt: 20,
    ...(once ? { amount: paths.length - (paths.length % connections) } : { duration: seconds }),
    setupClient(client) {
      // With `once`, each client gets its share of the paths, because otherwise each would request
      // all of them.
      const first = clients++
      const share = once ? paths.filter((_, index) => index % connections === first) : paths
      client.setRequests(share.map((path) => ({ path })))
    },
  })
  const { user, system } = process.cpuUsage(before)
  return {
    requests: result.requests.total,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    refused: result.non2xx,
    failed: result.errors + result.timeouts,
    cpuSeconds: (user + system) / 1e6,
  }
}
