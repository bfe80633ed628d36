type Hold = { bytes: number; cancel: () => void }

/** Limits the memory that slow clients occupy. Over the limit, the oldest holds are cancelled. */
class ByteBudget {
  /** Bytes. */
  limit: number
  #total = 0
  /** Oldest first. */
  readonly #holds = new Set<Hold>()

  constructor(limit: number) {
    this.limit = limit
  }

  /** Counts bytes until the returned function is called. `cancel` must free them. */
  hold(bytes: number, cancel: () => void): () => void {
    const hold = { bytes, cancel }
    this.#holds.add(hold)
    this.#total += bytes
    for (const oldest of this.#holds) {
      if (this.#total <= this.limit) break
      this.#release(oldest)
      oldest.cancel()
    }
    return () => this.#release(hold)
  }

  #release(hold: Hold) {
    if (this.#holds.delete(hold)) this.#total -= hold.bytes
  }
}

/** Of the process: bodies that are arriving, and responses that clients have not read. */
export const slowClientBytes = new ByteBudget(48 * 2 ** 20)
