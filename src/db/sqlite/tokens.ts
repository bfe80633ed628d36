import { hash } from 'node:crypto'
import type { SearchQuery, Tier } from '../../search/best-matches.ts'
import type { SearchDocument } from '../../search/document.ts'
import type { Form, Term } from '../../search/terms.ts'

/** The first character of tokens that are not of a text, so that each kind has posting lists that are as short as can be. */
const marks = { text: '', name: '~', package: '@', key: '=', category: '/' }

const marked = (tokens: string, mark: string) => (mark === '' ? tokens : tokens.replace(/\S+/g, `${mark}$&`))

/** Hashed into one token, since a key may have spaces. */
const keyToken = (key: string) => `${marks.key}${hash('sha256', key).slice(0, 16)}`
const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

export const tokensOf = (document: SearchDocument & { categoryId: number }) =>
  [
    document.name,
    marked(document.name, marks.name),
    document.text,
    marked(document.package, marks.package),
    ...document.keys.map(keyToken),
    categoryToken(document.categoryId),
  ].join(' ')

/** What FTS5 is asked for (https://sqlite.org/fts5.html#full_text_query_syntax); undefined if nothing can match. */
export function matchExpression({ terms, keys, categoryId }: SearchQuery, tier: Tier): string | undefined {
  const conditions =
    tier === 'key' ? [keys.map((key) => phrase(keyToken(key), false))] : terms.map((term) => phrasesOf(term, tier))
  if (conditions.length === 0 || conditions.some((phrases) => phrases.length === 0)) return undefined
  if (categoryId !== undefined) conditions.push([phrase(categoryToken(categoryId), false)])
  return conditions.map((phrases) => `(${phrases.join(' OR ')})`).join(' AND ')
}

/** A term's forms in the kinds of tokens that a tier looks at. */
function phrasesOf({ forms }: Term, tier: Exclude<Tier, 'key'>): string[] {
  const kinds = { name: [marks.name], whole: [marks.text], prefix: [marks.text, marks.package] }[tier]
  const isPrefix = ({ extent }: Form) => extent === 'prefix' || (extent === 'either' && tier !== 'whole')
  // A form that begins with the prefix of another adds no match.
  const needed = forms.filter(
    ({ text }) => !forms.some((other) => isPrefix(other) && other.text !== text && text.startsWith(other.text)),
  )
  return kinds.flatMap((mark) => needed.map((form) => phrase(marked(form.tokens.join(' '), mark), isPrefix(form))))
}

/** A whole word of the texts. */
export const wordExpression = (word: string) => phrase(marked(word, marks.text), false)

const phrase = (tokens: string, isPrefix: boolean) => `"${tokens}"${isPrefix ? ' *' : ''}`
