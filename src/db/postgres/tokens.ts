import { hash } from 'node:crypto'
import type { SearchQuery, Tier } from '../../search/best-matches.ts'
import { type SearchDocument, searchRank } from '../../search/document.ts'
import { type Form, isAscii, type Term } from '../../search/terms.ts'

/** The first character of each kind of token. Tokens of a name are also among those of the text. */
const marks = { text: 't', name: 'n', package: 'p', key: 'k', category: 'c', initial: 'i' }

const marked = (tokens: string, mark: string) => tokens.replace(/\S+/g, `${mark}$&`)

/** Hashed into one token, since a key may have spaces. */
const keyToken = (key: string) => `${marks.key}${hash('sha256', key).slice(0, 16)}`
const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

/** A marked token's first character. In a token of its own, since GIN merges the lists of all tokens that begin with a prefix. */
const initialToken = (token: string) => token.replace(/^(..).*$/u, `${marks.initial}$1`)
const isInitial = (token: string) => [...token].length === 2

/** A row of app_search, with its tokens separated by spaces. */
export function rowOf(document: SearchDocument & { id: number; categoryId: number }) {
  const { name, text, package: packageName } = document
  const words = [
    marked(name, marks.text),
    marked(name, marks.name),
    marked(text, marks.text),
    marked(packageName, marks.package),
  ].flatMap((tokens) => (tokens === '' ? [] : tokens.split(' ')))
  const keys = document.keys.map(keyToken)
  const tokens = new Set([...words, ...words.map(initialToken), ...keys, categoryToken(document.categoryId)])
  const sequence = words.join(' ')
  return {
    app_id: document.id,
    rank: searchRank(document),
    name_words: document.nameWords,
    tokens: [...tokens].join(' '),
    sequence: isAscii(sequence) ? null : ` ${sequence} `,
  }
}

/**
 * What an app must have. `tokens` is a `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html).
 * `sequences` is JSON: lists of parts of `app_search.sequence`. An app must have one part of each list, unless it is of ASCII
 * alone and has no sequence.
 */
export type Match = Readonly<{ tokens: string; sequences: string | undefined }>

/** Undefined if nothing can match. */
export function matchOf({ terms, keys, categoryId }: SearchQuery, tier: Tier): Match | undefined {
  const required =
    tier === 'key' ? [keys.map((key) => wholeToken(keyToken(key)))] : terms.map((term) => phrasesOf(term, tier))
  if (required.length === 0 || required.some((phrases) => phrases.length === 0)) return undefined
  if (categoryId !== undefined) required.push([wholeToken(categoryToken(categoryId))])
  const sequences = required.filter((phrases) => phrases.some(({ tokens }) => tokens.length > 1)).map(toSequences)
  return {
    tokens: required.map((phrases) => `(${phrases.map(tsquery).join(' | ')})`).join(' & '),
    sequences: sequences.length === 0 ? undefined : JSON.stringify(sequences),
  }
}

/** Tokens that must stand one after the other. */
type Phrase = { tokens: string[]; isPrefix: boolean }

const wholeToken = (token: string): Phrase => ({ tokens: [token], isPrefix: false })

/** A term's forms in the kinds of tokens that a tier looks at. */
function phrasesOf({ forms }: Term, tier: Exclude<Tier, 'key'>): Phrase[] {
  const kinds = { name: [marks.name], whole: [marks.text], prefix: [marks.text, marks.package] }[tier]
  const isPrefix = ({ extent }: Form) => extent === 'prefix' || (extent === 'either' && tier !== 'whole')
  return kinds.flatMap((mark) =>
    forms.map((form) => ({ tokens: form.tokens.map((token) => `${mark}${token}`), isPrefix: isPrefix(form) })),
  )
}

const tsquery = ({ tokens, isPrefix }: Phrase) =>
  `(${tokens.map((token, index) => lexeme(token, isPrefix && index === tokens.length - 1)).join(' & ')})`

/** The `tsquery` of a whole word of the texts. */
export const wordQuery = (word: string) => lexeme(`${marks.text}${word}`, false)

function lexeme(token: string, isPrefix: boolean): string {
  if (isPrefix && isInitial(token)) return lexeme(initialToken(token), false)
  return `'${token.replace(/['\\]/g, '$&$&')}'${isPrefix ? ':*' : ''}`
}

const toSequences = (phrases: Phrase[]) =>
  phrases.map(({ tokens, isPrefix }) => ` ${tokens.join(' ')}${isPrefix ? '' : ' '}`)
