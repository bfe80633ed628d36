import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import { residentBytes } from '../../support/memory.ts'
import { get, getOk, type HttpResponse } from './client.ts'

/** Starts the service and its peers, each as a separate process. */

export type Server = {
  origin: string
  /** Its resident set in bytes; undefined on systems other than Linux. */
  memory: () => number | undefined
  stop: () => Promise<void>
}

/** Paths that all servers have. */
export const hotList = '/apps'
export const hotItem = '/apps/1'

const executable = `${import.meta.dirname}/../../../apps-service`

/** Runs as operators run it, with its access log in a file. */
export const startService = (databaseFile: string, folder: string) =>
  start(executable, ['serve'], join(folder, 'access.log'), (port) => ({
    PORT: String(port),
    DATABASE_URL: `sqlite:${databaseFile}`,
  }))

const startPeer = (name: string, folder: string, argument: string) =>
  start(
    process.execPath,
    [`${import.meta.dirname}/peers/${name}.ts`, argument],
    join(folder, `${name}.log`),
    (port) => ({
      PORT: String(port),
    }),
  )

/** Starts node:http and Express servers that send copies of the service's cached responses. */
export async function startStaticServers(service: Server, folder: string) {
  const file = join(folder, 'responses.json')
  const responses = [hotList, hotItem].map(async (target) => [
    target,
    staticPart(await getCached(service, target)),
  ])
  writeFileSync(file, JSON.stringify(Object.fromEntries(await Promise.all(responses))))
  return {
    bare: await startPeer('bare', folder, file),
    express: await startPeer('express', folder, file),
  }
}

export const startFastify = (databaseFile: string, folder: string) =>
  startPeer('fastify', folder, databaseFile)

export const startFrameworks = (databaseFile: string, folder: string) =>
  startPeer('frameworks', folder, databaseFile)

/** The second request puts the response into the cache, so the third is a hit. */
async function getCached({ origin }: Server, target: string): Promise<HttpResponse> {
  for (let times = 1; times < 3; times++) await getOk(origin, target)
  return getOk(origin, target)
}

/** The response without the headers that Node sets itself. */
function staticPart({ rawHeaders, body }: HttpResponse) {
  const setByNode = ['date', 'connection', 'keep-alive']
  const names = rawHeaders.filter((_, index) => index % 2 === 0)
  const headers = names.flatMap((name, index) =>
    setByNode.includes(name.toLowerCase()) ? [] : [name, rawHeaders[2 * index + 1] ?? ''],
  )
  return { headers, body: body.toString() }
}

/** Killed when this process exits. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill()
})

async function start(
  command: string,
  args: string[],
  logFile: string,
  environment: (port: number) => Record<string, string>,
): Promise<Server> {
  const port = await freePort()
  const log = openSync(logFile, 'w')
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, ...environment(port) },
    stdio: ['ignore', log, 'inherit'],
  })
  const exited = once(child, 'exit')
  running.add(child)
  const origin = `http://127.0.0.1:${port}`
  await waitUntilReady(origin, child)
  return {
    origin,
    memory: () => residentBytes(child.pid),
    async stop() {
      child.kill()
      await exited
      running.delete(child)
    },
  }
}

/** Resolves on the first 200. */
export async function waitUntilReady(origin: string, child: ChildProcess) {
  for (;;) {
    if (child.exitCode !== null)
      throw new Error(`a server exited with ${child.exitCode} before its first 200`)
    const response = await get(origin, hotList).catch(() => undefined)
    if (response?.status === 200) return
    await delay(5)
  }
}
