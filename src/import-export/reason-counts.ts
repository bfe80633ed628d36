import type { Problem } from '../contract/contract.ts'

/**
 * A problem of a line. Lines whose messages quote different values have the same `reason`, which
 * quotes none. `left_out`: the line is read without the value.
 */
export type LineProblem = Problem & { reason?: string; left_out?: true }

/** `example` is the first message, if the reason stands for several. */
export type ReasonCount = { reason: string; example?: string; count: number }

/** Some reasons quote the line, so a large file could otherwise fill the memory with them. */
const maxReasons = 1000

/**
 * Counts lines by the reasons of their problems. Indexes are left out of a reason, so that it is the
 * same for every line.
 */
export class ReasonCounts {
  readonly #counts = new Map<string, ReasonCount>()

  add(problems: LineProblem[]) {
    // Once per line, with the first message.
    const ofLine = new Set<string>()
    for (const { field, message, reason = message } of problems) {
      const place = field.replaceAll(/\/\d+(?=\/|$)/g, '/*') || 'line'
      const full = `${place}: ${reason}`
      if (ofLine.has(full)) continue
      ofLine.add(full)
      const isCounted = this.#counts.has(full) || this.#counts.size < maxReasons
      const key = isCounted ? full : 'other reasons'
      const example = isCounted && reason !== message && { example: `${place}: ${message}` }
      const counted = this.#counts.get(key) ?? { reason: key, ...example, count: 0 }
      counted.count++
      this.#counts.set(key, counted)
    }
  }

  /** The most frequent reason first. */
  all(): ReasonCount[] {
    return [...this.#counts.values()].toSorted((a, b) => b.count - a.count)
  }
}
