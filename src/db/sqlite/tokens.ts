import { hash } from 'node:crypto'
import type { SearchDocument } from '../../search/document.ts'

/**
 * What begins a token that is not of the text: so each kind has lists of its own, which are as short as can be. Tokens of
 * names are among those of the text, too.
 */
export const marks = { text: '', name: '~', package: '@', key: '=', category: '/' }

/** Those of which no beginning is ever asked for. */
export const isWholeAlone = (token: string) => token.startsWith(marks.key) || token.startsWith(marks.category)

export const marked = (tokens: string, mark: string) => (mark === '' ? tokens : tokens.replace(/\S+/g, `${mark}$&`))

// A whole key becomes one word, so that the index itself can ask for it.
export const keyToken = (key: string) => `${marks.key}${hash('sha256', key).slice(0, 16)}`
export const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

export const tokensOf = (document: SearchDocument & { categoryId: number }) =>
  [
    document.name,
    marked(document.name, marks.name),
    document.text,
    marked(document.package, marks.package),
    ...document.keys.map(keyToken),
    categoryToken(document.categoryId),
  ].join(' ')

/** An expression of FTS5: a word, words one after the other, or what such begin with. */
export const phraseOf = (tokens: string, isPrefix: boolean) => `"${tokens}"${isPrefix ? ' *' : ''}`
