import { sanitize } from '../util/text.ts'

/** Makes HTML by templates whose values are escaped. */

class SafeHtml {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** HTML that is safe to send, since only the tag `html` makes it. */
export type Html = SafeHtml

type Value = Html | string | number | null | undefined | false | readonly Value[]

/**
 * A template. Its values are escaped unless they are HTML. Lists are joined; null, undefined and
 * false are left out.
 */
export const html = (strings: TemplateStringsArray, ...values: Value[]): Html =>
  new SafeHtml(
    strings.map((text, index) => (index === 0 ? '' : toText(values[index - 1])) + text).join(''),
  )

function toText(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof SafeHtml) return value.text
  if (typeof value === 'object') return value.map(toText).join('')
  return escapeHtml(sanitize(String(value)))
}

export const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
