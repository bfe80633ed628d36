import { hash } from 'node:crypto'
import { OperatorError } from '../contract/errors.ts'

/**
 * Cuts text into the terms that search works on. The same function serves the index and the query, whatever the
 * database, so that they cannot disagree.
 */

/**
 * One way in which a text can have a term: by tokens that stand one after the other. `either` is a word, which the search may
 * want whole or take for the beginning of a longer one; the others are what they are whatever the search wants.
 */
export type Form = Readonly<{ text: string; tokens: readonly string[]; extent: 'whole' | 'prefix' | 'either' }>

/** A part of a search. An app has it if it has any of its forms. `isWord`: it is a word of a script with spaces. */
export type Term = Readonly<{ text: string; isWord: boolean; forms: readonly Form[] }>

/** Longer ones are cut there; what is joined beyond it is not. */
const maxTokenLength = 100

/** Letters, marks and digits of the scripts that put no spaces between words. */
const unspaced =
  '[[\\p{L}\\p{M}\\p{N}]&&[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]]'
const word = `[[\\p{L}\\p{N}]--${unspaced}][[\\p{L}\\p{M}\\p{N}]--${unspaced}]*`

/** Stands where capitals begin another word within one, as in NewPipe. */
const caseBoundary = '\u0001'
const joiners = /[-'&._+]/

/** Words that a sign joins, and the signs that belong to the last of them, as in C++. */
const joinedWords = (word: string, letter: string) =>
  `${word}(?:[\\-'&._+${caseBoundary}]${word})*(?:(?<=${letter})[+#]+)?`
// Without the flag, since a regular expression that knows of Unicode takes three times as long.
const asciiRuns = new RegExp(joinedWords('[a-z0-9]+', '[a-z]'), 'g')
const runs = new RegExp(`(?<unspaced>${unspaced}+)|${joinedWords(word, '[\\p{L}\\p{M}]')}`, 'gv')

/** Whether a run has more in it than letters, marks and digits: only that comes before the digits in Unicode, or is `_`. */
function hasSymbol(run: string): boolean {
  for (let index = 0; index < run.length; index++) {
    const unit = run.charCodeAt(index)
    if (unit < 0x30 || unit === 0x5f) return true
  }
  return false
}

/** What Unicode calls RGI_Emoji, and the same without its selectors: that property itself takes thirty times as long. */
const pictograph = '[\\p{Emoji}--[\\p{ASCII}\\p{EMod}\\p{RI}©®™]][\\uFE0E\\uFE0F\\p{EMod}\\u{E0020}-\\u{E007F}]*'
const emoji = new RegExp(`(\\p{RI}{2}|[0-9#*]\\uFE0F?\\u20E3|${pictograph}(?:\\u200D${pictograph})*)`, 'v')
const selectors = /[\uFE0E\uFE0F\p{Emoji_Modifier}]/gu

/**
 * Marks that are left out in ordinary writing: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowels and tatweel;
 * and those that are not seen at all: variation selectors, as behind an emoji, and soft hyphens.
 */
const diacritics =
  /[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F\uFE00-\uFE0F\u{E0100}-\u{E01EF}\u00AD\u0591-\u05C7\u064B-\u065F\u0670\u0640]/gu

/** Letters with a stroke or tail that Unicode does not take apart; and the several signs that are typed as one. */
// biome-ignore format: a line a kind
const equivalents: Record<string, string> = {
  ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ŧ: 't', æ: 'ae', œ: 'oe', ς: 'σ',
  '‘': "'", '’': "'", ʻ: "'", ʼ: "'", '‐': '-',
}

/**
 * More marks on one letter than any writing has: putting them into their order takes time by the square of their number
 * (https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format, which allows as many).
 */
const manyMarks = /(\p{M}{30})\p{M}+/gu

/**
 * Characters, taken apart: three times what an app's texts have, as a syllable of Hangul is three letters, and a letter of
 * Vietnamese one with two marks. A single one can stand for 18.
 */
const maxFoldedLength = 61_000

/** As much of a text as is soon folded, which is all of any that is meant to be read. */
function truncateForFolding(text: string): string {
  const withoutExcessMarks = text.replace(manyMarks, '$1')
  if (withoutExcessMarks.length <= maxFoldedLength / 18) return withoutExcessMarks
  const { length } = withoutExcessMarks.normalize('NFKD')
  return length <= maxFoldedLength
    ? withoutExcessMarks
    : withoutExcessMarks.slice(0, Math.floor((withoutExcessMarks.length * maxFoldedLength) / length))
}

/** Text without regard to case, diacritics and width. */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(diacritics, '')
    .toLowerCase() // ẞ becomes ß
    .toUpperCase() // and ß two letters, as it is in capitals
    .toLowerCase()
    .replace(/[øłđħŧæœς‘’ʻʼ‐]/g, (character) => equivalents[character] ?? character)
    .normalize('NFC')
}

