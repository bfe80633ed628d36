import fc, { type Arbitrary } from 'fast-check'
import type { Parameter, Schema } from './operations.ts'
import { allows, allowsText, segment } from './oracle.ts'

/** Values generated from schemas: valid ones, and ones that break exactly one rule. */

/** Values of parameters and fields that exist in the service's state, by name. */
export type Known = Readonly<Record<string, readonly unknown[]>>

/** Characters, or short sequences, that break naive code. */
export const units = [
  ...'aZ09 -_.,:;/?#&=+%"\'*()[]{}\\<>$|^~`\t\n\r\0\b\x1b\x7f\x85\xa0éßİǆ日ひไا',
  ...[
    '\u0301',
    '\u200b',
    '\u200d',
    '\u202e',
    '\u2028',
    '\ufeff',
    '\ufffe',
    '𝒜',
    '😀',
    '👩‍👩‍👧',
    '\ud800',
    '\udc00',
  ],
  ...[
    '\u00ad',
    '\u061c',
    '\u200f',
    '\u2060',
    '\u2067',
    '\u2800',
    '\u3164',
    '\ufe0f',
    '\u{e0001}',
    '\u{e0100}',
    '\u3000',
    '葛\u{e0100}',
  ],
  '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
]

/** What each place of a request can hold: headers and URLs hold less than a JSON string. */
export const sendable: Record<Parameter['in'] | 'body', RegExp> = {
  body: /^/,
  query: /^\P{Cs}*$/u,
  path: /^\P{Cs}+$/u,
  header: /^[\x20-\x7e\xa0-\xff]*$/,
}

type Place = keyof typeof sendable
type Fits = (text: string) => boolean

const spliced = (text: string, at: number, more: string) =>
  text.slice(0, at) + more + text.slice(at)

/** Made once, because fast-check builds a map of Unicode for each. */
export const anyText = fc.string({ unit: 'binary' })

function textsOf(schema: Schema, place: Place, fits: Fits) {
  const canSend = (text: string) => sendable[place].test(text)
  const { enum: members, pattern, minLength = 0, maxLength } = schema
  const example = typeof schema.example === 'string' ? schema.example : 'a'
  const own = units.filter((unit) => canSend(`a${unit}a`))
  // An address is varied at its end, because few texts are the beginning of one.
  const isAddress = schema['x-characters'] === 'address'
  const varied = (text: string, more: string) => spliced(text, isAddress ? text.length : 1, more)
  /** The example, lengthened to a number of characters by repeating one. */
  const filled = (unit: string, length: number) =>
    varied(example, unit.repeat(Math.max(0, length - [...example].length)))
  const good = own.filter((unit) => fits(varied(example, unit)))
  const bad = own.filter((unit) => !fits(varied(example, unit)))
  // Single code points of one and two UTF-16 units, of one and several bytes; no white space.
  const plain = good.filter((unit) => /^[\p{L}\p{N}\p{So}]$/u.test(unit))
  const text = fc.oneof(
    { withCrossShrink: true },
    fc.constant(example),
    fc.string({ unit: fc.constantFrom(...(good.length > 0 ? good : own)), maxLength: 12 }),
    pattern ? fc.stringMatching(new RegExp(pattern, 'u')) : anyText,
  )
  const onlyValid = (made: Arbitrary<string>) => made.filter((one) => canSend(one) && fits(one))

  const valid = members
    ? fc.constantFrom(...members.map(String))
    : onlyValid(
        fc.oneof(
          { withCrossShrink: true },
          { weight: 6, arbitrary: text },
          ...anyOf(good).map((unit) => ({
            weight: 3,
            arbitrary: fc.tuple(text, unit).map(([one, more]) => varied(one, more)),
          })),
          ...anyOf(maxLength === undefined ? [] : plain).map((unit) => ({
            weight: 1,
            arbitrary: unit.map((one) => filled(one, maxLength ?? 0)),
          })),
        ),
      )
  const wrong = [
    ...(members ?? []).flatMap((one) => misspellings(String(one))),
    ...(maxLength === undefined ? [] : plain.map((unit) => filled(unit, maxLength + 1))),
    ...(minLength > 0 ? ['', [...example].slice(0, minLength - 1).join('')] : []),
  ].filter((one) => canSend(one) && !fits(one))
  const misfit = anyOf(bad).map((unit) =>
    fc
      .tuple(unit, fc.nat(4))
      .map(([one, at]) => spliced(example, 1 + at, one))
      .filter((one) => canSend(one) && !fits(one)),
  )
  return { valid, nearly: [...anyOf(wrong), ...misfit] }
}

