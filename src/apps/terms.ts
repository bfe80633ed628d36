/**
 * Cuts text into the terms that search works on. The same function serves the index and the query, whatever the
 * database, so that they cannot disagree.
 */

/** Tokens that stand one after the other; the last may be the beginning of a longer one. */
export type Term = readonly string[]

/** Letters, marks and digits of the scripts that put no spaces between words. */
const unspaced =
  '[[\\p{L}\\p{M}\\p{N}]&&[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]]'
const runs = new RegExp(
  `(?<unspaced>${unspaced}+)|[[\\p{L}\\p{N}]--${unspaced}][[\\p{L}\\p{M}\\p{N}]--${unspaced}]*`,
  'gv',
)

/**
 * Marks that are left out in ordinary writing: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowels and tatweel;
 * and those that are not seen at all: variation selectors, as behind an emoji, and soft hyphens.
 */
const diacritics =
  /[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F\uFE00-\uFE0F\u{E0100}-\u{E01EF}\u00AD\u0591-\u05C7\u064B-\u065F\u0670\u0640]/gu

/** Letters with a stroke or tail that Unicode does not take apart. */
const strokes: Record<string, string> = { ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ŧ: 't', ı: 'i', æ: 'ae', œ: 'oe', ς: 'σ' }

/** Text without regard to case, diacritics and width. */
export function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(diacritics, '')
    .toLowerCase() // ẞ becomes ß
    .toUpperCase() // and ß two letters, as it is in capitals
    .toLowerCase()
    .replace(/[øłđħŧıæœς]/g, (letter) => strokes[letter] ?? letter)
    .normalize('NFC')
}

/** The key under which two names count as the same: folded, white space aside. */
export const nameKey = (name: string) => fold(name).replace(/\s+/g, ' ').trim()

type Piece = { run: string; isUnspaced: boolean }

/** The tokens of a text, in its order. A word is one; a run without spaces is cut into overlapping pairs. */
export const indexTokens = (text: string): string[] =>
  pieces(text).flatMap(({ run, isUnspaced }) => (isUnspaced ? [...pairs(run), lastOf(run)] : [run]))

/** The terms of a search, each once; none where the text has no letter or digit. */
export function queryTerms(text: string): Term[] {
  const terms = pieces(text).map(({ run, isUnspaced }) => (isUnspaced && [...run].length > 1 ? pairs(run) : [run]))
  return [...new Map(terms.map((term) => [term.join(' '), term])).values()]
}

function pieces(text: string): Piece[] {
  // Most text is ASCII, and a tenth of the work.
  if (isAscii(text)) return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((run) => ({ run, isUnspaced: false }))
  return [...fold(text).matchAll(runs)]
    .map((match) => ({ run: match[0], isUnspaced: match.groups?.unspaced !== undefined }))
    .filter(({ run }) => /[\p{L}\p{N}]/u.test(run))
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII
const isAscii = (text: string) => /^[\u0000-\u007F]*$/.test(text)

function pairs(run: string): string[] {
  const characters = [...run]
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

const lastOf = (run: string) => [...run].at(-1) ?? ''
