import { AsyncLocalStorage } from 'node:async_hooks'

/** Milliseconds of a request, so far: in which it waited for the database, and in which its statements ran there. */
export type Spent = { waiting: number; sql: number }

const ofRequest = new AsyncLocalStorage<Spent | undefined>()

/** Whatever the work does, and waits for, counts as this request's; as nobody's, where a request does not wait for it. */
export const spentBy = <T>(spent: Spent | undefined, work: () => T): T => ofRequest.run(spent, work)

/** Counts the time that the work takes as spent on this, where a request has it done. */
export async function spending<T>(on: keyof Spent, work: () => Promise<T>): Promise<T> {
  const spent = ofRequest.getStore()
  if (!spent) return work()
  const began = performance.now()
  try {
    return await work()
  } finally {
    spent[on] += performance.now() - began
  }
}
