/** Removes the differences between texts that searches and comparisons of names ignore. */

/**
 * Characters that search ignores: accents, Hebrew points, Arabic vowels and tatweel, which writers
 * often omit; variation selectors and soft hyphens, which are invisible; and the skin tones of
 * emoji.
 */
const diacritics =
  /[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20DF\uFE20-\uFE2F\uFE00-\uFE0F\u{E0100}-\u{E01EF}\u00AD\u0591-\u05C7\u064B-\u065F\u0670\u0640\p{Emoji_Modifier}]/gu

/**
 * Letters that Unicode does not decompose, the final sigma, Persian and Arabic forms of one letter,
 * the candrabindu, and variants of the apostrophe and the hyphen.
 */
// biome-ignore format: one line for each script
const equivalents: Record<string, string> = {
  ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ŧ: 't', æ: 'ae', œ: 'oe', ς: 'σ',
  ک: 'ك', ی: 'ي', ى: 'ي', ة: 'ه', ە: 'ه',
  'ँ': 'ं',
  '‘': "'", '’': "'", ʻ: "'", ʼ: "'", '‐': '-',
}

/** A nasal before a consonant of its class, which Hindi also writes as an anusvara: हिन्दी, हिंदी. */
const nasals = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/gu

/** ™ and ℠, which would become letters, and joiners that only shape the letters around them. */
const ignored = /[™℠]|(?<=[\p{L}\p{M}])[\u200C\u200D](?=\p{L})/gu

/**
 * More marks on one letter than any script needs. `normalize` sorts them, in time quadratic in
 * their number (https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format, which has the same
 * limit).
 */
const manyMarks = /(\p{M}{30})\p{M}+/gu

/**
 * Maximum length of a normalized text in UTF-16 units: twice that of an app's longest texts, since
 * ligatures such as ﬁ become two characters. U+FDFA becomes 18, and would make all later steps 18
 * times as slow.
 */
const maxNormalizedLength = 42_000

/**
 * Removes the differences that search ignores: case, diacritics and width. Cuts texts that
 * normalization makes too long.
 */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  return text
    .replace(manyMarks, '$1')
    .replace(ignored, '')
    .normalize('NFKC')
    .slice(0, maxNormalizedLength)
    .normalize('NFD')
    .replace(diacritics, '')
    .toLowerCase() // ẞ becomes ß
    .toUpperCase() // and ß two letters, as it is in capitals
    .toLowerCase()
    .replace(/[øłđħŧæœςکیىةە\u0901‘’ʻʼ‐]/g, (character) => equivalents[character] ?? character)
    .replace(nasals, 'ं')
    .normalize('NFC')
}

/** The same for names that differ only in case, accents, width or the amount of white space. */
export const nameKey = (name: string) => fold(name).replace(/\s+/g, ' ').trim()

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII
export const isAscii = (text: string) => /^[\u0000-\u007F]*$/.test(text)