/** No arbitrary if there are no values. */
const anyOf = <T>(values: readonly T[]) => (values.length > 0 ? [fc.constantFrom(...values)] : [])

const misspellings = (text: string) => [
  ...[
    text.toUpperCase(),
    text.replace(/^./, (first) => first.toUpperCase()),
    ` ${text}`,
    `${text} `,
    `${text}${text}`,
  ],
  ...[text.slice(0, -1), text.slice(1), `${text},${text}`, ''],
]

function bounds({ minimum, maximum }: Schema) {
  if (minimum === undefined || maximum === undefined)
    throw new Error('a number without bounds is not attacked yet')
  return { min: minimum, max: maximum }
}

function integersOf(schema: Schema) {
  const { min, max } = bounds(schema)
  return fc.oneof(
    fc.integer({ min, max: Math.min(max, min + 200) }),
    fc.integer({ min, max }),
    fc.constantFrom(min, max),
  )
}

/** As digits, because JavaScript's numbers may not have the next integer. */
const beyond = (bound: number, step: 1 | -1) => String(BigInt(bound) + BigInt(step))

/** A JSON value that breaks a rule, with a pointer to the place. */
type JsonValues = { valid: Arbitrary<unknown>; nearly: Arbitrary<{ value: unknown; at: string }>[] }

const here = (value: unknown) => ({ value, at: '' })

export function jsonOf(schema: Schema, known: Known = {}): JsonValues {
  const others = (...values: unknown[]) => fc.constantFrom(...values).map(here)
  const example = schema.example ?? null
  switch (schema.type) {
    case 'string': {
      const { valid, nearly } = textsOf(schema, 'body', (text) => allows(schema, text))
      return {
        valid,
        nearly: [
          ...nearly.map((made) => made.map(here)),
          others(null, 0, 1.5, true, [], {}, [example], { value: example }),
        ],
      }
    }
    case 'integer':
    case 'number': {
      const { min, max } = bounds(schema)
      const valid =
        schema.type === 'integer' ? integersOf(schema) : fc.double({ min, max, noNaN: true })
      const wrong = [
        min - 1,
        max + 1,
        -1e300,
        1e300,
        null,
        true,
        [],
        {},
        '',
        'one',
        [min],
        String(min),
      ]
      return {
        valid,
        nearly: [
          others(...wrong),
          valid.map(String).map(here),
          ...(schema.type === 'integer' ? [others(min + 0.5)] : []),
        ],
      }
    }
    case 'boolean':
      return { valid: fc.boolean(), nearly: [others(null, 0, 1, 'true', '', [], {})] }
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 10, uniqueItems = false } = schema
      const { valid: item, nearly } = jsonOf(items, known)
      const selector = (one: unknown) =>
        uniqueItems && typeof one === 'string' ? one.trim() : Symbol()
      const valid = fc.uniqueArray(item, {
        minLength: minItems,
        maxLength: Math.min(maxItems, minItems + 5),
        selector,
      })
      const tooMany = fc.array(item, { minLength: maxItems + 1, maxLength: maxItems + 1 })
      return {
        valid,
        nearly: [
          others(null, {}, 'text', 0),
          ...nearly.map((made) => made.map(({ value, at }) => ({ value: [value], at: `/0${at}` }))),
          ...(schema.maxItems === undefined ? [] : [tooMany.map(here)]),
          ...(minItems > 0 ? [others([])] : []),
          ...(uniqueItems ? [item.map((one) => here([one, one]))] : []),
        ],
      }
    }
    default:
      return objectsOf(schema, known)
  }
}

