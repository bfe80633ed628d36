import { hash } from 'node:crypto'
import type { SearchDocument } from '../../search/document.ts'
import { isAscii } from '../../search/terms.ts'

/** The letter that a token of each kind begins with. Tokens of names are among those of the text, too. */
export const marks = { text: 't', name: 'n', package: 'p', key: 'k', category: 'c' }

export type Kind = 'text' | 'name' | 'package'

export const keyToken = (key: string) => `${marks.key}${hash('sha256', key).slice(0, 16)}`
export const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

type Row = { app_id: number; name: string | null; text: string | null; package: string | null; tokens: string }

/** What the table has of an app. */
export function rowOf(document: SearchDocument & { id: number; categoryId: number }): Row {
  const tokens = [
    ...marked(document.name, marks.text),
    ...marked(document.text, marks.text),
    ...marked(document.name, marks.name),
    ...marked(document.package, marks.package),
    ...document.keys.map(keyToken),
    categoryToken(document.categoryId),
  ]
  return {
    app_id: document.id,
    name: sequence(document.name),
    text: sequence(document.text),
    package: sequence(document.package),
    tokens: [...new Set(tokens)].join(' '),
  }
}

const marked = (tokens: string, mark: string) =>
  tokens === '' ? [] : tokens.split(' ').map((token) => `${mark}${token}`)

/** Only what is written without spaces is asked for by several tokens that stand one after the other. */
const sequence = (tokens: string) => (isAscii(tokens) ? null : ` ${tokens} `)

/** A token, or what it begins, as `tsquery` reads it (https://www.postgresql.org/docs/current/datatype-textsearch.html). */
export const lexeme = (token: string, isPrefix = false) => `'${token.replace(/['\\]/g, '$&$&')}'${isPrefix ? ':*' : ''}`
