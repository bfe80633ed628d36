import type { Ajv, SchemaValidateFunction } from 'ajv'
import { addressProblem } from './web-address.ts'

/**
 * Adds the keyword `x-characters`, which names a set of rules below: what a text may not have,
 * beyond what patterns can exclude in every language. The document's introduction lists it.
 */
export function addCharacterRules(ajv: Ajv): Ajv {
  const validate: SchemaValidateFunction = (rule: string, text: string) => {
    const message = characterProblem(rule, text)
    if (message !== undefined) validate.errors = [{ keyword: 'x-characters', message, params: {} }]
    return message === undefined
  }
  return ajv
    .addKeyword({ keyword: 'x-characters', type: 'string', schemaType: 'string', validate })
    .removeKeyword('uniqueItems')
    .addKeyword({ keyword: 'uniqueItems', type: 'array', validate: hasUniqueTexts })
}

/** ajv's own rule compares the texts with the white space around them, which is removed later. */
const hasUniqueTexts = (_: true, list: unknown[]) =>
  new Set(list.map((one) => (typeof one === 'string' ? one.trim() : one))).size === list.length

/** The problem of a text by the rules of that name; undefined if there is none. */
export function characterProblem(name: string, text: string): string | undefined {
  const rules = characterRules[name]
  if (!rules) throw new Error(`x-characters has the unknown value ${name}`)
  const refused = findRefused(rules, text)?.[0].codePointAt(0)
  if (refused !== undefined) return `must not have the character ${describeCharacter(refused)}`
  if (rules.isLine && /[\t\n\r]/.test(text))
    return 'must be on one line, without control characters'
  if (rules.needsVisible && !visible.test(text)) return 'must have a visible character'
  if (rules.needsTrimmed && text !== text.trim()) return 'must not begin or end with white space'
  // An empty text means none.
  if (rules.isAddress && text !== '') return addressProblem(text)
  return undefined
}

function findRefused(
  { refused }: CharacterRules,
  text: string,
): RegExpExecArray | null | undefined {
  const find = (part: string) => refusedAnywhere.exec(part) ?? refused?.exec(part)
  // Removing the sequences is slow, and few texts have characters that occur in them.
  return find(text) && find(text.replace(visibleSequences, ''))
}

/**
 * Control characters except tabs and line breaks, unpaired surrogates, and ignorable characters
 * beyond 16 bits: format controls, tags and variation selectors (Default_Ignorable_Code_Point in
 * https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt).
 */
const refusedAnywhere =
  /[^\P{Cc}\t\n\r]|[\p{Cs}\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/u

const refusedInNames =
  /(?![\p{Join_Control}\p{Variation_Selector}])[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\uFFF9-\uFFFB]/u

const refusedInAddresses =
  /(?![\p{Join_Control}\p{Variation_Selector}])[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\uFFF9-\uFFFB]|\s/u

type CharacterRules = {
  refused?: RegExp
  needsVisible?: true
  needsTrimmed?: true
  isLine?: true
  isAddress?: true
}
const characterRules: Record<string, CharacterRules> = {
  text: {},
  line: { refused: /[\u2028-\u202E\u2066-\u2069]/u, isLine: true },
  prose: { refused: /[\u202A-\u202E\u2066-\u2069]/u, needsVisible: true },
  name: { refused: refusedInNames, needsVisible: true },
  version: { refused: refusedInNames, needsVisible: true, needsTrimmed: true },
  address: { refused: refusedInAddresses, isAddress: true },
}

/**
 * Flags of regions, spelled with tags (https://www.unicode.org/reports/tr51/, section 2.9), and
 * variants of ideographs.
 */
// recheck-ignore: Unicode has three such flags, each with seven characters.
const visibleSequences = /\p{RGI_Emoji_Tag_Sequence}|\p{Ideographic}[\u{E0100}-\u{E01EF}]/gv

/** U+2800 is the Braille pattern without a dot. */
const visible = /[^\s\u2800\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/u

/** Such as `U+00AD (soft hyphen)`: most refused characters cannot be seen. */
function describeCharacter(code: number): string {
  const text = String.fromCodePoint(code)
  const kind = characterKinds.find(([pattern]) => pattern.test(text))?.[1]
  const name = characterNames[code] ?? kind ?? 'invisible character'
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')} (${name})`
}

const characterKinds: [pattern: RegExp, name: string][] = [
  [/\p{Cc}/u, 'control character'],
  [/\p{Cs}/u, 'half of a surrogate pair'],
  [/[\u{E0001}\u{E0020}-\u{E007F}]/u, 'tag'],
  [/\p{Variation_Selector}/u, 'variation selector'],
  [/\s/u, 'white space'],
]

/**
 * Names of refused characters that people copy by accident or to deceive
 * (https://www.unicode.org/Public/UCD/latest/ucd/UnicodeData.txt).
 */
const characterNames: Record<number, string> = {
  173: 'soft hyphen',
  847: 'combining grapheme joiner',
  1564: 'arabic letter mark',
  4447: 'hangul choseong filler',
  4448: 'hangul jungseong filler',
  6158: 'mongolian vowel separator',
  8203: 'zero width space',
  8206: 'left-to-right mark',
  8207: 'right-to-left mark',
  8232: 'line separator',
  8233: 'paragraph separator',
  8234: 'left-to-right embedding',
  8235: 'right-to-left embedding',
  8236: 'pop directional formatting',
  8237: 'left-to-right override',
  8238: 'right-to-left override',
  8288: 'word joiner',
  8294: 'left-to-right isolate',
  8295: 'right-to-left isolate',
  8296: 'first strong isolate',
  8297: 'pop directional isolate',
  12644: 'hangul filler',
  65279: 'zero width no-break space',
  65440: 'halfwidth hangul filler',
  65529: 'interlinear annotation anchor',
  65530: 'interlinear annotation separator',
  65531: 'interlinear annotation terminator',
}
