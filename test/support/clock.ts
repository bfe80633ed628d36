import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, vi } from 'vitest'

/**
 * Freezes the monotonic clock until the test ends. Returns a function that advances it by
 * milliseconds.
 */
export function freezeMonotonicClock(): (milliseconds: number) => void {
  fakeUntilFinished({ toFake: ['performance'] })
  return (milliseconds) => vi.advanceTimersByTime(milliseconds)
}

/** Freezes the time of day until the test ends; timers still run. Returns it in milliseconds. */
export function freezeClock(time = Date.now()): number {
  fakeUntilFinished({ toFake: ['Date'], now: time })
  return time
}

/**
 * Stops the program's timers until the test ends, so that nothing that is queued times out, however
 * busy the machine is.
 */
export function stopTimers() {
  fakeUntilFinished({ toFake: ['setTimeout', 'clearTimeout'] })
}

/** Stops timers and the time of day until the test ends, so that `vi` decides when they go on. */
export function stopTime(now = Date.now()) {
  fakeUntilFinished({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now })
}

function fakeUntilFinished(options: Parameters<typeof vi.useFakeTimers>[0]) {
  vi.useFakeTimers(options)
  onTestFinished(() => {
    vi.useRealTimers()
  })
}

/** Until code under test has set its only timer, within some turns of the event loop. */
export async function waitForTimer() {
  for (let turn = 0; turn < 1000 && vi.getTimerCount() === 0; turn++) await setImmediate()
  expect(vi.getTimerCount(), 'timers').toBe(1)
}