/** The key under which two names count as the same: folded, white space aside. */
export const nameKey = (name: string) => fold(truncateForFolding(name)).replace(/\s+/g, ' ').trim()

/** Words with nothing but a joining sign between them, or another thing that is found by itself. */
type Piece = { words: string[] } | { unspaced: string } | { emoji: string }

/**
 * The tokens of a text. A word is one, each but once, and so is what joined words make together. A run without spaces is cut
 * into overlapping pairs, in its order. Of a name, words that stand side by side are joined, too.
 */
export function indexTokens(text: string, isName = false): string[] {
  if (!isName && isAscii(text)) return asciiTokens(text)
  const pieces = piecesOf(isName ? markCaseBoundaries(text) : text)
  const words = pieces.flatMap((piece) =>
    'words' in piece ? wordTokens(piece) : 'emoji' in piece ? [piece.emoji] : [],
  )
  const joined = isName ? joinNeighbours(pieces) : []
  const unspaced = pieces.flatMap((piece) =>
    'unspaced' in piece ? [...bigrams(piece.unspaced), lastCharacter(piece.unspaced)] : [],
  )
  const articles = isAscii(text) ? [] : words.flatMap((word) => word.match(afterArticle)?.[1] ?? [])
  return [...new Set([...words, ...joined, ...articles].map(truncateToken)), ...unspaced]
}

/** The words of a name in their order, folded. Words that only capitals separate are split. */
export const nameWords = (name: string): string =>
  piecesOf(markCaseBoundaries(name))
    .flatMap((piece) =>
      'words' in piece ? piece.words.flatMap(splitCase) : 'emoji' in piece ? [piece.emoji] : [piece.unspaced],
    )
    .join(' ')

/** Most text is ASCII, and its words stand alone: a sixth of the work. */
function asciiTokens(text: string): string[] {
  const tokens = new Set<string>()
  for (const run of asciiRunsOf(text)) {
    if (hasSymbol(run)) for (const token of wordTokens(joinedPiece(run))) tokens.add(truncateToken(token))
    else tokens.add(truncateToken(run))
  }
  return [...tokens]
}

/** What stands behind an Arabic article, alone or with a preposition, where that is three letters or more. */
const afterArticle = /^(?:[وبكف]?ال|لل)(\p{L}{3}.*)/u

const markCaseBoundaries = (text: string) =>
  isAscii(text)
    ? text.replace(/[a-z](?=[A-Z])|[0-9A-Z](?=[A-Z][a-z])/g, `$&${caseBoundary}`)
    : text
        .normalize('NFC')
        .replace(/\p{Ll}(?=\p{Lu})|\p{N}(?=\p{Lu}\p{Ll})|\p{Lu}(?=\p{Lu}\p{Ll})/gu, `$&${caseBoundary}`)

