import { hash } from 'node:crypto'
import { stemmer } from 'stemmer'
import { fold, isAscii, looksOf, nameKey } from './fold.ts'

/**
 * Cuts text into the tokens that search works on. The same functions serve the index and the query,
 * whatever the database, so that they cannot disagree.
 */

/** Characters. Longer tokens are truncated. */
const maxTokenLength = 100

/**
 * Letters, marks and digits of the scripts without spaces between words. Two or more of them are
 * called a run.
 */
const unspaced =
  '[[\\p{L}\\p{M}\\p{N}]&&[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]]'
// recheck-ignore: one repetition.
const isRun = new RegExp(`^${unspaced}{2,}$`, 'v')
// recheck-ignore: one repetition.
const longRuns = new RegExp(`${unspaced}{3,}`, 'gv')
const word = `[[\\p{L}\\p{N}]--${unspaced}][[\\p{L}\\p{M}\\p{N}]--${unspaced}]*`
// recheck-ignore: one repetition.
const isWord = new RegExp(`^${word}`, 'v')

/**
 * Emoji as `fold` leaves them. Matching the Unicode property RGI_Emoji takes thirty times as long.
 */
const pictograph = '[\\p{Emoji}--[\\p{ASCII}\\p{RI}©®]][\\u{E0020}-\\u{E007F}]*'
const emoji = `\\p{RI}{2}|[#*]\\u20E3|${pictograph}(?:\\u200D${pictograph})*`

/** Words that punctuation joins, as in wi-fi, with `+` or `#` after the last letter, as in C++. */
const joinedWords = (one: string) => `${one}(?:[\\-'&._+]${one})*(?:(?<=[\\p{L}\\p{M}])[+#]+)?`
// recheck-ignore: NewAppDescription limits texts to 20,000 characters, Search to 100. Decomposed, a
// character is at most 18.
const wordGroups = new RegExp(`${emoji}|(?!\\p{M})${unspaced}+|${joinedWords(word)}`, 'gv')
/** The same for a folded text in ASCII, in less time. */
// recheck-ignore: the same as above.
const asciiWordGroups = new RegExp(joinedWords('[a-z\\d]+'), 'gv')

