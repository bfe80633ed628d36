import { describe, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { characterProblem } from '../../src/contract/character-rules.ts'
import { characterRules, isRefused, wrongCells } from './characters.ts'

/**
 * Compares the characters that the service refuses with the document's list and with their Unicode
 * properties.
 */

/** The Unicode planes to compare; the others have ideographs, private or unassigned characters. */
const planes = [0, 1, 14]
const all = planes.flatMap((plane) =>
  Array.from({ length: 0x10000 }, (_, code) => String.fromCodePoint(plane * 0x10000 + code)),
)
const printable = all.filter((one) => !/[^\P{Cc}\x80-\x9f]/u.test(one))
const shown = (ones: string[]) => ones.map((one) => one.codePointAt(0)?.toString(16))

const beyond16Bits = /[\p{Default_Ignorable_Code_Point}&&[\u{10000}-\u{10FFFF}]]/v
const anywhere = (one: string) =>
  /[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/u.test(one) || beyond16Bits.test(one)
/** Joiners and variation selectors, which change how other characters look. */
const needed = /[\p{Join_Control}\p{Variation_Selector}]/u
/** Default ignorable characters and annotation anchors. */
const invisible = /[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/u
const inNames = (one: string) =>
  anywhere(one) ||
  /[\p{Bidi_Control}\u2028\u2029]/u.test(one) ||
  (invisible.test(one) && !needed.test(one))

/** The blank Braille pattern is not white space. */
const isSeen = (one: string) =>
  !anywhere(one) && ![invisible, needed, /[\s\u2800]/u].some((unseen) => unseen.test(one))

const unicode: Record<string, (one: string) => boolean> = {
  address: (one) => inNames(one) || /[\s\\]/u.test(one),
  name: inNames,
  version: inNames,
  prose: anywhere,
  line: (one) => anywhere(one) || /[\u2028\u2029]/u.test(one),
}

/** The beginning that a text needs. */
const beginOf = (rule: string) => (rule === 'address' ? 'https://example.org/' : '')

test('the rules of all fields are compared', () => {
  expect(characterRules.toSorted()).toEqual(Object.keys(unicode).toSorted())
})

test('each row of the table names exactly the fields where its characters are refused', () => {
  const isTextRefused = (rule: string, text: string) => characterProblem(rule, text) !== undefined
  expect(wrongCells(isTextRefused, beginOf)).toEqual([])
})

describe.for(Object.entries(unicode))('x-characters: %s', ([rule, isUnseen]) => {
  test('refuses the characters that the document lists, and Unicode makes them invisible', () => {
    const begin = beginOf(rule) || 'a'
    const refused = printable.filter(
      (one) => characterProblem(rule, `${begin}${one}b`) !== undefined,
    )
    expect(shown(refused)).toEqual(
      shown(printable.filter((one) => isRefused(rule, `${begin}${one}b`))),
    )
    expect(shown(refused)).toEqual(shown(printable.filter(isUnseen)))
  })

  test('requires a visible character, unless the text may be empty', () => {
    // A character alone is no address.
    const isMissing = (one: string) => rule === 'address' || !isSeen(one)
    const refused = printable.filter((one) => characterProblem(rule, one) !== undefined)
    expect(shown(refused)).toEqual(shown(printable.filter((one) => isRefused(rule, one))))
    expect(shown(refused)).toEqual(shown(printable.filter(rule === 'line' ? isUnseen : isMissing)))
  })
})

test('accepts invisible characters as part of a visible one', () => {
  const flag = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'
  const whole = [flag, `${flag}${flag}`, '葛\u{e0100}城', '👩‍👩‍👧', '🇵🇱', '1️⃣']
  const broken = [
    `${flag}\u{e0041}`,
    flag.slice(0, -2),
    flag.slice(2),
    '葛\u{e0100}\u{e0101}',
    `葛${flag}\u{e0100}`,
  ]
  for (const rule of characterRules) {
    const isAccepted = (text: string) => [
      characterProblem(rule, beginOf(rule) + text) === undefined,
      !isRefused(rule, beginOf(rule) + text),
    ]
    expect(whole.filter((text) => isAccepted(text).includes(false))).toEqual([])
    expect(broken.filter((text) => isAccepted(text).includes(true))).toEqual([])
  }
})

/** Fields that are no texts, or whose patterns a new rule would have changed for clients. */
const withoutPattern = new Set(['CategoryId', 'NewLicense', 'NewWebAddress'])

test('only requests have patterns, and they match alike in every language', () => {
  const { schemas, parameters, ...others } = document.components
  const patterns = Object.entries({ ...schemas, ...parameters }).flatMap(([name, part]) =>
    patternsIn(part, name),
  )
  const requests = new Set(
    Object.values(schemas.AppChanges.properties).map(({ $ref }) =>
      $ref.replace('#/components/schemas/', ''),
    ),
  )
  expect(patterns.map(({ place }) => place).toSorted()).toEqual(
    ['IdempotencyKey', ...requests].filter((name) => !withoutPattern.has(name)).toSorted(),
  )
  expect(patternsIn({ ...others, paths: document.paths }, '')).toEqual([])
  // Literals, classes, groups, alternatives and counts in ASCII; no classes by name, no
  // look-around, no backreferences.
  for (const { pattern } of patterns)
    expect(pattern).toMatch(/^\^([A-Za-z0-9 _[\]^*+(){},|:-]|\\x[0-7][0-9A-F]|\\[tnr.])+\$$/)
})

function patternsIn(node: unknown, place: string): { place: string; pattern: string }[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'pattern' ? [{ place, pattern: String(value) }] : patternsIn(value, place),
  )
}
