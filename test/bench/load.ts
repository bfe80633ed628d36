import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import autocannon from 'autocannon'

/** Many connections that ask at once, by wrk where it is installed, else by autocannon, which needs a core to itself earlier. */

export type Load = {
  /** Asked for in this order, from the first on. */
  addresses: readonly string[]
  /** Whether the last of them ends it before its time; else it begins anew with the first. */
  once: boolean
  seconds: number
  /** What every answer is. */
  status: 200 | 404
}

export type Throughput = {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** Cores that asking took: near 1, what is measured is the load and not the server. */
  cores: number
}

type Counted = {
  requests: number
  seconds: number
  p50: number
  p99: number
  refused: number
  failed: number
  /** Seconds. */
  cpu: number
}

const connections = 32

export const loader = spawnSync('wrk', ['-v']).error ? 'autocannon' : 'wrk'

/** `folder` is for files of its own. */
export async function put(load: Load, origin: string, folder: string): Promise<Throughput> {
  const counted = loader === 'wrk' ? await byWrk(load, origin, folder) : await byAutocannon(load, origin)
  const { requests, seconds, p50, p99, refused, failed, cpu } = counted
  const wrong = failed + (load.status === 200 ? refused : requests - refused)
  if (wrong > 0 || requests === 0) throw new Error(`${wrong} of ${requests} requests were not answered as expected`)
  return { perSecond: requests / seconds, p50, p99, cores: cpu / seconds }
}

async function byWrk({ addresses, once, seconds }: Load, origin: string, folder: string): Promise<Counted> {
  const file = join(folder, 'addresses')
  writeFileSync(file, addresses.join('\n'))
  const script = `${import.meta.dirname}/wrk.lua`
  const { stdout } = await promisify(execFile)('wrk', [
    ...['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`, '--timeout', '30s'],
    ...['--script', script, origin, '--', file, once ? 'once' : 'again'],
  ])
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

async function byAutocannon({ addresses, once, seconds }: Load, origin: string): Promise<Counted> {
  const before = process.cpuUsage()
  let clients = 0
  const result = await autocannon({
    url: origin,
    connections,
    // Milliseconds: it looks this often whether it is done.
    sampleInt: 20,
    ...(once ? { amount: addresses.length - (addresses.length % connections) } : { duration: seconds }),
    setupClient(client) {
      // Each has a part of them, or what is to be asked for once would be asked for by all.
      const first = clients++
      const own = once ? addresses.filter((_, index) => index % connections === first) : addresses
      client.setRequests(own.map((path) => ({ path })))
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
    cpu: (user + system) / 1e6,
  }
}
