import { slugify } from 'transliteration'
import { maxAppSlugLength } from '../contract/field-rules.ts'

/**
 * A slug that matches `[a-z0-9]+(-[a-z0-9]+)*` and has the document's length; `app` if nothing can
 * be transliterated.
 */
export const toSlug = (name: string) => shorten(transliterate(name), maxAppSlugLength) || 'app'

/** Most names are ASCII and need no transliteration, which takes ten times as long. */
const transliterate = (name: string) =>
  /^[ -~]*$/.test(name)
    ? (name.toLowerCase().match(/[a-z0-9]+/g) ?? []).join('-')
    : slugify(name.normalize('NFKC').replaceAll('ẞ', 'SS'), { allowedChars: 'a-zA-Z0-9' })

/** The slug with a number appended, shortened so that both fit. */
export function numberedSlug(slug: string, number: number): string {
  const suffix = `-${number}`
  return shorten(slug, maxAppSlugLength - suffix.length) + suffix
}

const shorten = (slug: string, length: number) => slug.slice(0, length).replace(/-$/, '')