function wordTokens({ words }: { words: string[] }): string[] {
  if (words.length === 1 && !words[0]?.includes(caseBoundary)) return words
  const whole = words.map(withoutCaseBoundaries)
  const parts = words.flatMap(splitCase)
  return [...whole, ...parts, ...joinPairs(whole), ...joinPairs(parts), ...joinedToken(whole)]
}

/** What words make that stand side by side with more than a sign between them. */
function joinNeighbours(pieces: Piece[]): string[] {
  return pieces.slice(1).flatMap((right, index) => {
    const left = pieces[index]
    if (!left || !('words' in left) || !('words' in right)) return []
    const [before, behind] = [left.words.at(-1) ?? '', right.words[0] ?? '']
    return [
      ...joinedToken([withoutCaseBoundaries(before), withoutCaseBoundaries(behind)]),
      ...joinedToken([splitCase(before).at(-1) ?? '', splitCase(behind)[0] ?? '']),
    ]
  })
}

const splitCase = (word: string) => word.split(caseBoundary)
const withoutCaseBoundaries = (word: string) => word.replaceAll(caseBoundary, '')
const joinPairs = (words: string[]) => words.slice(1).flatMap((word, index) => joinedToken([words[index] ?? '', word]))

/** Numbers are not joined, 3.5 is not 35; nor is a word with a sign at its end to what follows. */
function joinedToken(words: string[]): string[] {
  const joined = words.join('')
  if (/^\p{N}*$/u.test(joined) || (hasSymbol(joined) && /[+#](?=[^+#])/.test(joined))) return []
  return joined.length <= maxTokenLength || [...joined].length <= maxTokenLength ? [joined] : []
}

const truncateToken = (token: string) =>
  token.length <= maxTokenLength ? token : [...token].slice(0, maxTokenLength).join('')

/**
 * The terms of a search, each once; none where the text has no letter, digit or emoji. A word is met by itself, or joined
 * with the one on its left or its right.
 */
export function queryTerms(text: string): Term[] {
  const items = piecesOf(text).flatMap(itemsOf)
  const terms = new Map<string, Term>()
  for (const [index, item] of items.entries()) {
    const sides = [
      [items[index - 1], item],
      [item, items[index + 1]],
    ]
    const joined = sides
      .map((pair) => pair.flatMap((one) => one?.word ?? []))
      .flatMap((words) => (words.length === 2 ? joinedToken(words) : []))
    const forms = [item.form, ...joined.map((token) => wordForm(token))]
    const { text } = item.form
    const each = new Map([...(terms.get(text)?.forms ?? []), ...forms].map((form) => [form.text, form]))
    terms.set(text, { text, isWord: item.word !== undefined, forms: [...each.values()] })
  }
  return [...terms.values()]
}

/** What a search asks for before neighbours are joined. */
type QueryItem = { word?: string; form: Form }

/** A word of a query, or of a correction. */
export const wordForm = (text: string, extent: Form['extent'] = 'either'): Form => ({ text, tokens: [text], extent })

function itemsOf(piece: Piece): QueryItem[] {
  if ('emoji' in piece) return [{ form: wordForm(piece.emoji, 'whole') }]
  if ('words' in piece) return piece.words.map(truncateToken).map((word) => ({ word, form: wordForm(word) }))
  const { unspaced: text } = piece
  const isOne = [...text].length === 1
  return [{ form: isOne ? wordForm(text, 'prefix') : { text, tokens: bigrams(text), extent: 'whole' } }]
}

function piecesOf(text: string): Piece[] {
  if (isAscii(text)) return asciiRunsOf(text).map(joinedPiece)
  // Every second part is an emoji.
  return truncateForFolding(text)
    .split(emoji)
    .flatMap((part, index) => (index % 2 === 1 ? [{ emoji: part.replace(selectors, '') }] : foldedPieces(part)))
}

const asciiRunsOf = (text: string): string[] => text.toLowerCase().match(asciiRuns) ?? []

const foldedPieces = (text: string): Piece[] =>
  [...fold(text).matchAll(runs)]
    .filter(([run]) => /[\p{L}\p{N}]/u.test(run))
    .map(({ 0: run, groups }) => (groups?.unspaced === undefined ? joinedPiece(run) : { unspaced: run }))

function joinedPiece(run: string): { words: string[] } {
  if (!hasSymbol(run)) return { words: [run] }
  const bare = run.replace(/(?<![+#])[+#]+$/, '')
  const words = bare.split(joiners)
  return { words: [...words.slice(0, -1), `${words.at(-1)}${run.slice(bare.length)}`] }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII
export const isAscii = (text: string) => /^[\u0000-\u007F]*$/.test(text)

function bigrams(run: string): string[] {
  const characters = [...run]
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

const lastCharacter = (run: string) => [...run].at(-1) ?? ''

/** What the index stores of one app. Tokens are separated by spaces. */
export type SearchDocument = Readonly<{
  /** Tokens of the name. */
  name: string
  /** Tokens of the developer's name and the descriptions. */
  text: string
  /** Tokens of the package name. */
  package: string
  /** The whole name and the package name, each as `nameKey` folds it. */
  keys: readonly string[]
  /** The words of the name, which the score compares with the search. */
  nameWords: string
  popularity: number
}>

/** The columns of an app that its document is made from. The developer's name is in another table. */
export type SearchableColumns = {
  name: string
  short_description?: string | null
  description?: string | null
  package_name?: string | null
  total_downloads?: number
}

export function toSearchDocument(app: SearchableColumns, developerName: string): SearchDocument {
  const packageName = app.package_name ?? ''
  // The longest last: of characters that stand for many the end is cut.
  const texts = [developerName, app.short_description ?? '', app.description ?? '']
  return {
    name: indexTokens(app.name, true).join(' '),
    // Line breaks, so that no run of characters goes from one text into the next.
    text: indexTokens(texts.join('\n')).join(' '),
    // Without its dots: joined to its neighbours, "com" would begin a word of every app.
    package: indexTokens(packageName.replaceAll('.', ' ')).join(' '),
    keys: [app.name, packageName].filter((text) => text !== '').map(nameKey),
    nameWords: nameWords(app.name),
    popularity: popularity(app.total_downloads ?? 0),
  }
}

/** A key without spaces, which can be a token of an index. */
export const keyHash = (key: string) => hash('sha256', key).slice(0, 16)

/** Whether an app that no index has is found by these terms: as the tier `prefix` finds others. */
export function hasTerms({ name, text, package: packageName }: SearchDocument, terms: readonly Term[]): boolean {
  const tokens = ` ${name} ${text} ${packageName} `
  const hasForm = (form: Form) => tokens.includes(` ${form.tokens.join(' ')}${form.extent === 'whole' ? ' ' : ''}`)
  return terms.length > 0 && terms.every(({ forms }) => forms.some(hasForm))
}

/**
 * Downloads on a logarithmic scale, four steps to a doubling. Finer steps would order apps better than anybody notices, and
 * each step that an app takes writes its document again.
 */
export const popularity = (downloads: number) => Math.floor(4 * Math.log2(downloads + 1))

/** Ids are less than this, so that a rank is a safe integer. */
export const idLimit = 2 ** 40

/**
 * Ranks order apps by popularity, and equally popular ones by id: the newest has the greatest rank. Throws an OperatorError if
 * the id is too large, which only a database of version 1 can have.
 */
export function searchRank({ id, popularity }: { id: number; popularity: number }): number {
  if (id >= idLimit)
    throw new OperatorError(`the app with the id ${id} cannot be indexed: ids must be less than ${idLimit}`)
  return popularity * idLimit + id
}

export const idOfRank = (rank: number) => rank % idLimit
export const popularityOfRank = (rank: number) => Math.floor(rank / idLimit)
