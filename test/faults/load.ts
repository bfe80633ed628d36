import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** Building blocks of load tests: a server process, clients, and what they saw. */

export type ServerUnderLoad = {
  port: number
  /** Megabytes of memory: current and peak. */
  memory: () => { now: number; most: number }
  /** The longest time that the event loop was blocked since the last call, in milliseconds. */
  longestStall: () => Promise<number>
}

/** `SERVER` names the `src/apps-service.js` of another version, for comparison. */
const main = process.env.SERVER ?? `${import.meta.dirname}/../../src/apps-service.js`

/** No preparation. */
export const noPreparation = async () => {}

/** Serves a prepared copy of a database while the work runs. */
export async function withServer<T, Prepared>(
  database: string,
  prepare: (file: string) => Promise<Prepared>,
  work: (server: ServerUnderLoad, prepared: Prepared) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'apps-load-'))
  const file = join(folder, 'apps.sqlite')
  copyFileSync(database, file)
  const prepared = await prepare(file)
  const child = spawn(process.execPath, ['--import', `${import.meta.dirname}/event-loop-watchdog.ts`, main, 'serve'], {
    env: { PATH: process.env.PATH, PORT: '0', DATABASE_URL: `sqlite:${file}` },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  try {
    const server = {
      port: await portOf(child),
      memory: () => memoryOf(child),
      async longestStall() {
        child.send({})
        const [longest] = await once(child, 'message')
        return longest
      },
    }
    return await work(server, prepared)
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
    rmSync(folder, { recursive: true })
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return reject(new Error('its output cannot be read'))
    // Keep reading, or the process would block on a full pipe.
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { port } = line.includes('"port"') ? JSON.parse(line) : {}
      if (typeof port === 'number') resolve(port)
    })
    child.on('exit', (code) => reject(new Error(`the server exited with ${code}`)))
  })
}

function memoryOf({ pid }: ChildProcess) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
  return { now: megabytes('VmRSS'), most: megabytes('VmHWM') }
}

/** Milliseconds of responses by status; status 0 is a refused or broken connection. */
export type Seen = Record<number, number[]>

/** Clients that request targets in turn, each pausing that many milliseconds after each response. */
export type Clients = { port: number; clients: number; targets: string[]; pause?: number; milliseconds: number }

/** In a separate thread, so that they do not slow down the timed clients. */
export async function load(clients: Clients): Promise<Seen> {
  const worker = new Worker(import.meta.filename, { workerData: clients })
  const [seen] = await once(worker, 'message')
  return seen
}

async function ask({ port, clients, targets, pause = 0, milliseconds }: Clients): Promise<Seen> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const seen: Seen = {}
  const until = performance.now() + milliseconds
  let next = 0
  const client = async () => {
    while (performance.now() < until) {
      const target = targets[next++ % targets.length] ?? '/'
      const started = performance.now()
      const status = await statusOf(agent, port, target)
      seen[status] ??= []
      seen[status].push(performance.now() - started)
      if (pause > 0) await delay(pause)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  agent.destroy()
  return seen
}

const statusOf = (agent: Agent, port: number, path: string): Promise<number> =>
  new Promise((resolve) => {
    get({ agent, port, host: '127.0.0.1', path }, (response) => {
      response.on('end', () => resolve(response.statusCode ?? 0)).on('error', () => resolve(0))
      response.resume()
    }).on('error', () => resolve(0))
  })

/** Of all responses, regardless of status. */
export function percentile(seen: Seen, percent: number): number {
  const all = Object.values(seen)
    .flat()
    .toSorted((a, b) => a - b)
  return all[Math.min(all.length - 1, Math.floor((all.length * percent) / 100))] ?? Number.NaN
}

/** For example `503: 12, 200: 3001, p50 3.1, p99 20.5, most 31.0 ms`. */
export function told(seen: Seen): string {
  const counts = Object.entries(seen).map(([status, times]) => `${status}: ${times.length}`)
  const times = [50, 99, 100].map((percent) => percentile(seen, percent).toFixed(1))
  return `${counts.join(', ')}; p50 ${times[0]}, p99 ${times[1]}, most ${times[2]} ms`
}

/** Whether the calling file was started as a program. */
export const isProgram = (filename: string) => isMainThread && process.argv[1] === filename

/** Numbers below a size, evenly spread and equal in each run. */
export const spread = (count: number, size: number) =>
  Array.from({ length: count }, (_, index) => 1 + ((index * 7919) % size))

/** The bytes of a GET. */
export const getBytes = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')

if (!isMainThread && workerData?.targets) parentPort?.postMessage(await ask(workerData))
