import { describe, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { categoryNameRule, developerNameRule, reasonRule, reviewerNameRule } from '../../src/contract/field-rules.ts'
import { invalidTextReason } from '../../src/contract/validation.ts'

/** Compares the published patterns, which list characters, with their Unicode properties. */

const { NewAppName, NewAppVersion, NewAppDescription, NewShortDescription } = document.components.schemas

const basic = Array.from({ length: 0x10000 }, (_, code) => String.fromCodePoint(code)).filter((one) =>
  one.isWellFormed(),
)
const beyond = Array.from({ length: 0x100000 }, (_, code) => String.fromCodePoint(0x10000 + code))

const control = /[\p{Cc}\u2028\u2029]/u
const controlOrBreak = /[^\P{Cc}\t\n\r]/u
/** Joiners and variation selectors, which change how other characters look. */
const needed = /[\p{Join_Control}\p{Variation_Selector}]/u
/** Default ignorable characters and annotation anchors. */
const invisible = /[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/u
const turning = /[\u202A-\u202E\u2066-\u2069]/u
/** The blank Braille pattern is not white space. */
const blank = /[\s\u2800]/u

const isRefusedIn = {
  name: (one: string) =>
    control.test(one) || /\p{Bidi_Control}/u.test(one) || (invisible.test(one) && !needed.test(one)),
  prose: (one: string) => controlOrBreak.test(one) || turning.test(one),
  line: (one: string) => control.test(one) || turning.test(one),
}
const isSeen = (one: string) =>
  ![control, /\p{Bidi_Control}/u, invisible, needed, blank].some((unseen) => unseen.test(one))

type Kind = keyof typeof isRefusedIn

describe.for<[name: string, rule: { pattern: string }, kind: Kind]>([
  ['NewAppName', NewAppName, 'name'],
  ['NewAppVersion', NewAppVersion, 'name'],
  ['a developer', developerNameRule, 'name'],
  ['a category', categoryNameRule, 'name'],
  ['a reviewer', reviewerNameRule, 'name'],
  ['NewAppDescription', NewAppDescription, 'prose'],
  ['a reason', reasonRule, 'prose'],
  ['NewShortDescription', NewShortDescription, 'line'],
])('the pattern of %s', ([, { pattern }, kind]) => {
  const matches = new RegExp(pattern, 'u')
  const shown = (ones: string[]) => ones.map((one) => one.codePointAt(0)?.toString(16))

  test('refuses exactly the forbidden characters', () => {
    const refused = basic.filter((one) => !matches.test(`a${one}b`))
    expect(shown(refused)).toEqual(shown(basic.filter(isRefusedIn[kind])))
  })

  test('requires a visible character, unless the text may be empty', () => {
    const mayBeUnseen = kind === 'line'
    const alone = basic.filter((one) => matches.test(one) && matches.test(` ${one}\u00a0`))
    const allowed = basic.filter((one) => !isRefusedIn[kind](one) && (mayBeUnseen || isSeen(one)))
    expect(shown(alone)).toEqual(shown(allowed))
    expect(['', ' ', '\u3000\u2800'].map((text) => matches.test(text))).toEqual(Array(3).fill(mayBeUnseen))
  })

  test('works in every regex engine: no named classes, no look-around, nothing above U+FFFF', () => {
    expect(pattern).toMatch(/^\^([[\]^*$-]|\\u[0-9A-F]{4})+\$$/)
  })
})

test('above U+FFFF, invisible characters are accepted only as part of visible ones', () => {
  const refused = beyond.filter((one) => one.isWellFormed() && invalidTextReason(`a${one}b`) !== undefined)
  expect(refused).toEqual(beyond.filter((one) => /\p{Default_Ignorable_Code_Point}/u.test(one)))
  const flag = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'
  expect([flag, `${flag}${flag}`, '葛\u{e0100}城', '👩‍👩‍👧', '🇵🇱', '1️⃣'].map(invalidTextReason)).toEqual(
    Array(6).fill(undefined),
  )
  const broken = [`${flag}\u{e0041}`, flag.slice(0, -2), flag.slice(2), '葛\u{e0100}\u{e0101}', `葛${flag}\u{e0100}`]
  expect(broken.map(invalidTextReason)).toEqual(Array(5).fill('must have no invisible characters'))
})
