import document from '../../generated/openapi.json' with { type: 'json' }

/**
 * The texts that the document's section "Characters" refuses, by the `x-characters` of a schema.
 * Shares no code with the service.
 */

const section = document.info.description.match(/^## Characters$.*?(?=^## )/ms)?.[0] ?? ''
const rows = [...section.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)]
  .slice(2)
  .map(([, fields = '', refused = '']) => ({
    fields,
    refused: refused.replace(/, except .*/, ''),
  }))

/**
 * The characters that a text lists as `U+0000`–`U+0000`, as the inside of a regular expression's
 * character class.
 */
const namedIn = (text: string) =>
  [...text.matchAll(/`U\+([0-9A-F]+)`(?:–`U\+([0-9A-F]+)`)?/g)]
    .map(([, first = '', last = first]) => `\\u{${first}}-\\u{${last}}`)
    .join('')

/** The first and last character of each range in the document. */
export const listedCharacters = rows.flatMap(({ refused }) =>
  [...refused.matchAll(/U\+([0-9A-F]+)/g)].map(([, code = '']) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  ),
)

/** A field in the document's table for each value of `x-characters`. */
const fieldOf: Record<string, string> = {
  name: 'name',
  version: 'version',
  prose: 'description',
  line: 'short_description',
}

const whiteSpace = namedIn(section.match(/^White space is .*/ms)?.[0] ?? '')
const isBlank = new RegExp(
  `^[${whiteSpace}${rows.map(({ refused }) => namedIn(refused)).join('')}]*$`,
  'u',
)
const isLoose = new RegExp(`^[${whiteSpace}]|[${whiteSpace}]$`, 'u')

export const characterRules = Object.keys(fieldOf)
const checks = new Map(characterRules.map((rule) => [rule, checksOf(rule)]))

export const isRefused = (rule: string, text: string): boolean => {
  const seen = text.replaceAll(
    /\p{RGI_Emoji_Tag_Sequence}|\p{Ideographic}[\u{E0100}-\u{E01EF}]/gv,
    'x',
  )
  return (checks.get(rule) ?? []).some((check) => check.test(seen))
}

function checksOf(rule: string): RegExp[] {
  const own = rows.filter(
    ({ fields }) => fields === 'every text' || fields.includes(`\`${fieldOf[rule]}\``),
  )
  return own.map(({ refused }) => {
    if (refused.startsWith('a text without')) return isBlank
    return refused.startsWith('white space') ? isLoose : new RegExp(`[${namedIn(refused)}]`, 'u')
  })
}
