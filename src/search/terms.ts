import { hash } from 'node:crypto'
import { OperatorError } from '../contract/errors.ts'

/**
 * Cuts text into the tokens that search works on. The same functions serve the index and the query, whatever the database, so
 * that they cannot disagree.
 */

/** One way in which a text can have a term: by tokens that stand one after the other. If not `isWhole`, the last may begin a longer one. */
export type Form = Readonly<{ text: string; tokens: readonly string[]; isWhole: boolean }>

/** A part of a search. An app has it if it has any of its forms. */
export type Term = Readonly<{ text: string; forms: readonly Form[] }>

/** Longer tokens are cut there. */
const maxTokenLength = 100

/** Letters, marks and digits of the scripts that put no spaces between words. */
const unspaced =
  '[[\\p{L}\\p{M}\\p{N}]&&[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]]'
const word = `[[\\p{L}\\p{N}]--${unspaced}][[\\p{L}\\p{M}\\p{N}]--${unspaced}]*`

/** Words that a sign joins, and the signs that belong to the last of them, as in C++. */
const joinedWords = (word: string, letter: string) => `${word}(?:[\\-'&._+]${word})*(?:(?<=${letter})[+#]+)?`
// Without the flag, since a regular expression that knows of Unicode takes three times as long.
const asciiRuns = new RegExp(joinedWords('[a-z0-9]+', '[a-z]'), 'g')
const runs = new RegExp(`(?<unspaced>(?!\\p{M})${unspaced}+)|${joinedWords(word, '[\\p{L}\\p{M}]')}`, 'gv')

/** A sign between two words, not one that belongs to a word. */
const joiner = /[-'&._+](?![+#]|$)/

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

/** Text without regard to case, diacritics and width. */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  return text
    .replace(manyMarks, '$1')
    .normalize('NFKD')
    .replace(diacritics, '')
    .toLowerCase() // ẞ becomes ß
    .toUpperCase() // and ß two letters, as it is in capitals
    .toLowerCase()
    .replace(/[øłđħŧæœς‘’ʻʼ‐]/g, (character) => equivalents[character] ?? character)
    .normalize('NFC')
}

/** The key under which two names count as the same: folded, white space aside. */
export const nameKey = (name: string) => fold(name).replace(/\s+/g, ' ').trim()

/** Words with nothing but a joining sign between them, a run of a script without spaces, or an emoji. */
type Piece = Readonly<{ kind: 'words' | 'unspaced' | 'emoji'; parts: string[] }>

function piecesOf(text: string): Piece[] {
  if (isAscii(text)) return (text.toLowerCase().match(asciiRuns) ?? []).map(toWords)
  // Every second part is an emoji.
  return text
    .split(emoji)
    .flatMap((part, index) =>
      index % 2 === 1 ? [{ kind: 'emoji' as const, parts: [part.replace(selectors, '')] }] : foldedPieces(part),
    )
}

const foldedPieces = (text: string): Piece[] =>
  Array.from(fold(text).matchAll(runs), ({ 0: run, groups }) =>
    groups?.unspaced === undefined ? toWords(run) : { kind: 'unspaced', parts: [run] },
  )

const toWords = (run: string): Piece => ({ kind: 'words', parts: run.split(joiner) })

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII
export const isAscii = (text: string) => /^[\u0000-\u007F]*$/.test(text)

/**
 * The tokens of a text: each word, and what joined words make together, but once; then the runs without spaces, cut into
 * overlapping pairs in their order.
 */
export function indexTokens(text: string): string[] {
  const words = new Set<string>()
  const unspaced: string[] = []
  for (const { kind, parts } of piecesOf(text)) {
    if (kind === 'unspaced') unspaced.push(...parts.flatMap(pairsAndLast))
    else for (const word of withJoined(parts)) words.add(truncate(word))
  }
  if (!isAscii(text)) for (const word of [...words]) words.add(word.replace(article, ''))
  return [...words, ...unspaced]
}

/** An Arabic article, alone or with a preposition, before three letters or more. */
const article = /^(?:[وبكف]?ال|لل)(?=\p{L}{3})/u

const withJoined = (words: string[]) =>
  words.length === 1
    ? words
    : [...words, ...words.flatMap((_, index) => joinWords(words.slice(index, index + 2))), ...joinWords(words)]

/** Several words as one. Numbers are not joined: 3.5 is not 35. */
function joinWords(words: string[]): string[] {
  const joined = words.join('')
  return words.length > 1 && /\P{N}/u.test(joined) ? [joined] : []
}

const truncate = (token: string) =>
  token.length <= maxTokenLength ? token : [...token].slice(0, maxTokenLength).join('')

