import { OperatorError } from '../contract/errors.ts'
import { indexTokens, nameKey, nameWords } from './terms.ts'

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
