import { AsyncLocalStorage } from 'node:async_hooks'

/** Milliseconds of a request, so far: in which it waited for the database, and in which its statements ran there. */
export type Timing = { waiting: number; sql: number }

const requestTiming = new AsyncLocalStorage<Timing | undefined>()

/** Whatever the work does, and waits for, counts as this request's; as nobody's, where a request does not wait for it. */
export const withTiming = <T>(timing: Timing | undefined, work: () => T): T => requestTiming.run(timing, work)

/** Counts the time that the work takes as spent on this, where a request has it done. */
export async function measure<T>(part: keyof Timing, work: () => Promise<T>): Promise<T> {
  const timing = requestTiming.getStore()
  if (!timing) return work()
  const began = performance.now()
  try {
    return await work()
  } finally {
    timing[part] += performance.now() - began
  }
}
