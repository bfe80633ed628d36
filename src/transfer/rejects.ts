import type { Problem } from '../contract/contract.ts'
import { findRepeatedField } from '../contract/json-text.ts'

/** A line of a rejects file: a refused line with its problems. Once `rejected` is corrected, import accepts it. */
export function toReject(line: number, problems: Problem[], text: string | undefined) {
  const value = text === undefined ? undefined : unwrapReject(parseOrText(text))
  const errors = problems.map(({ field, message }) => ({ field, message }))
  return { line, errors, rejected: isNestedTooDeeply(value) ? text : value }
}

/** The line itself, or the line within a reject. A reject that was refused again is a reject within a reject. */
export function unwrapReject(value: unknown): unknown {
  let line = value
  while (isReject(line)) line = typeof line.rejected === 'string' ? parseOrText(line.rejected) : line.rejected
  return line
}

const isReject = (value: unknown): value is { rejected: unknown } =>
  isObject(value) && 'rejected' in value && 'errors' in value

/** More levels than any valid line has, and few enough for recursive functions such as JSON.stringify. */
const maxDepth = 100

export const isNestedTooDeeply = (value: unknown, depth = 0): boolean =>
  isObject(value) && (depth > maxDepth || Object.values(value).some((part) => isNestedTooDeeply(part, depth + 1)))

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

/** Counts refused lines by reason. Indexes are left out of a reason, so that it is the same for every line. */
export class ReasonCounts {
  readonly #counts = new Map<string, number>()

  add(problems: Problem[]) {
    const reasons = problems.map(
      ({ field, message }) => `${field.replaceAll(/\/\d+(?=\/|$)/g, '/*') || 'line'}: ${message}`,
    )
    for (const reason of new Set(reasons)) {
      const key = this.#counts.has(reason) || this.#counts.size < maxReasons ? reason : 'other reasons'
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
  }

  /** The most frequent reason first. */
  all(): { reason: string; count: number }[] {
    return [...this.#counts].map(([reason, count]) => ({ reason, count })).toSorted((a, b) => b.count - a.count)
  }
}

/** Some reasons quote the line, so a large file could otherwise fill the memory with them. */
const maxReasons = 1000