function pairsOf(run: string): string[] {
  const characters = [...run]
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

const pairsAndLast = (run: string) => [...pairsOf(run), ...[...run].slice(-1)]

/** A name with a joining sign wherever capitals begin a word within another, as in New_Pipe. */
const splitByCase = (name: string) =>
  name.normalize('NFC').replace(/\p{Ll}(?=\p{Lu})|\p{N}(?=\p{Lu}\p{Ll})|\p{Lu}(?=\p{Lu}\p{Ll})/gu, '$&_')

/** A name, and once more with all its words joined. */
const nameText = (name: string) => `${splitByCase(name)}\n${splitByCase(name).replace(/[\s\p{P}]+/gu, '_')}`

/** The words of a name in their order, folded. */
const nameWords = (name: string) => piecesOf(splitByCase(name)).flatMap(({ parts }) => parts)

/**
 * The terms of a search, each once; none where the text has no letter, digit or emoji. A word is met by itself, or joined
 * with the one on its left or its right.
 */
export function queryTerms(text: string): Term[] {
  const parts = piecesOf(text).flatMap(({ kind, parts }) => parts.map((part) => ({ kind, text: truncate(part) })))
  const terms = parts.map(({ kind, text }, index): Term => {
    if (kind === 'emoji') return { text, forms: [wordForm(text, true)] }
    const pairs = pairsOf(text)
    if (kind === 'unspaced' && pairs.length > 0) return { text, forms: [{ text, tokens: pairs, isWhole: true }] }
    const sides = index === 0 ? [parts.slice(0, 2)] : [parts.slice(index - 1, index + 1), parts.slice(index, index + 2)]
    const joined = sides
      .filter((side) => side.every((part) => part.kind === 'words'))
      .flatMap((side) => joinWords(side.map((part) => part.text)))
    return { text, forms: [text, ...joined.map(truncate)].map((word) => wordForm(word)) }
  })
  return [...new Map(terms.map((term) => [term.text, term])).values()]
}

export const wordForm = (text: string, isWhole = false): Form => ({ text, tokens: [text], isWhole })

/** What the index stores of one app. */
export type SearchDocument = Readonly<{
  /** Tokens of the texts and of the package name. */
  words: readonly string[]
  /** All tokens but the category's, separated by spaces. */
  tokens: string
  /** The words of the name, separated by spaces. The score compares them with the search. */
  nameWords: string
  popularity: number
}>

/**
 * The first character of a token says what it is of: of the name, of the package name, the hash of a whole name, or a category.
 * Tokens of the texts, the name among them, have none.
 */
const marks = { text: '', name: '~', package: '@', key: '=', category: '/' }

/** The columns of an app that its document is made from. The developer's name is in another table. */
export type SearchableColumns = {
  name: string
  short_description?: string | null
  description?: string | null
  package_name?: string | null
  total_downloads?: number
}

export function toSearchDocument(app: SearchableColumns, developerName: string): SearchDocument {
  const name = indexTokens(nameText(app.name))
  const packageName = app.package_name ?? ''
  const texts = [developerName, app.short_description ?? '', app.description ?? '']
  const words = [
    // Line breaks, so that no run of characters goes from one text into the next.
    ...indexTokens(texts.join('\n')),
    ...name,
    // Without its dots: joined to its neighbours, "com" would begin a word of every app.
    ...indexTokens(packageName.replaceAll('.', ' ')).map((token) => `${marks.package}${token}`),
  ]
  const keys = [app.name, packageName].filter((text) => text !== '').map(keyToken)
  return {
    words,
    tokens: [...words, ...name.map((token) => `${marks.name}${token}`), ...keys].join(' '),
    nameWords: nameWords(app.name).join(' '),
    popularity: popularity(app.total_downloads ?? 0),
  }
}

/** Hashed, because a token has no spaces. */
const keyToken = (name: string) => `${marks.key}${hash('sha256', nameKey(name)).slice(0, 16)}`

export const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

/** An app matches if it has every term, in any of its forms, and is in the category. */
export type SearchQuery = Readonly<{ text: string; terms: readonly Term[]; categoryId: number | undefined }>

/**
 * What an app must have, strictest first:
 *
 * - `key`: the text of the query is its whole name or package name;
 * - `name`: each term begins a word of the name;
 * - `whole`: each term is a whole word of any text, package names aside;
 * - `prefix`: each term begins a word of any text or of the package name. Every match has this.
 */
export type Tier = 'key' | 'name' | 'whole' | 'prefix'

/** Tokens that stand one after the other. If `isPrefix`, the last may be the beginning of a longer one. */
export type Phrase = Readonly<{ tokens: readonly string[]; isPrefix: boolean }>

/** An app is in a tier if it has a phrase of each of these lists. Of no list, nothing is: a text without terms matches nothing. */
export function phrasesOf({ text, terms, categoryId }: SearchQuery, tier: Tier): Phrase[][] {
  if (terms.length === 0) return []
  const whole = (token: string): Phrase[] => [{ tokens: [token], isPrefix: false }]
  return [
    ...(tier === 'key' ? [whole(keyToken(text))] : terms.map((term) => termPhrases(term, tier))),
    ...(categoryId === undefined ? [] : [whole(categoryToken(categoryId))]),
  ]
}

const marksIn = { name: [marks.name], whole: [marks.text], prefix: [marks.text, marks.package] }

const termPhrases = ({ forms }: Term, tier: keyof typeof marksIn): Phrase[] =>
  marksIn[tier].flatMap((mark) =>
    forms.map(({ tokens, isWhole }) => ({
      tokens: tokens.map((token) => `${mark}${token}`),
      isPrefix: tier !== 'whole' && !isWhole,
    })),
  )

/** Whether an app that no index has is found by these terms. */
export function hasTerms({ tokens }: SearchDocument, terms: readonly Term[]): boolean {
  const hasPhrase = ({ tokens: phrase, isPrefix }: Phrase) =>
    ` ${tokens} `.includes(` ${phrase.join(' ')}${isPrefix ? '' : ' '}`)
  const lists = phrasesOf({ text: '', terms, categoryId: undefined }, 'prefix')
  return lists.length > 0 && lists.every((phrases) => phrases.some(hasPhrase))
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
