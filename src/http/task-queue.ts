/** How much is done in one turn of the event loop. */
const atOnce = 32

/**
 * Does what has come, a little in each turn of the event loop, so that what comes meanwhile, new connections among it (libuv
 * takes one in a turn), does not wait until all is done. It goes round by what was asked for: what very many ask for does
 * not keep others from theirs.
 */
export class TaskQueue {
  /** Goes round: the first is next. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #isDue = false

  add(askedFor: string, work: () => void) {
    const others = this.#waiting.get(askedFor)
    if (others) others.push(work)
    else this.#waiting.set(askedFor, [work])
    this.#goOn()
  }

  #goOn() {
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(this.#go)
  }

  readonly #go = () => {
    this.#isDue = false
    for (let left = atOnce; left > 0; left--) {
      const [first] = this.#waiting
      if (!first) return
      const [askedFor, works] = first
      this.#waiting.delete(askedFor)
      const work = works.shift()
      if (works.length > 0) this.#waiting.set(askedFor, works)
      work?.()
    }
    if (this.#waiting.size > 0) this.#goOn()
  }
}