function objectsOf(schema: Schema, known: Known): JsonValues {
  const { properties = {}, required = [], minProperties = 0 } = schema
  const parts = Object.entries(properties).map(([name, part]) => ({ name, ...jsonOf(part, known) }))
  const useful = Object.fromEntries(
    parts.map(({ name, valid }) => [
      name,
      mixed(valid, known[name], (one) => allows(properties[name] ?? {}, one)),
    ]),
  )
  const valid = fc
    .record(useful, { requiredKeys: required })
    .filter((one) => Object.keys(one).length >= minProperties)
  const withField = (name: string, value: unknown, at: string) => (one: object) => ({
    value: { ...one, [name]: value },
    at,
  })
  const names = Object.keys(properties)
  const unknown = fc
    .oneof(
      fc.constantFrom(...names.flatMap((name) => [name.toUpperCase(), `${name} `, `/${name}`])),
      fc.constantFrom(
        '__proto__',
        'constructor',
        'toString',
        '',
        'id',
        'status',
        'slug',
        '0',
        '~0/~1',
        '\ud800',
        '😀'.repeat(300),
      ),
      anyText,
    )
    .filter((name) => !names.includes(name))
  const change = [
    ...required.map((name) =>
      fc.constant((one: object) => ({ value: without(one, name), at: `/${segment(name)}` })),
    ),
    ...parts.flatMap(({ name, nearly }) =>
      nearly.map((made) =>
        made.map(({ value, at }) => withField(name, value, `/${segment(name)}${at}`)),
      ),
    ),
    ...(schema.additionalProperties === false
      ? [
          fc
            .tuple(unknown, fc.jsonValue())
            .map(([name, value]) => withField(name, value, `/${segment(name)}`)),
        ]
      : []),
  ]
  return {
    valid,
    nearly: [
      fc.constantFrom(null, [], [{}], 'text', '', 5, true).map(here),
      ...(minProperties > 0 ? [fc.constant(here({}))] : []),
      ...change.map((made) => fc.tuple(valid, made).map(([one, altered]) => altered(one))),
    ],
  }
}

const without = (object: object, name: string) =>
  Object.fromEntries(Object.entries(object).filter(([own]) => own !== name))

/** Mostly known values. */
function mixed<T>(
  made: Arbitrary<T>,
  known: readonly unknown[] = [],
  fits: (value: unknown) => boolean,
): Arbitrary<unknown> {
  const values = known.filter(fits)
  return values.length === 0
    ? made
    : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: made })
}

/** The text of a parameter. */
export function textOf(parameter: Parameter, known: Known = {}) {
  const { schema, in: place, name } = parameter
  const fits = (text: string) => allowsText(parameter, text)
  const useful = (valid: Arbitrary<string>) =>
    mixed(valid, known[name]?.map(String), (one) => fits(String(one))) as Arbitrary<string>
  if (schema.type !== 'integer') {
    const { valid, nearly } = textsOf(schema, place, fits)
    return { valid: useful(valid), nearly }
  }
  const { min, max } = bounds(schema)
  const valid = integersOf(schema).map(String)
  const spellings = [
    '0$',
    '00$',
    '+$',
    '$.0',
    '$.',
    '$e0',
    '0x$',
    ' $',
    '$ ',
    '$n',
    '"$"',
    '$,$',
    '$\n',
    '$\u0660',
    '1_$',
    '-',
  ]
  const wrong = [
    'null',
    'true',
    'NaN',
    'Infinity',
    '-0',
    '\u0661',
    '9'.repeat(400),
    beyond(max, 1),
    beyond(min, -1),
  ]
  return {
    valid: useful(valid),
    nearly: [
      fc
        .tuple(valid, fc.constantFrom(...spellings))
        .map(([one, spelling]) => spelling.replaceAll('$', one)),
      fc.constantFrom(...wrong, ...(place === 'path' ? [] : [''])),
    ],
  }
}
