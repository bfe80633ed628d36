import { ServiceError } from '../contract/errors.ts'
import { spending } from '../util/timing.ts'

/** What a lane has room for. */
export type LaneBounds = Readonly<{
  /** How much is done in it at once. */
  width: number
  /** How much may wait. */
  length: number
  /** Milliseconds that anything waits. */
  patience: number
}>

type Waiting = { begin: () => void; leave: (error: Error) => void; until: number }

/**
 * Work of a kind that is done so much at once, in the order in which it came: other kinds have lanes of their own, which it
 * cannot take. What finds too much waiting, or waits too long, throws `unavailable`; what nobody wants any more leaves.
 */
export class Lane {
  readonly #bounds: LaneBounds
  #running = 0
  /** The first has waited longest. */
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined
  #refused = 0

  constructor(bounds: LaneBounds) {
    this.#bounds = bounds
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** How much was sent away since the beginning. */
  get refused(): number {
    return this.#refused
  }

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) throw unwanted()
    if (this.#running < this.#bounds.width) this.#running++
    else await spending('waiting', () => this.#turn(signal))
    try {
      return await work()
    } finally {
      this.#handOn()
    }
  }

  /** Resolves when it is this work's turn: whoever has finished hands its place on. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#bounds.length) throw this.#overloaded()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting: Waiting = {
      begin: () => {
        this.#remove(waiting)
        signal?.removeEventListener('abort', abandon)
        resolve()
      },
      leave: (error) => {
        this.#remove(waiting)
        signal?.removeEventListener('abort', abandon)
        reject(error)
      },
      // Not by the clock of the day, which may be set back.
      until: performance.now() + this.#bounds.patience,
    }
    const abandon = () => waiting.leave(unwanted())
    signal?.addEventListener('abort', abandon)
    this.#waiting.add(waiting)
    this.#timer ??= this.#timeFor(waiting)
    return promise
  }

  #handOn() {
    const [next] = this.#waiting
    if (next) next.begin()
    else this.#running--
  }

  #remove(waiting: Waiting) {
    this.#waiting.delete(waiting)
    if (this.#waiting.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** One timer for all: nothing runs out before what has waited longest. */
  #timeFor({ until }: Waiting): NodeJS.Timeout {
    return setTimeout(() => this.#sendAway(), Math.max(1, until - performance.now()))
  }

  #sendAway() {
    // A timer may come a fraction of a millisecond early.
    const now = performance.now() + 1
    for (const waiting of [...this.#waiting].slice(0, atOnce)) {
      if (waiting.until <= now) waiting.leave(this.#overloaded())
    }
    const [next] = this.#waiting
    this.#timer = next && this.#timeFor(next)
  }

  #overloaded(): ServiceError {
    this.#refused++
    const message = 'The service has more to do than it can do now; try again shortly.'
    return new ServiceError('unavailable', message, { isMeant: true })
  }
}

/** How much is sent away in one turn of the event loop: what has come at once would else be answered, and come again, at once. */
const atOnce = 10

/** It reaches nobody. */
const unwanted = () => new ServiceError('unavailable', 'Nobody waits for this any more.', { isMeant: true })
