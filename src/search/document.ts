import { indexTokens, nameKey } from './terms.ts'

/** What the index knows of one app: the tokens of its texts, with spaces between, and the keys that a search may equal. */
export type SearchDocument = Readonly<{
  name: string
  /** Of the developer's name and the descriptions. */
  text: string
  package: string
  /** Of the name and the package name. */
  keys: readonly string[]
}>

/** The columns of an app that search reads, and the developer's name, which stands elsewhere. */
export type SearchableTexts = {
  name: string
  short_description?: string | null
  description?: string | null
  package_name?: string | null
}

/** What the search index is told of an app. */
export function toSearchDocument(app: SearchableTexts, developerName: string): SearchDocument {
  const packageName = app.package_name ?? ''
  // The longest last: of characters that stand for many the end is cut.
  const texts = [developerName, app.short_description ?? '', app.description ?? '']
  return {
    name: indexTokens(app.name, true).join(' '),
    // A line break apart: no word and no run goes from one text into the next.
    text: indexTokens(texts.join('\n')).join(' '),
    // Its parts alone: what begins with "com" would else be a word of its own in every app.
    package: indexTokens(packageName.replaceAll('.', ' ')).join(' '),
    keys: [app.name, packageName].filter((text) => text !== '').map(nameKey),
  }
}
