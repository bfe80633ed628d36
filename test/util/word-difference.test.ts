import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fullWordDifference, type Part, wordDifference } from '../../src/util/word-difference.ts'
import { seed } from '../support/random.ts'

/** Parts as text: [-removed-], {+added+}. */
const show = (parts: Part[] | undefined) =>
  parts
    ?.map(({ kind, text }) =>
      kind === 'removed' ? `[-${text}-]` : kind === 'added' ? `{+${text}+}` : text,
    )
    .join('')

test.for<[what: string, before: string, after: string, shown: string]>([
  ['the same text', 'Counts the tides.', 'Counts the tides.', 'Counts the tides.'],
  ['two empty texts', '', '', ''],
  ['a new text', '', 'Counts.', '{+Counts.+}'],
  ['a removed text', 'Counts.', '', '[-Counts.-]'],
  ['another word', 'Counts the tides.', 'Shows the tides.', '[-Counts-]{+Shows+} the tides.'],
  ['a word at the end', 'Counts tides', 'Counts tides daily', 'Counts tides{+ daily+}'],
  ['a word in the middle', 'Counts tides', 'Counts all tides', 'Counts{+ all+} tides'],
  ['punctuation', 'Counts. Shows.', 'Counts, Shows.', 'Counts[-.-]{+,+} Shows.'],
  ['a line break', 'One two', 'One\ntwo', 'One[- two-]{+\ntwo+}'],
  ['spaces at the end', 'One ', 'One  ', 'One[- -]{+  +}'],
  ['case', 'tide Clock', 'Tide Clock', '[-tide-]{+Tide+} Clock'],
  ['accents', 'un café noir', 'un cafe noir', 'un[- café-]{+ cafe+} noir'],
  ['a decomposed accent', 'un cafe\u0301', 'un cafe', 'un[- cafe\u0301-]{+ cafe+}'],
  ['Japanese, by characters', '天気アプリ', '天気予報アプリ', '天気{+予報+}アプリ'],
  ['Thai, with its marks', 'ที่นี่', 'ที่นั่น', 'ที่[-นี่-]{+นั่น+}'],
  ['Arabic', 'ساعة المد', 'ساعة الجزر', 'ساعة[- المد-]{+ الجزر+}'],
  [
    'Persian, with joiners in words',
    'می\u200Cروم',
    'می\u200Cروی',
    '[-می\u200Cروم-]{+می\u200Cروی+}',
  ],
  ['emoji of several characters', '👩‍💻🇩🇪👍🏽', '👩‍🔬🇩🇰👍🏿', '[-👩‍💻🇩🇪👍🏽-]{+👩‍🔬🇩🇰👍🏿+}'],
])('shows %s', ([, before, after, shown]) => {
  expect(show(wordDifference(before, after))).toBe(shown)
})

const words = fc.array(
  fc.oneof(
    fc.constantFrom(
      'tide',
      'Tide',
      ' ',
      '\n',
      '.',
      '天',
      '👩‍💻',
      'e\u0301',
      '\u200D',
      '\uD83C',
      '…',
    ),
    fc.string({ unit: 'binary', maxLength: 3 }),
  ),
  { maxLength: 60 },
)
const text = words.map((all) => all.join(''))

test('no part is lost or in another place', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const parts = fullWordDifference(before, after)
      const join = (changed: Part['kind']) =>
        parts
          ?.filter(({ kind }) => kind === 'same' || kind === changed)
          .map((part) => part.text)
          .join('')
      expect(join('removed')).toBe(before)
      expect(join('added')).toBe(after)
      // Neighbours of one kind are one part, and no part is empty.
      const kinds = parts?.map(({ kind }) => kind) ?? []
      expect(kinds.every((kind, index) => kind !== kinds[index + 1])).toBe(true)
      expect(parts?.every((part) => part.text !== '')).toBe(true)
    }),
    { numRuns: 1000, seed },
  )
})

test('a text that differs in few words of many is compared, and one that differs in many is not', () => {
  const numbers = Array.from({ length: 3000 }, (_, index) => `${index}`)
  const replaced = (count: number) =>
    numbers.map((one, index) => (index % 20 === 0 && index < 20 * count ? 'new' : one)).join(' ')
  const changed = (count: number) => wordDifference(numbers.join(' '), replaced(count))
  expect(changed(100)?.filter(({ kind }) => kind === 'added')).toHaveLength(100)
  expect(changed(101)).toBeUndefined()
  expect(wordDifference('', numbers.slice(0, 200).join(' '))).toHaveLength(1)
  expect(wordDifference('', numbers.slice(0, 201).join(' '))).toBeUndefined()
})

const longest = 20_000
test.for<[what: string, before: string, after: string]>([
  ['symbols', '!'.repeat(longest), '?'.repeat(longest)],
  ['spaces', ' '.repeat(longest), `${' '.repeat(longest - 1)}x`],
  ['marks', `e${'\u0301'.repeat(longest)}`, `a${'\u0301'.repeat(longest)}`],
  ['joiners', '\u200D'.repeat(longest), '\u200D!'.repeat(longest / 2)],
  ['halves of characters', '\uD83C'.repeat(longest), '\uDC00'.repeat(longest)],
])('20,000 %s are compared or not, without an error', ([, before, after]) => {
  const parts = wordDifference(before, after)
  for (const part of parts ?? [])
    if (part.kind === 'same') expect(part.text.length).toBeLessThan(122)
})

test.for<[what: string, text: string, shown: string]>([
  ['121 characters', 'x'.repeat(121), 'x'.repeat(121)],
  ['122 characters', 'x'.repeat(122), `${'x'.repeat(60)}…${'x'.repeat(60)}`],
  ['pairs of surrogates', `x${'🌊'.repeat(80)}`, `x${'🌊'.repeat(29)}…${'🌊'.repeat(30)}`],
  [
    'surrogates, cut on the other side',
    `${'🌊'.repeat(80)}x`,
    `${'🌊'.repeat(30)}…${'🌊'.repeat(29)}x`,
  ],
  ['flags', '🇩🇰'.repeat(50), `${'🇩🇰'.repeat(15)}…${'🇩🇰'.repeat(15)}`],
  ['one endless grapheme', `e${'\u0301'.repeat(200)}`, '…'],
])('of the same text of %s, the beginning and the end are shown', ([, same, shown]) => {
  expect(wordDifference(same, same)).toEqual([{ kind: 'same', text: shown }])
  expect(wordDifference(`${same} a`, `${same} b`)).toEqual([
    { kind: 'same', text: shown },
    { kind: 'removed', text: ' a' },
    { kind: 'added', text: ' b' },
  ])
})
