/**
 * Characters that move the cursor or reverse the reading direction, and so could disguise text; not
 * the line break.
 */
const unsafeCharacters = /[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/gu

/** Keeps line breaks. */
export const sanitize = (text: string) =>
  text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').replace(unsafeCharacters, '\uFFFD')

export const toSingleLine = (text: string) => sanitize(text.replace(/\s+/g, ' ').trim())

export const formatCount = (count: number) => count.toLocaleString('en')

export const formatMegabytes = (bytes: number) => `${formatCount(Math.round(bytes / 1e5) / 10)} MB`

export const withArticle = (noun: string) => `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
