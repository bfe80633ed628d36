/** Keywords of an app. They are stored as one text, so that an equal list is an equal value. */

/** Null for an empty list. */
export const storedKeywords = (keywords: readonly string[]): string | null =>
  keywords.length === 0 ? null : JSON.stringify(keywords.map((keyword) => keyword.trim()))

export const parseKeywords = (stored: string | null): string[] | null =>
  stored === null ? null : JSON.parse(stored)

/** A value of a column as moderators read it: keywords in one line. */
export const readableValue = <Value>(column: string, value: Value): Value =>
  column === 'keywords' && typeof value === 'string'
    ? JSON.parse(value).map(quoteWithComma).join(', ')
    : value

/** Quoted, so that one keyword is not read as two. */
const quoteWithComma = (keyword: string) =>
  /[",]/.test(keyword) ? JSON.stringify(keyword) : keyword
