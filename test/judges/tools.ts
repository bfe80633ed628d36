import { type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
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
