import { execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

/** Programs of other packages. */

export const isInstalled = (program: string) =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

/** Runs a program until the test ends. */
export function runUntilFinished(program: string, args: string[], options: SpawnOptions = {}) {
  const child = spawn(program, args, { stdio: 'ignore', ...options })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null) await once(child, 'exit')
  })
}

const tsc = `${import.meta.dirname}/../../node_modules/.bin/tsc`

/** The errors of tsc with these options in a directory. */
export const typeErrors = (cwd: string, ...options: string[]): Promise<string> =>
  promisify(execFile)(tsc, options, { cwd }).then(
    () => '',
    (failure) => failure.stdout || String(failure),
  )
