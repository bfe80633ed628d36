import { setImmediate } from 'node:timers/promises'
import type { Statement } from './dialect.ts'

/** Runs statements one after the other, and makes each ready while those before it are at work. Where one fails, none behind it runs. */
export async function runPipelined(steps: Iterable<() => Statement>) {
  let running: Promise<unknown> = Promise.resolve()
  for (const prepare of steps) {
    running = running.then(prepare())
    // Awaited below: until then a failure is nobody's.
    running.catch(() => {})
    // By then what can be sent has been.
    await setImmediate()
  }
  await running
}
