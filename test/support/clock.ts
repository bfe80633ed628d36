import { onTestFinished, vi } from 'vitest'

/** Until the test ends it is the one time; timers run on. Returns it, in milliseconds. */
export function holdClock(time = Date.now()): number {
  vi.useFakeTimers({ toFake: ['Date'], now: time })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  return time
}
