import { randomInt } from 'node:crypto'

/**
 * Each change of an app gives it a new revision, so that a decision can be refused if the app is
 * not the one that was read. Operators write it after the id: `108@k3f9a`. It is random, so that an
 * old one never matches by chance; owners do not see it.
 */

const length = 5

/** Digits and lower-case letters. */
export const newRevision = () => Array.from({ length }, () => randomInt(36).toString(36)).join('')

/** An app, at a revision if one is given. */
export type AppReference = { id: number; revision?: string | undefined }

export const formatReference = ({ id, revision }: AppReference) =>
  revision === undefined ? String(id) : `${id}@${revision}`

/** Parses `108` or `108@k3f9a`; undefined if the text is neither. */
export function parseReference(text: string): AppReference | undefined {
  const [, id, revision] = /^([1-9]\d{0,14})(?:@([0-9a-z]+))?$/.exec(text) ?? []
  return id === undefined ? undefined : { id: Number(id), revision }
}

/** The format that `parseReference` accepts, for messages. */
export const referenceFormat = 'a number such as 108, or 108@k3f9a with a revision'
