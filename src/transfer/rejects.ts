import type { Problem } from '../contract/contract.ts'
import { duplicateField } from '../contract/validation.ts'

/** What is said of a refused line. Mended where it stands, it is a line that import reads. */
export type Reject = {
  line: number
  errors: { field: string; message: string; value?: unknown }[]
  /** The line as it was, if it was refused before, too: its text where that is no JSON, left out where it is no text. */
  rejected?: unknown
}

/** So much of a value is beside the reason; the whole is in the line. */
const maxValueLength = 200

export function toReject(line: number, problems: Problem[], text: string | undefined): Reject {
  const rejected = text === undefined ? undefined : unwrapReject(parseOrText(text))
  const errors = problems.map(({ field, message }) => ({
    field,
    message,
    value: shortenValue(valueAt(rejected, field)),
  }))
  return { line, errors, rejected }
}

/** The line that a text holds: itself, or one that was refused, more than once for all we know, and mended. */
export function unwrapReject(value: unknown): unknown {
  let line = value
  while (isReject(line)) line = typeof line.rejected === 'string' ? parseOrText(line.rejected) : line.rejected
  return line
}

const isReject = (value: unknown): value is { rejected: unknown } =>
  typeof value === 'object' && value !== null && 'rejected' in value && 'errors' in value

/** A text that says a field twice stays one, or it would no longer show what is wrong with it. */
function parseOrText(text: string): unknown {
  try {
    return duplicateField(text) ? text : JSON.parse(text)
  } catch {
    return text
  }
}

/** What a JSON pointer names (RFC 6901). */
const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (within, segment) =>
        typeof within === 'object' && within !== null && Object.hasOwn(within, segment)
          ? within[segment as keyof typeof within]
          : undefined,
      value,
    )

function shortenValue(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return undefined
  if (typeof value !== 'string' || value.length <= maxValueLength) return value
  return `${value.slice(0, maxValueLength).toWellFormed()}…`
}

/** How often lines were refused for what, without what differs from line to line. */
export class ReasonCounts {
  readonly #counts = new Map<string, number>()

  add(problems: Problem[]) {
    const reasons = problems.map(
      ({ field, message }) => `${field.replaceAll(/\/\d+(?=\/|$)/g, '/*') || 'line'}: ${message}`,
    )
    for (const reason of new Set(reasons)) {
      const isKept = this.#counts.has(reason) || this.#counts.size < maxReasons
      const key = isKept ? reason : 'other reasons'
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
  }

  /** The most frequent first. */
  all(): { reason: string; count: number }[] {
    return [...this.#counts].map(([reason, count]) => ({ reason, count })).toSorted((a, b) => b.count - a.count)
  }
}

/** Some reasons name what is in the line: a file must not fill the memory with them. */
const maxReasons = 1000
