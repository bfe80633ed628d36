import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { required } from '../../../src/util/helpers.ts'
import { residentBytes } from '../../support/memory.ts'

/** Building blocks of load tests: a server process, clients, and the times of their requests. */

export type ServerUnderLoad = {
  port: number
  /** Its database. */
  file: string
  /** Megabytes of memory: current and peak. */
  memory: () => { now: number; max: number }
  /** The longest time that the event loop was blocked since the last call, in milliseconds. */
  longestStall: () => Promise<number>
}

const main = `${import.meta.dirname}/../../../src/apps-service.js`

/** Serves a copy of a database with `serve` or `moderation serve` while the work runs. */
export async function withServer<T>(
  database: string,
  work: (server: ServerUnderLoad) => Promise<T>,
  command = 'serve',
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'apps-load-'))
  const file = join(folder, 'apps.sqlite')
  copyFileSync(database, file)
  const child = spawn(
    process.execPath,
    ['--import', `${import.meta.dirname}/event-loop-watchdog.ts`, main, ...command.split(' ')],
    {
      env: {
        PATH: process.env.PATH,
        PORT: '0',
        MODERATION_PORT: '0',
        DATABASE_URL: `sqlite:${file}`,
      },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  )
  try {
    return await work({
      port: await portOf(child),
      file,
      memory: () => memoryOf(child),
      async longestStall() {
        child.send({})
        const [longest] = await once(child, 'message')
        return longest
      },
    })
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
    rmSync(folder, { recursive: true })
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return reject(new Error('the server has no standard output'))
    // Keep reading, or the process would block on a full pipe.
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { port } = line.includes('"port"') ? JSON.parse(line) : {}
      if (typeof port === 'number') resolve(port)
    })
    child.on('exit', (code) => reject(new Error(`the server exited with ${code}`)))
  })
}

function memoryOf({ pid }: ChildProcess) {
  const megabytes = (field: 'VmRSS' | 'VmHWM') =>
    Math.round(required(residentBytes(pid, field), field) / 2 ** 20)
  return { now: megabytes('VmRSS'), max: megabytes('VmHWM') }
}

/** The milliseconds of each request, by status; status 0 is a refused or broken connection. */
export type Timings = Record<number, number[]>

/**
 * Clients that request the targets in order. Each pauses that many milliseconds after each
 * response.
 */
type Clients = {
  port: number
  clients: number
  targets: string[]
  pause?: number
  milliseconds: number
}

/** Runs clients in a separate thread, so that they do not slow down other clients. */
export async function load(clients: Clients): Promise<Timings> {
  const worker = new Worker(import.meta.filename, { workerData: clients })
  const [timings] = await once(worker, 'message')
  return timings
}

/** Reads of different apps, reads of one cached app, and readiness probes. */
export async function loadOfOtherClients(port: number, milliseconds: number) {
  const request = (targets: string[]) =>
    load({ port, clients: 2, targets, pause: 10, milliseconds })
  const [byId, cached, ready] = await Promise.all([
    request(spread(10_000, catalogueSize).map((id) => `/apps/${id}`)),
    request(['/apps/77']),
    request(['/readyz']),
  ])
  return { byId, cached, ready }
}

async function run({ port, clients, targets, pause = 0, milliseconds }: Clients): Promise<Timings> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const timings: Timings = {}
  const until = performance.now() + milliseconds
  let next = 0
  const client = async () => {
    while (performance.now() < until) {
      const target = targets[next++ % targets.length] ?? '/'
      const started = performance.now()
      const status = await statusOf(agent, port, target)
      timings[status] ??= []
      timings[status].push(performance.now() - started)
      if (pause > 0) await delay(pause)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  agent.destroy()
  return timings
}

const statusOf = (agent: Agent, port: number, path: string): Promise<number> =>
  new Promise((resolve) => {
    get({ agent, port, host: '127.0.0.1', path }, (response) => {
      response.on('end', () => resolve(response.statusCode ?? 0)).on('error', () => resolve(0))
      response.resume()
    }).on('error', () => resolve(0))
  })

/** Of all requests, regardless of status. */
export function percentile(timings: Timings, percent: number): number {
  const all = Object.values(timings)
    .flat()
    .toSorted((a, b) => a - b)
  return all[Math.min(all.length - 1, Math.floor((all.length * percent) / 100))] ?? Number.NaN
}

/** For example `200: 3001, 503: 12; p50 3.1, p99 20.5, max 31.0 ms`. */
export function summarize(timings: Timings): string {
  const counts = Object.entries(timings).map(([status, times]) => `${status}: ${times.length}`)
  const times = [50, 99, 100].map((percent) => percentile(timings, percent).toFixed(1))
  return `${counts.join(', ')}; p50 ${times[0]}, p99 ${times[1]}, max ${times[2]} ms`
}

/** The number of apps in the catalogue of these tests. */
export const catalogueSize = 200_000

/** Numbers from 1 to `size`, evenly spread and equal in each run. */
export const spread = (count: number, size: number) =>
  Array.from({ length: count }, (_, index) => 1 + ((index * 7919) % size))

if (!isMainThread && workerData?.targets) parentPort?.postMessage(await run(workerData))
