import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { type CheckedResponse, check, type RequestOptions } from './check.ts'

const main = `${import.meta.dirname}/../../src/apps-service.js`

/** What the machine's environment or the test runner's says must not reach the program: BASE_URL, for one. */
const inherited = { PATH: process.env.PATH }

export type Run = { code: number; stdout: string; stderr: string }

/** Runs the command line in a process of its own; `input` is what it finds on standard input. */
export function run(args: string[], env: Record<string, string> = {}, input = ''): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [main, ...args],
      { env: { ...inherited, ...env } },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
      },
    )
    child.stdin?.on('error', () => {
      // It ended without reading all.
    })
    child.stdin?.end(input)
  })
}

/** Whether `runInTerminal` can be: with the `script` of util-linux. */
export const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')

/** All that a command shows at a terminal of so many columns, with what it tells the terminal to do. */
export async function runInTerminal(columns: number, args: string[], env: Record<string, string>): Promise<string> {
  const command = [process.execPath, main, ...args].map((word) => `'${word}'`).join(' ')
  const { stdout } = await promisify(execFile)(
    'script',
    ['--quiet', '--return', '--command', `stty cols ${columns}; exec ${command}`, '/dev/null'],
    { env: { ...inherited, ...env } },
  )
  return stdout.replaceAll('\r\n', '\n')
}

/**
 * A command that writes a file in a folder of nothing else, stopped when the file is `begun`; tells how it ended and what
 * it said. On a busy machine it may be done, or as good as that, before it can be stopped: then it begins again.
 */
export async function interrupt(
  command: string,
  file: string,
  env: Record<string, string>,
  signal: NodeJS.Signals,
  begun: () => boolean,
) {
  const child = spawn(process.execPath, [main, command, file], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const said = text(child.stderr)
  const exited = once(child, 'exit')
  while (!begun() && child.exitCode === null) await delay(1)
  child.kill(signal)
  const stopped = { exit: await exited, said: await said }
  if (!existsSync(file)) return stopped
  for (const name of readdirSync(dirname(file))) rmSync(join(dirname(file), name), { recursive: true })
  return interrupt(command, file, env, signal, begun)
}

/** It ended with one line that says why. */
export function expectRefusal({ code, stdout, stderr }: Run, line: RegExp) {
  expect(stderr).toMatch(line)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect([code, stdout]).toEqual([1, ''])
}

/** The command line on one database. `json` is what a command prints for programs. */
export function commandLine(databaseUrl: string) {
  const env = { DATABASE_URL: databaseUrl }
  return {
    run: (...args: string[]) => run(args, env),
    runWith: (input: string, ...args: string[]) => run(args, env, input),
    json: async (...args: string[]) => {
      const { code, stdout, stderr } = await run([...args, '--json'], env)
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout)
    },
  }
}

export type Served = {
  process: ChildProcess
  port: number
  /** Lines that it printed so far. */
  log: string[]
  exited: Promise<unknown[]>
  request: (method: string, path: string, options?: RequestOptions) => Promise<CheckedResponse>
}

/** The same port, when somebody takes a connection there. */
async function answering(port: number): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  const isTaken = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isTaken ? port : delay(20).then(() => answering(port))
}

/** The server in a process of its own; where the environment has a LOG_LEVEL, it has the PORT, too. */
export const serve = (databaseUrl: string, env: Record<string, string> = {}): Promise<Served> =>
  listening('serve', { DATABASE_URL: databaseUrl, ...env })

/** A command that listens, on a free port; killed when the test ends, if it still runs. */
export async function listening(command: string, env: Record<string, string>, folder = '.'): Promise<Served> {
  const child = spawn(process.execPath, [main, command], {
    env: { ...inherited, PORT: '0', ...env },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const log: string[] = []
  const port = await new Promise<number>((resolve, reject) => {
    // Read on to the end, or the process would wait for room in the pipe.
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.push(line)
      const entry = JSON.parse(line)
      if (typeof entry.port === 'number') resolve(entry.port)
    })
    // What is told to say little does not say where it listens.
    if (env.LOG_LEVEL !== undefined) answering(Number(env.PORT)).then(resolve, reject)
    child.on('exit', (code) => reject(new Error(`${command} ended with ${code} before it listened`)))
  })

  async function request(method: string, path: string, { key, headers = {}, json }: RequestOptions = {}) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...headers,
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(json !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const body = await response.text()
    return check({ method, path, status: response.status, headers: Object.fromEntries(response.headers), text: body })
  }
  return { process: child, port, log, exited, request }
}
