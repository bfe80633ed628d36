import { onTestFinished, vi } from 'vitest'

/**
 * Freezes the monotonic clock until the test ends. Returns a function that advances it by
 * milliseconds.
 */
export function freezeMonotonicClock(): (milliseconds: number) => void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  return (milliseconds) => vi.advanceTimersByTime(milliseconds)
}

/** Freezes the time of day until the test ends; timers still run. Returns it in milliseconds. */
export function freezeClock(time = Date.now()): number {
  vi.useFakeTimers({ toFake: ['Date'], now: time })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  return time
}

/**
 * Stops the program's timers until the test ends, so that nothing that is queued times out, however
 * busy the machine is.
 */
export function stopTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
}
