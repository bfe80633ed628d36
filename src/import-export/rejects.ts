import type { Problem } from '../contract/contract.ts'
import { findRepeatedField } from '../contract/json-text.ts'

/**
 * A line of a rejects file: a refused line with its problems. Once `rejected` is corrected, import
 * accepts it.
 */
export function toReject(line: number, problems: Problem[], text: string | undefined) {
  const value = text === undefined ? undefined : unwrapReject(parseOrText(text))
  const errors = problems.map(({ field, message }) => ({ field, message }))
  return { line, errors, rejected: isNestedTooDeeply(value) ? text : value }
}

/**
 * The line itself, or the line within a reject. A reject that was refused again is a reject within
 * a reject.
 */
export function unwrapReject(value: unknown): unknown {
  let line = value
  while (isReject(line))
    line = typeof line.rejected === 'string' ? parseOrText(line.rejected) : line.rejected
  return line
}

const isReject = (value: unknown): value is { rejected: unknown } =>
  isObject(value) && 'rejected' in value && 'errors' in value

/**
 * More levels than any valid line has, and few enough not to overflow the stack of JSON.stringify.
 */
const maxDepth = 100

export const isNestedTooDeeply = (value: unknown, depth = 0): boolean =>
  isObject(value) &&
  (depth > maxDepth || Object.values(value).some((part) => isNestedTooDeeply(part, depth + 1)))

/** Text with a repeated field stays text, because parsing would lose one of the two values. */
function parseOrText(text: string): unknown {
  try {
    return findRepeatedField(text) ? text : JSON.parse(text)
  } catch {
    return text
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/**
 * A problem of a line. Lines whose messages quote different values have the same `reason`, which
 * quotes none.
 */
export type LineProblem = Problem & { reason?: string }

/** `example` is the first message, if the reason stands for several. */
export type ReasonCount = { reason: string; example?: string; count: number }

/** Some reasons quote the line, so a large file could otherwise fill the memory with them. */
const maxReasons = 1000

/**
 * Counts refused lines by reason. Indexes are left out of a reason, so that it is the same for
 * every line.
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
