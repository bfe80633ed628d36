import { slugify } from 'transliteration'

export const maximumLength = 80

/** `[a-z0-9]+(-[a-z0-9]+)*`, at most 80 long, from text in any script; `app` where nothing of it can be spelt. */
export const slugOf = (name: string) =>
  shorten(slugify(name.normalize('NFKC').replaceAll('ẞ', 'SS'), { allowedChars: 'a-zA-Z0-9' }), maximumLength) || 'app'

/** The slug with a number behind it, cut so that both fit. */
export function numbered(slug: string, number: number): string {
  const suffix = `-${number}`
  return shorten(slug, maximumLength - suffix.length) + suffix
}

const shorten = (slug: string, length: number) => slug.slice(0, length).replace(/-+$/, '')
