import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  createReadStream,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, onTestFinished, vi } from 'vitest'
import { type CheckedResponse, check, type RequestOptions } from './check.ts'
import { whenFinished } from './lifetime.ts'

/** The command line. */
export const executable = `${import.meta.dirname}/../../apps-service`

/**
 * Variables for child processes, without others of the machine or the test runner, such as
 * BASE_URL.
 */
const { PATH, TZ, LC_ALL } = process.env
const inherited = { PATH, TZ, LC_ALL }

/** The working directory of child processes, unlike the root of the clone without a `.env`. */
const cwd = import.meta.dirname

export type Run = { code: number; stdout: string; stderr: string }

let lastCommand: Promise<unknown> = Promise.resolve()

/**
 * Runs the command line in this process, which saves loading its modules. Tests of signals, exits,
 * terminals, Node's options or the server call `runProcess` instead. Commands run one after the
 * other here, because they share the environment and the standard streams.
 */
export function run(
  args: string[],
  env: Record<string, string> = {},
  input: string | Buffer = '',
): Promise<Run> {
  const running = lastCommand.then(() => runHere(args, env, input))
  lastCommand = running.catch(() => {})
  return running
}

async function runHere(
  args: string[],
  env: Record<string, string>,
  input: string | Buffer,
): Promise<Run> {
  const program = await import('../../src/cli/program.ts')
  const { env: ownEnv, exitCode, stdout, stderr } = process
  const output = { stdout: '', stderr: '' }
  const capture =
    (name: keyof typeof output): typeof stdout.write =>
    (data: string | Uint8Array, ...rest: unknown[]) => {
      output[name] += data
      const done = rest.at(-1)
      if (typeof done === 'function') process.nextTick(done)
      return true
    }
  const restored = [
    vi.spyOn(stdout, 'write').mockImplementation(capture('stdout')),
    vi.spyOn(stderr, 'write').mockImplementation(capture('stderr')),
  ]
  const ownStdin = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {}
  const stdin = readInput(input)
  Object.defineProperty(process, 'stdin', { configurable: true, value: stdin })
  const listeners = stdout.listeners('error')
  const folder = process.cwd()
  process.chdir(cwd)
  process.env = { ...inherited, ...env }
  process.exitCode = 0
  try {
    await program.run(args)
    return { code: Number(process.exitCode), ...output }
  } finally {
    process.chdir(folder)
    process.env = ownEnv
    process.exitCode = exitCode
    Object.defineProperty(process, 'stdin', ownStdin)
    stdin.destroy()
    for (const spy of restored) spy.mockRestore()
    for (const listener of stdout.listeners('error')) {
      if (!listeners.includes(listener)) stdout.off('error', listener as () => void)
    }
  }
}

/** What standard input is in `command < file`, for a file with this content. */
function readInput(content: string | Buffer) {
  const folder = mkdtempSync(join(tmpdir(), 'apps-test-'))
  const file = join(folder, 'stdin')
  writeFileSync(file, content)
  const fd = openSync(file, 'r')
  rmSync(folder, { recursive: true })
  return createReadStream(file, { fd })
}

/** Runs the command line as a process, with `input` on standard input. */
export const runProcess = (
  args: string[],
  env: Record<string, string> = {},
  input: string | Buffer = '',
): Promise<Run> => runProgram(executable, args, env, input)

/** Runs any program so. */
export function runProgram(
  file: string,
  args: string[],
  env: Record<string, string>,
  input: string | Buffer,
): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(
      file,
      args,
      { env: { ...inherited, ...env }, cwd },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
      },
    )
    child.stdin?.on('error', () => {
      // It exited without reading everything.
    })
    child.stdin?.end(input)
  })
}

/** Whether `runInTerminal` works here: it needs the `script` of util-linux. */
export const hasTerminal = spawnSync('script', ['--version'], {
  encoding: 'utf8',
}).stdout?.includes('util-linux')

/** The output of a command in a terminal of this width, with control sequences. */
export async function runInTerminal(
  columns: number,
  args: string[],
  env: Record<string, string>,
): Promise<string> {
  const command = [executable, ...args].map((word) => `'${word}'`).join(' ')
  const { stdout } = await promisify(execFile)(
    'script',
    ['--quiet', '--return', '--command', `stty cols ${columns}; exec ${command}`, '/dev/null'],
    { env: { ...inherited, ...env }, cwd },
  )
  return stdout.replaceAll('\r\n', '\n')
}

/**
 * Sends a signal to a command once the file that it writes, alone in its directory, has `begun`.
 * Returns how the command exited and its error output. If it finished before the signal, it runs
 * again.
 */
export async function interrupt(
  command: string,
  file: string,
  env: Record<string, string>,
  signal: NodeJS.Signals,
  begun: () => boolean,
) {
  const child = spawn(executable, [command, file], {
    env: { ...inherited, ...env },
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const errorOutput = text(child.stderr)
  const exited = once(child, 'exit')
  while (!begun() && child.exitCode === null) await delay(1)
  child.kill(signal)
  const stopped = { exit: await exited, stderr: await errorOutput }
  if (!existsSync(file)) return stopped
  for (const name of readdirSync(dirname(file)))
    rmSync(join(dirname(file), name), { recursive: true })
  return interrupt(command, file, env, signal, begun)
}

/** Expects a failure with one line that gives the reason. */
export function expectRefusal({ code, stdout, stderr }: Run, line: RegExp) {
  expect(stderr).toMatch(line)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect([code, stdout]).toEqual([1, ''])
}

/** The command line on one database. `json` parses the output with --json. */
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
  /** The lines printed so far. */
  log: string[]
  exited: Promise<unknown[]>
  request: (method: string, path: string, options?: RequestOptions) => Promise<CheckedResponse>
}

/** Resolves to the port once it accepts a connection. */
async function untilListening(port: number): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  const isListening = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isListening ? port : delay(20).then(() => untilListening(port))
}

/** Starts the server as a process. If `env` has a LOG_LEVEL, it must have a PORT. */
export const serve = (databaseUrl: string, env: Record<string, string> = {}): Promise<Served> =>
  startListening('serve', { DATABASE_URL: databaseUrl, ...env })

/** Starts a command that listens on a free port; killed when the test, or what shares it, ends. */
export async function startListening(
  command: string,
  env: Record<string, string>,
  folder = cwd,
  file = executable,
): Promise<Served> {
  // First, because it throws if the test has ended by a timeout, and nothing would kill the process.
  whenFinished(() => child.kill('SIGKILL'))
  const child = spawn(file, command.split(' '), {
    env: { ...inherited, PORT: '0', ...env },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const log: string[] = []
  const port = await new Promise<number>((resolve, reject) => {
    // Keep reading, or the process would block on a full pipe.
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.push(line)
      // The last line of a killed process may be incomplete.
      const { port } = line.includes('"port"') ? JSON.parse(line) : {}
      if (typeof port === 'number') resolve(port)
    })
    // With a higher log level, it does not log its port.
    if (env.LOG_LEVEL !== undefined) untilListening(Number(env.PORT)).then(resolve, reject)
    child.on('exit', (code) =>
      reject(new Error(`${command} exited with ${code} before it listened`)),
    )
  })

  async function request(
    method: string,
    path: string,
    { key, headers = {}, json }: RequestOptions = {},
  ) {
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
    return check({
      method,
      path,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text: body,
    })
  }
  return { process: child, port, log, exited, request }
}
