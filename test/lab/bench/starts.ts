import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../support/free-port.ts'
import { figure, type Section, type Target } from './report.ts'
import type { Scale } from './scale.ts'
import { waitUntilReady } from './servers.ts'

/**
 * The time from the start of a process to the end of a command, or to a server's first response.
 */

const root = `${import.meta.dirname}/../../..`
const executable = './apps-service'

type Start = { name: string; command: string[]; isServer: boolean; maxSeconds?: number }

const starts: Start[] = [
  {
    name: './apps-service serve, to the first response',
    command: [executable, 'serve'],
    isServer: true,
    maxSeconds: 0.5,
  },
  {
    name: './apps-service category list',
    command: [executable, 'category', 'list'],
    isServer: false,
    maxSeconds: 0.25,
  },
  { name: 'node, empty program', command: [process.execPath, '--eval', ''], isServer: false },
]

export async function measureStarts(
  databaseFile: string,
  { starts: rounds }: Scale,
): Promise<Section> {
  const times = new Map<Start, number[]>(starts.map((start) => [start, []]))
  // Round 0 reads the files into the system's cache.
  for (let round = 0; round <= rounds; round++) {
    for (const start of starts) {
      const seconds = await secondsOf(start, databaseFile)
      if (round > 0) times.get(start)?.push(seconds)
    }
  }
  return {
    title: 'Start',
    tables: [
      {
        head: ['', 'time'],
        rows: starts.map((start) => [start.name, figure(times.get(start) ?? [], 'seconds')]),
      },
    ],
    musts: starts.flatMap((start): Target[] =>
      start.maxSeconds === undefined
        ? []
        : [
            {
              what: start.name,
              values: times.get(start) ?? [],
              bound: { atMost: start.maxSeconds },
              unit: 'seconds',
            },
          ],
    ),
  }
}

async function secondsOf(
  { command: [file = '', ...args], isServer }: Start,
  databaseFile: string,
): Promise<number> {
  const port = await freePort()
  const started = performance.now()
  const child = spawn(file, args, {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: String(port),
      DATABASE_URL: `sqlite:${databaseFile}`,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  if (!isServer) {
    const [code] = await exited
    if (code !== 0) throw new Error(`${file} ${args.join(' ')} exited with ${code}`)
    return (performance.now() - started) / 1000
  }
  await waitUntilReady(`http://127.0.0.1:${port}`, child)
  const seconds = (performance.now() - started) / 1000
  child.kill()
  await exited
  return seconds
}
