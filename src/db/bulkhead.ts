import { ServiceError } from '../contract/errors.ts'
import { measure } from '../util/timing.ts'

/** What a bulkhead has room for. */
export type BulkheadLimits = Readonly<{
  /** How much is done in it at once. */
  concurrency: number
  /** How much may wait. */
  queueLimit: number
  /** Milliseconds that anything waits. */
  queueTimeout: number
}>

type QueuedTask = { start: () => void; fail: (error: Error) => void; deadline: number }

/**
 * Work of a kind that is done so much at once, in the order in which it came: other kinds have bulkheads of their own, which it
 * cannot take. What finds too much waiting, or waits too long, throws `unavailable`; what nobody wants any more leaves.
 */
export class Bulkhead {
  readonly #limits: BulkheadLimits
  #running = 0
  /** The first has waited longest. */
  readonly #queue = new Set<QueuedTask>()
  #timer: NodeJS.Timeout | undefined
  #rejected = 0

  constructor(limits: BulkheadLimits) {
    this.#limits = limits
  }

  get queued(): number {
    return this.#queue.size
  }

  /** How much was sent away since the beginning. */
  get rejected(): number {
    return this.#rejected
  }

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) throw abandoned()
    if (this.#running < this.#limits.concurrency) this.#running++
    else await measure('waiting', () => this.#waitForSlot(signal))
    try {
      return await work()
    } finally {
      this.#releaseSlot()
    }
  }

  /** Resolves when it is this work's turn: whoever has finished hands its place on. */
  async #waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    if (this.#queue.size >= this.#limits.queueLimit) throw this.#overloaded()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const queued: QueuedTask = {
      start: () => {
        this.#remove(queued)
        signal?.removeEventListener('abort', onAbort)
        resolve()
      },
      fail: (error) => {
        this.#remove(queued)
        signal?.removeEventListener('abort', onAbort)
        reject(error)
      },
      // Not by the clock of the day, which may be set back.
      deadline: performance.now() + this.#limits.queueTimeout,
    }
    const onAbort = () => queued.fail(abandoned())
    signal?.addEventListener('abort', onAbort)
    this.#queue.add(queued)
    this.#timer ??= this.#startTimer(queued)
    return promise
  }

  #releaseSlot() {
    const [next] = this.#queue
    if (next) next.start()
    else this.#running--
  }

  #remove(queued: QueuedTask) {
    this.#queue.delete(queued)
    if (this.#queue.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** One timer for all: nothing runs out before what has waited longest. */
  #startTimer({ deadline }: QueuedTask): NodeJS.Timeout {
    return setTimeout(() => this.#rejectExpired(), Math.max(1, deadline - performance.now()))
  }

  #rejectExpired() {
    // A timer may come a fraction of a millisecond early.
    const now = performance.now() + 1
    for (const queued of [...this.#queue].slice(0, maxRejectionsPerTick)) {
      if (queued.deadline <= now) queued.fail(this.#overloaded())
    }
    const [next] = this.#queue
    this.#timer = next && this.#startTimer(next)
  }

  #overloaded(): ServiceError {
    this.#rejected++
    const message = 'The service is overloaded; try again shortly.'
    return new ServiceError('unavailable', message, { isExpected: true })
  }
}

/** How much is sent away in one turn of the event loop: what has come at once would else be answered, and come again, at once. */
const maxRejectionsPerTick = 10

/** It reaches nobody. */
const abandoned = () => new ServiceError('unavailable', 'The client has disconnected.', { isExpected: true })
