import { ServiceError } from '../contract/errors.ts'
import { measure } from '../util/helpers.ts'

export type BulkheadLimits = Readonly<{
  /** Tasks that run at once. */
  concurrency: number
  /** Tasks that may wait. */
  queueLimit: number
  /** Milliseconds that a task may wait. */
  queueTimeout: number
}>

type QueuedTask = { start: () => void; fail: (error: Error) => void; deadline: number }

/**
 * Limits how many tasks of one kind run at once, so that they cannot starve other kinds. Others wait in a queue; a task throws
 * `unavailable` if the queue is full or it waits too long, and leaves the queue if its caller goes.
 */
export class Bulkhead {
  readonly #limits: BulkheadLimits
  #running = 0
  /** Oldest first. */
  readonly #queue = new Set<QueuedTask>()
  #timer: NodeJS.Timeout | undefined
  #rejected = 0

  constructor(limits: BulkheadLimits) {
    this.#limits = limits
  }

  get queued(): number {
    return this.#queue.size
  }

  /** Tasks rejected so far. */
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

  /** Resolves when a finished task passes its slot on to this one. */
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
      // Monotonic, since the system's clock may be set back.
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

  /** One timer for all, since the oldest task expires first. */
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

/** Spreads rejections over time; otherwise callers that came at once would all retry at once. */
const maxRejectionsPerTick = 10

/** The client has disconnected; nobody reads this. */
const abandoned = () => new ServiceError('unavailable', 'The client has disconnected.', { isExpected: true })
