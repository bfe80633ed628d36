import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { type Answer, get, getOk } from './client.ts'

/** Servers in processes of their own, as they would run. */

export type Server = {
  origin: string
  /** Bytes of it that are in memory; undefined where the system does not say. */
  memory: () => number | undefined
  stop: () => Promise<void>
}

/** What every server answers. */
export const hotList = '/apps'
export const hotItem = '/apps/1'

const main = `${import.meta.dirname}/../../src/apps-service.js`

/** The service as its operators run it, with its access log in a file. */
export const startService = (databaseFile: string, folder: string) =>
  start([main, 'serve'], join(folder, 'access.log'), (port) => ({
    PORT: String(port),
    DATABASE_URL: `sqlite:${databaseFile}`,
  }))

const peer = (name: string, folder: string, argument: string) =>
  start([`${import.meta.dirname}/peers/${name}.ts`, argument], join(folder, `${name}.log`), (port) => ({
    PORT: String(port),
  }))

/** Node's own server, and Express on it, that give the service's hot answers, which they know by heart. */
export async function startStaticServers(service: Server, folder: string) {
  const file = join(folder, 'answers.json')
  const answers = [hotList, hotItem].map(async (target) => [
    target,
    comparable(await readWarmResponse(service, target)),
  ])
  writeFileSync(file, JSON.stringify(Object.fromEntries(await Promise.all(answers))))
  return { bare: await peer('bare', folder, file), express: await peer('express', folder, file) }
}

export const startFastify = (databaseFile: string, folder: string) => peer('fastify', folder, databaseFile)

/** Kept from the second time on, so that the third is an answer that was kept. */
async function readWarmResponse({ origin }: Server, target: string): Promise<Answer> {
  for (let times = 1; times < 3; times++) await getOk(origin, target)
  return getOk(origin, target)
}

/** An answer without what each has of its own, which Node sets by itself. */
function comparable({ rawHeaders, body }: Answer) {
  const own = ['date', 'connection', 'keep-alive']
  const names = rawHeaders.filter((_, index) => index % 2 === 0)
  const headers = names.flatMap((name, index) =>
    own.includes(name.toLowerCase()) ? [] : [name, rawHeaders[2 * index + 1] ?? ''],
  )
  return { headers, body: body.toString() }
}

/** What is left of these when this process ends, ends with it. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill()
})

async function start(
  command: string[],
  logFile: string,
  environment: (port: number) => Record<string, string>,
): Promise<Server> {
  const port = await freePort()
  const log = openSync(logFile, 'w')
  const child = spawn(process.execPath, command, {
    env: { PATH: process.env.PATH, ...environment(port) },
    stdio: ['ignore', log, 'inherit'],
  })
  const exited = once(child, 'exit')
  running.add(child)
  const origin = `http://127.0.0.1:${port}`
  await answering(origin, child)
  return {
    origin,
    memory: () => residentBytes(child.pid ?? 0),
    async stop() {
      child.kill()
      await exited
      running.delete(child)
    },
  }
}

/** Resolves when the first answer of 200 has come. */
export async function answering(origin: string, child: ChildProcess) {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`a server ended with ${child.exitCode} before it answered`)
    const answer = await get(origin, hotList).catch(() => undefined)
    if (answer?.status === 200) return
    await delay(5)
  }
}

/** Linux says it in a file; elsewhere nothing is told. */
export function residentBytes(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number | undefined {
  const file = `/proc/${pid}/status`
  if (!existsSync(file)) return undefined
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(file, 'utf8'))?.[1]
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
}
