import { onTestFinished, vi } from 'vitest'

/** Until the test ends the clock that nobody sets stands still, but for what the test says. Returns what moves it, by milliseconds. */
export function freezeMonotonicClock(): (milliseconds: number) => void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  return (milliseconds) => vi.advanceTimersByTime(milliseconds)
}

/** Until the test ends it is the one time; timers run on. Returns it, in milliseconds. */
export function freezeClock(time = Date.now()): number {
  vi.useFakeTimers({ toFake: ['Date'], now: time })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  return time
}
