import { domainToUnicode } from 'node:url'
import document from '../../generated/openapi.json' with { type: 'json' }
import { ownerTexts } from './owner-fields.ts'

/**
 * The texts that the document's section "Characters" refuses, by the `x-characters` of a schema.
 * Shares no code with the service.
 */

const section = document.info.description.match(/^## Characters$.*/ms)?.[0] ?? ''
const rows = [...section.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)]
  .slice(2)
  .map(([, fields = '', refused = '']) => ({
    fields,
    refused: refused.replace(/, except .*/, ''),
  }))

type Row = (typeof rows)[number]

/** Whether a row of the table is about a field. */
const isIn = ({ fields }: Row, name: string) =>
  fields === 'every text' || fields.includes(`\`${name}\``)

const ranges = /`U\+([0-9A-F]+)`(?:–`U\+([0-9A-F]+)`)?/g

/**
 * The characters that a text lists as `U+0000`–`U+0000`, as the inside of a regular expression's
 * character class.
 */
const toCharacterRanges = (text: string) =>
  [...text.matchAll(ranges)]
    .map(([, first = '', last = first]) => `\\u{${first}}-\\u{${last}}`)
    .join('')

/** The first and last character of each range in the document. */
export const listedCharacters = rows.flatMap(({ refused }) =>
  [...refused.matchAll(/U\+([0-9A-F]+)/g)].map(([, code = '']) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  ),
)

/** The fields with each value of `x-characters`. */
const fieldsOf = Map.groupBy(
  ownerTexts.filter(([, schema]) => schema['x-characters'] !== undefined),
  ([, schema]) => String(schema['x-characters']),
)

/** Fields that are stored without surrounding white space. */
export const trimmedFields = [
  ...(/White space around[^.]*/.exec(section)?.[0] ?? '').matchAll(/`(\w+)`/g),
].map(([, name = '']) => name)

const whiteSpace = toCharacterRanges(section.match(/^White space is .*/ms)?.[0] ?? '')
const blankText = new RegExp(
  `^[${whiteSpace}${rows.map(({ refused }) => toCharacterRanges(refused)).join('')}]*$`,
  'u',
)
const surroundingSpace = new RegExp(`^[${whiteSpace}]|[${whiteSpace}]$`, 'u')

export const characterRules = [...fieldsOf.keys()]
const checks = new Map(characterRules.map((rule) => [rule, checksOf(rule)]))

export const isRefused = (rule: string, text: string): boolean => {
  const seen = text.replaceAll(
    /\p{RGI_Emoji_Tag_Sequence}|\p{Ideographic}[\u{E0100}-\u{E01EF}]/gv,
    'x',
  )
  return (
    (checks.get(rule) ?? []).some((check) => check.test(seen)) ||
    (rule === 'address' && text !== '' && !isAddress(text))
  )
}

/** As the section "Addresses" says. */
function isAddress(address: string): boolean {
  const parts = /^https?:\/\/([^/?#:]*)(?::(\d+))?(?:[/?#]|$)/i.exec(address)
  const [, host = '', port = '443'] = parts ?? []
  const labels = URL.parse(`http://${host}`)?.hostname.split('.') ?? []
  const isLabel = (label: string) =>
    /^[\w-]{1,63}$/.test(label) && !domainToUnicode(label).startsWith('xn--')
  return (
    parts !== null &&
    !/[%@[\\]/.test(host) &&
    !address.includes('\\') &&
    labels.length > 1 &&
    labels.every(isLabel) &&
    labels.join('.').length <= 253 &&
    /[^\d.]/.test(labels.join('.')) &&
    Number(port) > 0 &&
    Number(port) < 65_536
  )
}

function checksOf(rule: string): RegExp[] {
  const names = (fieldsOf.get(rule) ?? []).map(([name]) => name)
  // texts.test.ts reports a row that names some of them only.
  return rows.filter((row) => names.some((name) => isIn(row, name))).map(checkOf)
}

function checkOf({ refused }: Row): RegExp {
  if (refused.startsWith('a text without')) return blankText
  return refused.startsWith('white space')
    ? surroundingSpace
    : new RegExp(`[${toCharacterRanges(refused)}]`, 'u')
}

/** Texts that a row refuses: one for each character, or one that is blank or not trimmed. */
function samplesOf({ refused }: Row, begin: string): string[] {
  if (refused.startsWith('a text without')) return [`${begin}\u2800`]
  if (refused.startsWith('white space')) return [`${begin || 'a'} `]
  return [...refused.matchAll(ranges)].flatMap(([, first = '', last = first]) => {
    const [from, to] = [Number.parseInt(first, 16), Number.parseInt(last, 16)]
    return Array.from(
      { length: to - from + 1 },
      (_, index) => `${begin || 'a'}${String.fromCodePoint(from + index)}b`,
    )
  })
}

/**
 * The cells of the table that contradict the service, by its answer about a text and the rule of a
 * field: a row that does not name a field but whose characters are refused there, or the reverse.
 */
export const wrongCells = (
  isTextRefused: (rule: string, text: string) => boolean,
  beginOf: (rule: string) => string,
): string[] =>
  [...fieldsOf].flatMap(([rule, fields]) =>
    fields.flatMap(([name]) =>
      rows.flatMap((row) => {
        const samples = samplesOf(row, beginOf(rule))
        const title = `the row "${row.refused.slice(0, 60)}" of "Characters"`
        const areRefused = samples.every((text) => isTextRefused(rule, text))
        if (isIn(row, name)) return areRefused ? [] : [`${title} must not name ${name}`]
        const own = rows.filter((other) => isIn(other, name)).map(checkOf)
        const areListed = samples.every((text) => own.some((check) => check.test(text)))
        return areRefused && !areListed ? [`${title} must name ${name}`] : []
      }),
    ),
  )
