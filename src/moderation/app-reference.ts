/** An app, at a revision if one is given. Operators write it after the id: `108@k3f9a`. */
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
