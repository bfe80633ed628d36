/** Keywords of an app. They are stored as one text, so that an equal list is an equal value. */

/** Null for an empty list. */
export const storedKeywords = (keywords: readonly string[]): string | null =>
  keywords.length === 0 ? null : JSON.stringify(keywords.map((keyword) => keyword.trim()))

export const parseKeywords = (stored: string | null): string[] | null =>
  stored === null ? null : JSON.parse(stored)

/** A value of a column as moderators read it: keywords, stored or a list, in one line. */
export function readableValue<Value>(column: string, value: Value): Value {
  if (column !== 'keywords' || !value) return value
  const keywords = typeof value === 'string' ? JSON.parse(value) : value
  return keywords.map(quoteWithComma).join(', ')
}

/** Quoted, so that one keyword is not read as two. */
const quoteWithComma = (keyword: string) =>
  /[",]/.test(keyword) ? JSON.stringify(keyword) : keyword
