import { execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { symlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { whenFinished } from '../support/lifetime.ts'
import type { Run } from '../support/process.ts'

/** Programs of other packages. */

const root = `${import.meta.dirname}/../..`

export const isInstalled = (program: string) =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

/** Runs a program until the test ends, or what shares it. */
export function runUntilFinished(program: string, args: string[], options: SpawnOptions = {}) {
  const child = spawn(program, args, { stdio: 'ignore', ...options })
  whenFinished(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null) await once(child, 'exit')
  })
}

/**
 * Runs a program with only PATH from this environment. A missing program exits with 127, as in a
 * shell.
 */
export function execute(program: string, args: string[], cwd?: string): Promise<Run> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH }, cwd }
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 127
      resolve({ code, stdout, stderr })
    })
  })
}

/** The Python that has the package of generated clients. Throws with advice if there is none. */
export async function findPython(): Promise<string> {
  for (const python of ['python3', '/usr/bin/python3']) {
    if ((await execute(python, ['-c', 'import httpx'])).code === 0) return python
  }
  throw new Error('Clients need Python with httpx; on Debian: apt-get install python3-httpx')
}

/**
 * Runs commands for readers in an empty directory. npx runs the packages of the service, and fails if
 * a command names another version.
 */
export async function runCommands(commands: string, cwd: string, env: Record<string, string> = {}) {
  await symlink(`${root}/node_modules`, `${cwd}/node_modules`)
  const offline = { PATH: process.env.PATH, npm_config_offline: 'true' }
  await promisify(execFile)('sh', ['-ec', commands], { cwd, env: { ...offline, ...env } })
}

const tsc = `${root}/node_modules/.bin/tsc`

/** The errors of tsc with these options in a directory. */
export const typeErrors = (cwd: string, ...options: string[]): Promise<string> =>
  promisify(execFile)(tsc, options, { cwd }).then(
    () => '',
    (failure) => failure.stdout || String(failure),
  )
