import type { Problem } from './contract.ts'
import { fieldPointer } from './problems.ts'

/**
 * Finds errors in JSON that JSON.parse does not report: http/ uses it for bodies, import-export/ for
 * lines of files.
 */

/** The strings and punctuation of JSON. An unterminated string ends with the text. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\]:,]/gs

/** Whether a JSON text has more strings and punctuation characters than the limit. */
export const hasMoreTokensThan = (json: string, limit: number): boolean =>
  json.matchAll(tokens).some((_token, index) => index === limit)

/**
 * The first field that the outermost object of valid JSON has twice (RFC 8259, section 4: the
 * result is unpredictable), and the index of its second name.
 */
export function findRepeatedField(json: string): { problem: Problem; index: number } | undefined {
  const names = new Set<string>()
  let depth = 0
  let previous = ''
  let previousIndex = 0
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (token === ':' && depth === 1) {
      const name: string = JSON.parse(previous)
      if (names.has(name)) {
        const problem = {
          in: 'body' as const,
          field: fieldPointer(name),
          message: 'must be given once',
        }
        return { problem, index: previousIndex }
      }
      names.add(name)
    }
    previous = token
    previousIndex = index
  }
  return undefined
}

/**
 * White space, strings, numbers, literals and punctuation (RFC 8259). `cut` marks a string that
 * does not reach its end.
 */
const strictTokens =
  /[\t\n\r ]+|"[ !#-[\]-\uFFFF]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[ !#-[\]-\uFFFF]*)*(?:"|(?<cut>))|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null|[{}[\]:,]/gy

/** The characters with which a value can begin. */
const valueStarts = '"-0123456789tfn{['

/**
 * The index of the first character that cannot continue a JSON text; its length if it ends too
 * early. Only for text that JSON.parse refuses: its messages do not always have the position.
 */
export function findSyntaxError(json: string): number {
  /** The closing brackets of the objects and arrays around the next token. */
  const closings: string[] = []
  let allowed = valueStarts
  let index = 0
  for (const { 0: token, groups } of json.matchAll(strictTokens)) {
    const start = token.charAt(0)
    const isSpace = start.trim() === ''
    if (!isSpace && !allowed.includes(start)) break
    index += token.length
    if (groups?.cut !== undefined) break
    if (isSpace) continue

    const isName = start === '"' && !allowed.includes('[')
    if (start === '{') closings.push('}')
    else if (start === '[') closings.push(']')
    else if (start === '}' || start === ']') closings.pop()
    allowed = isName ? ':' : startsAfter(start, closings.at(-1))
  }
  return index
}

/**
 * The characters with which a token can begin after a token that is not a name, before `closing`;
 * none at the end.
 */
function startsAfter(start: string, closing = ''): string {
  switch (start) {
    case '{':
      return '"}'
    case '[':
      return `${valueStarts}]`
    case ':':
      return valueStarts
    case ',':
      return closing === '}' ? '"' : valueStarts
    default:
      return closing && `,${closing}`
  }
}

/**
 * The line and column of the character after a text, both from 1. Columns count code points.
 * `firstLine` is the number of the text's first line.
 */
export function positionAfter(text: string, firstLine = 1): string {
  const lines = text.split('\n')
  // Not as a list of characters, because a line of a file can have 16 MiB.
  const { length } = (lines.at(-1) ?? '').replace(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g, ' ')
  return `line ${lines.length - 1 + firstLine}, column ${length + 1}`
}

/** The problem of a text that JSON.parse refuses, to continue a sentence about it. */
export function describeSyntaxError(json: string, firstLine?: number): string {
  const index = findSyntaxError(json)
  const position = positionAfter(json.slice(0, index), firstLine)
  const place = index < json.length ? ` at ${position}` : `: it ends too early, at ${position}`
  return `is not valid JSON${place}`
}
