import { ServiceError } from '../contract/errors.ts'

/** Open connections of a server; each has one request in flight. */
export const maxConnections = 10_000

type BulkheadLimits = Readonly<{
  /** Tasks, or groups of queued tasks, that run at once. */
  concurrency: number
  /** Queued tasks that start together; 1 by default. */
  groupSize?: number
  /** Tasks that may wait. */
  queueLimit: number
  /** Milliseconds that a task may wait, give or take a tenth. */
  queueTimeout: number
  /** Returns why the running tasks do not end, if something other than load is the cause. */
  findCause?: () => Error | undefined
}>

type TaskOptions = {
  /** Aborted when the caller disconnects. */
  signal?: AbortSignal | undefined
  /** Waits before all other tasks, also if the queue is full. */
  isFirst?: boolean
  /** Milliseconds, instead of those of the bulkhead. */
  queueTimeout?: number
  /** Of the tasks with one key, one at a time runs. Others wait in the queue and take no slot. */
  key?: number | undefined
}

/** One unit of concurrency, which a group holds until its last task ends. */
type Slot = { tasks: number }

/**
 * Limits how many tasks of one kind run at once, so that they cannot starve other kinds. Others
 * wait in a queue; a task throws `unavailable` if the queue is full or it waits too long, and
 * leaves the queue if its caller disconnects.
 */
export class Bulkhead {
  readonly #limits: BulkheadLimits
  #running = 0
  /** Of the running tasks. */
  #keys = new Set<number | undefined>()
  /** Functions that start the waiting tasks, oldest first, and their keys. */
  #queue = new Map<(slot: Slot) => void, number | undefined>()
  /** Tasks rejected so far. */
  rejected = 0

  constructor(limits: BulkheadLimits) {
    this.#limits = limits
  }

  get queued(): number {
    return this.#queue.size
  }

  async run<T>(work: () => Promise<T>, options: TaskOptions = {}): Promise<T> {
    if (options.signal?.aborted) throw abandoned()
    const isFree = this.#running < this.#limits.concurrency && this.#reserve(options.key)
    if (isFree) this.#running++
    const slot = isFree ? { tasks: 1 } : await this.#waitForSlot(options)
    try {
      return await work()
    } finally {
      this.#keys.delete(options.key)
      slot.tasks--
      if (slot.tasks === 0) this.#passOn(slot)
    }
  }

  /** Starts the next group in the slot, or frees it. */
  #passOn(slot: Slot) {
    const group = this.#queue
      .entries()
      .filter(([, key]) => this.#reserve(key))
      .take(this.#limits.groupSize ?? 1)
      .toArray()
    slot.tasks = group.length
    if (group.length === 0) this.#running--
    for (const [start] of group) start(slot)
  }

  /** Returns whether a task with the key can run now, and lets no other one run until it ends. */
  #reserve(key: number | undefined): boolean {
    if (key === undefined) return true
    const isFree = !this.#keys.has(key)
    this.#keys.add(key)
    return isFree
  }

  /** Resolves when a finished group passes its slot on to the group of this task. */
  async #waitForSlot({
    signal,
    isFirst = false,
    queueTimeout = this.#limits.queueTimeout,
    key,
  }: TaskOptions): Promise<Slot> {
    const { queueLimit } = this.#limits
    if (this.#queue.size >= queueLimit && !isFirst) throw this.#overloaded()
    const { promise, resolve, reject } = Promise.withResolvers<Slot>()
    const leaveQueue = () => {
      this.#queue.delete(start)
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    const start = (slot: Slot) => {
      leaveQueue()
      resolve(slot)
    }
    const fail = (error: Error) => {
      leaveQueue()
      reject(error)
    }
    const onAbort = () => fail(abandoned())
    // Spread, because callers that are refused at once also retry at once.
    const timeout = queueTimeout * (0.9 + 0.2 * Math.random())
    const timer = setTimeout(() => fail(this.#overloaded()), timeout).unref()
    signal?.addEventListener('abort', onAbort)
    if (isFirst) this.#queue = new Map([[start, key], ...this.#queue])
    else this.#queue.set(start, key)
    return promise
  }

  #overloaded(): ServiceError {
    this.rejected++
    const message = 'The service is overloaded; try again shortly.'
    const cause = this.#limits.findCause?.()
    return new ServiceError('unavailable', message, cause ? {} : { isExpected: true }, { cause })
  }
}

/** Nobody reads this message: the client has disconnected. */
const abandoned = () =>
  new ServiceError('unavailable', 'The client has disconnected.', { isExpected: true })
