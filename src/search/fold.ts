import unhomoglyph from 'unhomoglyph'

/**
 * What makes texts count as the same: for searches, their folded forms; for users who could take one
 * name for another, their looks.
 */

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
  ø: 'o', ł: 'l', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't', þ: 'th', ŋ: 'ng', æ: 'ae', œ: 'oe', ς: 'σ',
  ک: 'ك', ی: 'ي', ى: 'ي', ة: 'ه', ە: 'ه',
  'ँ': 'ं',
  '‘': "'", '’': "'", ʻ: "'", ʼ: "'", '‐': '-',
}

/** A nasal before a consonant of its class, which Hindi also writes as an anusvara: हिन्दी, हिंदी. */
const nasals = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/gu

/** Each is a katakana, too, which is as many code points after it. */
const hiragana = /[\u3041-\u3096\u309D\u309E]/g
const toKatakana = 0x60

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
    .replace(/[øłđðħŧþŋæœςکیىةە\u0901‘’ʻʼ‐]/g, (character) => equivalents[character] ?? character)
    .replace(hiragana, (kana) => String.fromCharCode(kana.charCodeAt(0) + toKatakana))
    .replace(nasals, 'ं')
    .normalize('NFC')
}

/** The same for names that differ only in case, accents, width or the amount of white space. */
export const nameKey = (name: string): string => fold(name).replace(/\s+/g, ' ').trim()

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII
export const isAscii = (text: string): boolean => /^[\u0000-\u007F]*$/.test(text)

/** Characters. One is too little to tell C++ from C#. */
const minLetters = 2

/**
 * The looks of a name: its letters, each replaced by the basic letter that it looks like, without
 * case, accents, spaces and symbols. Digits in words become letters. Case changes what a letter
 * looks like, so a name has up to three looks:
 *
 * - of the folded name;
 * - of the name whose letters beyond ASCII are replaced before it is folded;
 * - of the latter with each capital I as an l.
 */
export function looksOf(name: string): string[] {
  const text = name.replace(separator, ' ')
  const replaced = replaceForeign(text)
  const spellings = new Set([fold(text), fold(replaced)])
  if (replaced.includes('I')) spellings.add(replaced.replaceAll('I', 'l'))
  return [...new Set([...spellings].map(lookOf))]
}

/** A bar between two words is no letter. */
const separator = /(?<=\s)\|(?=\s)/g

function lookOf(text: string): string {
  const replaced = replaceForeign(text).replace(/[01|]/g, unhomoglyph)
  const letters = withLetters(fold(replaced))
    .replace(notLetters, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
  // Of C++ or an emoji, the symbols are the name.
  return letters.length < minLetters ? fold(text).replace(/\s+/g, '') : letters
}

const notLetters = /[^\p{L}\p{N}\p{M}]+|\p{Default_Ignorable_Code_Point}+/gu

/**
 * Replaces the characters beyond ASCII as UTS #39 does
 * (https://www.unicode.org/reports/tr39/#Confusable_Detection).
 */
const replaceForeign = (text: string) =>
  isAscii(text) ? text : text.normalize('NFD').replace(/\P{ASCII}/gu, replaceCharacter)

/**
 * Maximum number of characters whose looks are remembered: those of a few large scripts. Calling
 * unhomoglyph, whose pattern has thousands of characters, takes ten times as long.
 */
const maxRemembered = 20_000
const remembered = new Map<string, string>()

function replaceCharacter(character: string): string {
  const known = remembered.get(character)
  if (known !== undefined) return known
  const letters = unhomoglyph(character)
  // If a character became several letters, one different character would be several edits.
  const look = letters.length > character.length ? character : letters
  if (remembered.size >= maxRemembered) remembered.clear()
  remembered.set(character, look)
  return look
}

/** Digits and signs that stand for letters between others. 0 and 1 always look like letters. */
const signsInWord = /(?<=[a-z])[34578@$]+(?=[a-z])/g
const letterOf: Record<string, string> = {
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  8: 'b',
  '@': 'a',
  $: 's',
}
const withLetters = (text: string) =>
  text.replace(signsInWord, (signs) => signs.replace(/./g, (sign) => letterOf[sign] ?? sign))
