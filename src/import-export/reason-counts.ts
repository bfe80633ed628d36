import type { Problem } from '../contract/contract.ts'

/**
 * A problem of a line. Lines whose messages quote different values have the same `reason`, which
 * quotes none. `left_out`: the line is read without the value.
 */
export type LineProblem = Problem & { reason?: string; left_out?: true }

/** `example` is the first message, if the reason stands for several. */
export type ReasonCount = { reason: string; example?: string; count: number; left_out?: true }

/** Some reasons quote the line, so a large file could otherwise fill the memory with them. */
const maxReasons = 1000

/**
 * Counts refused lines and values that are left out, by reason. Indexes are left out of a reason, so that it is the same for
 * every line.
 */
export class ReasonCounts {
  readonly #counts = new Map<string, ReasonCount>()

  add(problems: LineProblem[]) {
    // Once per line, with the first message.
    const ofLine = new Set<string>()
    for (const { field, message, reason = message, left_out } of problems) {
      const place = field.replaceAll(/\/\d+(?=\/|$)/g, '/*') || 'line'
      const full = `${place}: ${reason}`
      const mark = left_out && { left_out }
      const keyOf = (text: string) => `${left_out} ${text}`
      if (ofLine.has(full)) continue
      ofLine.add(full)
      const isCounted = this.#counts.has(keyOf(full)) || this.#counts.size < maxReasons
      const shown = isCounted ? full : 'other reasons'
      const example = isCounted && reason !== message && { example: `${place}: ${message}` }
      const counted = this.#counts.get(keyOf(shown)) ?? {
        reason: shown,
        ...example,
        count: 0,
        ...mark,
      }
      counted.count++
      this.#counts.set(keyOf(shown), counted)
    }
  }

  /** The most frequent reason first. */
  all(): ReasonCount[] {
    return [...this.#counts.values()].toSorted((a, b) => b.count - a.count)
  }
}