/** Punctuation that joins two words; not the `+` or `#` at the end of one. */
const joiner = /[-'&._+](?![+#]|$)/

/**
 * The folded words of a text, in groups that punctuation joins. An emoji or a run is a group by
 * itself.
 */
const wordsOf = (text: string): string[][] => groupsOf(text).map(wordsOfGroup)

/** Most groups are one word, and splitting takes longer than seeing that. */
const wordsOfGroup = (group: string) => (/[-'&._+]/.test(group) ? group.split(joiner) : [group])

function groupsOf(text: string): string[] {
  const folded = fold(text)
  return folded.match(isAscii(folded) ? asciiWordGroups : wordGroups) ?? []
}

/**
 * The tokens that the index stores for a text: each word and each join of words once, then the
 * runs, each as overlapping pairs of characters in their order.
 */
export function indexTokens(text: string): string[] {
  const words = new Set<string>()
  const pairs: string[][] = []
  const hasRuns = !isAscii(text)
  for (const group of groupsOf(text))
    for (const word of withJoined(wordsOfGroup(group))) {
      if (hasRuns && isRun.test(word)) pairs.push(pairsOf(word), [...word].slice(-1))
      else words.add(truncate(word))
    }
  if (hasRuns) for (const word of [...words]) words.add(word.replace(article, ''))
  return [...words, ...pairs.flat()]
}

/** An Arabic article, alone or with a preposition, before three letters or more. */
const article = /^(?:[وبكف]?ال|لل)(?=\p{L}{3})/u

const withJoined = (words: string[]) =>
  words.length === 1
    ? words
    : [
        ...words,
        ...words.flatMap((_, index) => joinWords(words.slice(index, index + 2))),
        ...joinWords(words),
      ]

/** Several words as one; none if they are only numbers: 3.5 is not 35. */
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

/** The language is written out, since the default is the machine's. It also knows words of others. */
const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })

/**
 * The text with spaces between the words of its longer runs. Nearly any text has the characters of
 * a pair apart.
 */
export const splitRuns = (text: string): string =>
  text.replace(longRuns, (run) =>
    Array.from(segmenter.segment(run), ({ segment }) => segment).join(' '),
  )

/** Inserts `_` where a capital begins a word within another: NewPipe becomes New_Pipe. */
const splitByCase = (name: string) =>
  name
    .normalize('NFC')
    .replace(/\p{Ll}(?=\p{Lu})|\p{N}(?=\p{Lu}\p{Ll})|\p{Lu}(?=\p{Lu}\p{Ll})/gu, '$&_')

/**
 * One word of a search. An app has the term if it has any of the spellings as a word or, if
 * `isPrefix`, as the beginning of one. A run may be anywhere in another run. The forms are tokens that
 * an app may have instead: the stem.
 */
export type Term = Readonly<{
  /** Folded. */
  text: string
  typed: string
  spellings: readonly string[]
  forms: readonly string[]
  isPrefix: boolean
}>

/**
 * The terms of a search, each once; none if the text has no letter, digit or emoji. The spellings
 * of a word are the word itself, and its joins with the words before and after it. Words joined by
 * `&`, as in AT&T, are initials and no beginnings of others.
 */
export function queryTerms(text: string): Term[] {
  const words = groupsOf(text).flatMap((group) =>
    wordsOfGroup(group).map((word) => ({ text: truncate(word), isInitial: group.includes('&') })),
  )
  const asTyped = new Map(
    (text.match(wordGroups) ?? []).flatMap(wordsOfGroup).map((word) => [fold(word), word]),
  )
  const terms = words.map(({ text: word, isInitial }, index): Term => {
    const joined = [words.slice(Math.max(0, index - 1), index + 1), words.slice(index, index + 2)]
      .map((side) => side.map(({ text }) => text))
      .filter((side) => side.every((one) => isWord.test(one)))
      .flatMap(joinWords)
    const isPrefix = /^[\p{L}\p{N}]/u.test(word) && !isRun.test(word) && !isInitial
    const stem = stemOf(word)
    const forms = english.test(word) ? [stem, stemToken(stem)].filter((form) => form !== word) : []
    const typed = asTyped.get(word) ?? word
    return { text: word, typed, spellings: [word, ...joined.map(truncate)], forms, isPrefix }
  })
  return [...new Map(terms.map((term) => [term.text, term])).values()]
}

/** Words of other scripts, with digits or with accents have no English endings. */
const english = /^[a-z]{3,}$/

/** Shorter stems are words of their own too often. */
const minStem = 3

/** Words whose stems are remembered, since few words are most of the texts of an import. */
const maxStems = 20_000
const stems = new Map<string, string>()

/** An English word without its endings; other words as they are. */
function stemOf(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  if (!english.test(word)) return word
  // A copy, because a part of a text keeps all of it in memory.
  const copy = Buffer.from(word).toString()
  const stem = stemmer(copy)
  const used = stem.length < minStem ? copy : stem
  if (stems.size >= maxStems) stems.clear()
  stems.set(copy, used)
  return used
}

const stemToken = (stem: string) => `${marks.stem}${stem}`

/** The tokens, and the stems that are not among them. */
function withStems(tokens: string[]): string[] {
  const found = new Set(tokens.map(stemOf)).difference(new Set(tokens))
  return [...tokens, ...Array.from(found, stemToken)]
}

/** The index entry of one app. */
export type SearchDocument = Readonly<{
  /**
   * All tokens except those of the slug and the category, separated by spaces: the texts of a batch
   * take less memory than their words.
   */
  tokens: string
  /** The folded words of the name, separated by spaces. The score compares them with the search. */
  nameWords: string
  popularity: number
}>

/** The index entry of one app, with what is known only when the app is written. */
export type IndexedApp = SearchDocument & Readonly<{ id: number; slug: string; categoryId: number }>

/**
 * Prefixes of tokens other than words of a text: words of the name, of the developer's name and of
 * the lead, stems of any of these, joins of the name's words, hashes of names, categories.
 */
const marks = {
  name: '~',
  developer: '%',
  lead: '@',
  stem: '_',
  join: '+',
  key: '=',
  category: '/',
}

/**
 * Characters of the lead before the keywords: the names and the beginning of the descriptions. With
 * 500 or 1,000, fewer searches have the right app among their first three, and PostgreSQL takes twice
 * as long.
 */
const leadLength = 250

/** The columns of an app whose words its document has. The developer's name is in another table. */
export const searchedTexts = [
  'name',
  'short_description',
  'description',
  'package_name',
  'keywords',
] as const

type SearchedApp = {
  name: string
  total_downloads?: number
  /** A list, or as it is stored. */
  keywords?: string | string[] | null
} & Partial<Record<Exclude<(typeof searchedTexts)[number], 'keywords'>, string | null>>

export function toSearchDocument(app: SearchedApp, developerName: string): SearchDocument {
  const name = splitByCase(app.name)
  const nameTokens = indexTokens(name)
  const joined = new Set(indexTokens(name.replace(/[\s\p{P}]+/gu, '_')))
  const packageName = app.package_name ?? ''
  const first = [name, developerName, app.short_description]
  // Punctuation between them joins no words. After the cut, so that they push nothing out.
  const keywords = String(app.keywords ?? '')
  const lead = `${[...first, app.description].join('\n').slice(0, leadLength)}\n${keywords}`
  // The dots would join the parts of a package name into words such as "comexample". The
  // description is last because `fold` may cut the end.
  const texts = [...first, packageName.replaceAll('.', ' '), keywords, app.description]
  const keys = [app.name, packageName].filter((text) => text !== '').map(keyToken)
  return {
    tokens: [
      // Line breaks separate the runs of two texts.
      ...indexTokens(texts.join('\n')),
      ...withStems(nameTokens).map((token) => `${marks.name}${token}`),
      // Only stems, since the lead is searched for no beginnings of words.
      ...indexTokens(lead).map((token) => `${marks.lead}${stemOf(token)}`),
      ...Array.from(joined.difference(new Set(nameTokens)), joinToken),
      ...keys,
    ].join(' '),
    nameWords: wordsOf(app.name).flat().join(' '),
    popularity: popularity(app.total_downloads ?? 0),
  }
}

/** Whether a token is a word of a text, or several words of a name as one. */
export const isWordToken = (token: string): boolean => !otherMarks.has(token.charAt(0))

const otherMarks = new Set(Object.values(marks).filter((mark) => mark !== marks.join))

export const joinToken = (word: string): string => `${marks.join}${word}`

/** The word or the joined words of a token. */
export const wordOfToken = (token: string): string => token.replace(/^\+/, '')

const keyToken = (name: string) => `${marks.key}${hashed(nameKey(name))}`

/** A hash, because a token has no spaces and is short. */
const hashed = (text: string) => hash('sha256', text).slice(0, 16)

/** The entry of an app, or a developer, in the index of names. */
export type IndexedName = Readonly<{ id: number; tokens: readonly string[] }>

/** The words of the name, all of them as one, its looks, and the parts of the package name. */
export function toIndexedName(app: {
  id: number
  name: string
  package_name: string | null
}): IndexedName {
  const words = indexTokens(splitByCase(app.name))
  const joined = truncate(wordsOf(app.name).flat().join(''))
  const parts = app.package_name?.split('.').map(packagePartToken) ?? []
  return {
    id: app.id,
    tokens: [...new Set([...words, joined, ...lookTokens(looksOf(app.name)), ...parts])].filter(
      Boolean,
    ),
  }
}

/** A developer in the index of names, with an id that no app has. */
export const toIndexedDeveloper = ({ id, name }: { id: number; name: string }): IndexedName => ({
  id: developerEntry(id),
  tokens: indexTokens(name).map((word) => `${marks.developer}${word}`),
})

export const developerEntry = (id: number): number => idLimit + id
export const developerOfEntry = (entry: number): number => entry - idLimit

/** The beginnings of words of developers' names that a text has. */
export const developerPhrasesOf = (text: string): Phrase[][] =>
  namePhrasesOf(text, { isPrefix: true, mark: marks.developer })

/** A part of a package name between dots, which is no word of a name. */
export const packagePartToken = (part: string): string => `/${part.toLowerCase()}`

/** Names that look the same have one of these in common. */
export const lookTokens = (looks: string[]): string[] =>
  looks.map((look) => `${marks.key}${hashed(look)}`)

/** The phrases of a text in the index of names: whole words, or their beginnings. */
export const namePhrasesOf = (
  text: string,
  { isPrefix, mark = '' }: { isPrefix: boolean; mark?: string },
): Phrase[][] =>
  queryTerms(text).flatMap(({ text: word, spellings }) => {
    const tokens = isRun.test(word) ? pairsOf(word).map((pair) => [pair]) : [spellings]
    return tokens.map((list) => list.map((token) => ({ tokens: [`${mark}${token}`], isPrefix })))
  })

const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

/** All tokens of an app's index entry, separated by spaces. */
export const indexedTokens = ({ tokens, slug, categoryId }: IndexedApp): string =>
  `${tokens} ${keyToken(slug)} ${categoryToken(categoryId)}`

/** An app matches if it has every term, and is in the category. */
export type SearchQuery = Readonly<{
  text: string
  terms: readonly Term[]
  categoryId: number | undefined
}>

/**
 * Conditions for an app, strictest first:
 *
 * - `key`: the text of the query is its whole name, slug or package name;
 * - `name`: each term begins a word of the name, or the name has another form of it;
 * - `lead`: the lead, which says what the app is, has each term, or another form of it;
 * - `whole`: each term is a whole word of any text;
 * - `prefix`: each term begins a word of any text, or the lead has another form of it. Every match is
 *   in this tier.
 *
 * In each of them, a term may also be several words of the name as one.
 */
export type Tier = 'key' | 'name' | 'lead' | 'whole' | 'prefix'

/** The mark of the words that a tier looks at. */
const wordMarks = { name: marks.name, lead: marks.lead, whole: '', prefix: '' }

/** Consecutive tokens. If `isPrefix`, the last may be the beginning of a longer one. */
export type Phrase = Readonly<{ tokens: readonly string[]; isPrefix: boolean }>

/**
 * An app is in the tier if it has a phrase of each list. Without terms there are no lists, and
 * nothing matches.
 */
export function phrasesOf({ text, terms, categoryId }: SearchQuery, tier: Tier): Phrase[][] {
  if (terms.length === 0) return []
  return [
    ...(tier === 'key'
      ? [[exactly(keyToken(text))]]
      : terms.map((term) => termPhrases(term, tier))),
    ...(categoryId === undefined ? [] : [[exactly(categoryToken(categoryId))]]),
  ]
}

const exactly = (token: string): Phrase => ({ tokens: [token], isPrefix: false })

function termPhrases(term: Term, tier: keyof typeof wordMarks): Phrase[] {
  const { spellings, forms, isPrefix: mayBegin } = term
  const isPrefix = mayBegin && (tier === 'name' || tier === 'prefix')
  const mark = wordMarks[tier]
  const phrases = spellings.flatMap((spelling) => {
    const isOfPairs = isRun.test(spelling)
    const word = tier === 'lead' ? stemOf(spelling) : spelling
    const tokens = isOfPairs ? pairsOf(spelling) : [word]
    const words = { tokens: tokens.map((token) => `${mark}${token}`), isPrefix }
    return isOfPairs ? [words] : [words, exactly(joinToken(spelling))]
  })
  if (tier === 'name') return [...phrases, ...forms.map((form) => exactly(`${mark}${form}`))]
  // Other forms are found in names and leads: stems of all texts would make imports a tenth slower.
  if (tier === 'prefix') return [...phrases, exactly(`${marks.lead}${stemOf(term.text)}`)]
  return phrases
}

/**
 * Downloads on a logarithmic scale, four steps per doubling. Each step that an app climbs writes
 * its document again, and nobody would notice finer steps in the order of apps.
 */
export const popularity = (downloads: number): number => Math.floor(4 * Math.log2(downloads + 1))

/** Ids are less than this, so that a rank is a safe integer. The search index refuses others. */
export const idLimit = 2 ** 40

/**
 * Ranks order apps by popularity, and equally popular ones by id: the newest has the greatest rank.
 */
export const searchRank = ({ id, popularity }: { id: number; popularity: number }): number =>
  popularity * idLimit + id
export const idOfRank = (rank: number): number => rank % idLimit
export const popularityOfRank = (rank: number): number => Math.floor(rank / idLimit)

/**
 * English words of grammar and of requests, which do not say what is searched for. They are written
 * as `fold` returns them.
 */
const functionWords = new Set(
  `
    a all an any anyone anything no not some someone something that the these this those
    he her him his i it its me mine my our she their them they us we you your
    am are be been can could did do does had has have is may might must shall should was were will
    would about and as at but by for from if in into of on onto or so than then to with without
    here how there what when where which who whose why
    best find get give good help just like need please show tell use using want
  `
    .trim()
    .split(/\s+/),
)

export const isFunctionWord = (word: string): boolean => functionWords.has(word)

/** Every app is one. */
const genericWords = new Set(['app', 'apps', 'application', 'program', 'software'])

/** Whether a word says what is searched for. */
export const isSubject = (word: string): boolean => !isFunctionWord(word) && !genericWords.has(word)
