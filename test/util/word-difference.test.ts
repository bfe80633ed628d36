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

test.for<{ name: string; before: string; after: string; shown: string }>([
  {
    name: 'the same text',
    before: 'Counts the tides.',
    after: 'Counts the tides.',
    shown: 'Counts the tides.',
  },
  { name: 'two empty texts', before: '', after: '', shown: '' },
  { name: 'a new text', before: '', after: 'Counts.', shown: '{+Counts.+}' },
  { name: 'a removed text', before: 'Counts.', after: '', shown: '[-Counts.-]' },
  {
    name: 'another word',
    before: 'Counts the tides.',
    after: 'Shows the tides.',
    shown: '[-Counts-]{+Shows+} the tides.',
  },
  {
    name: 'a word at the end',
    before: 'Counts tides',
    after: 'Counts tides daily',
    shown: 'Counts tides{+ daily+}',
  },
  {
    name: 'a word in the middle',
    before: 'Counts tides',
    after: 'Counts all tides',
    shown: 'Counts{+ all+} tides',
  },
  {
    name: 'punctuation',
    before: 'Counts. Shows.',
    after: 'Counts, Shows.',
    shown: 'Counts[-.-]{+,+} Shows.',
  },
  { name: 'a line break', before: 'One two', after: 'One\ntwo', shown: 'One[- two-]{+\ntwo+}' },
  { name: 'spaces at the end', before: 'One ', after: 'One  ', shown: 'One[- -]{+  +}' },
  { name: 'case', before: 'tide Clock', after: 'Tide Clock', shown: '[-tide-]{+Tide+} Clock' },
  {
    name: 'accents',
    before: 'un café noir',
    after: 'un cafe noir',
    shown: 'un[- café-]{+ cafe+} noir',
  },
  {
    name: 'a decomposed accent',
    before: 'un cafe\u0301',
    after: 'un cafe',
    shown: 'un[- cafe\u0301-]{+ cafe+}',
  },
  {
    name: 'Japanese, by characters',
    before: '天気アプリ',
    after: '天気予報アプリ',
    shown: '天気{+予報+}アプリ',
  },
  { name: 'Thai, with its marks', before: 'ที่นี่', after: 'ที่นั่น', shown: 'ที่[-นี่-]{+นั่น+}' },
  { name: 'Arabic', before: 'ساعة المد', after: 'ساعة الجزر', shown: 'ساعة[- المد-]{+ الجزر+}' },
  {
    name: 'Persian, with joiners in words',
    before: 'می\u200Cروم',
    after: 'می\u200Cروی',
    shown: '[-می\u200Cروم-]{+می\u200Cروی+}',
  },
  {
    name: 'emoji of several characters',
    before: '👩‍💻🇩🇪👍🏽',
    after: '👩‍🔬🇩🇰👍🏿',
    shown: '[-👩‍💻🇩🇪👍🏽-]{+👩‍🔬🇩🇰👍🏿+}',
  },
])('shows $name', ({ before, after, shown }) => {
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
test.for<{ name: string; before: string; after: string }>([
  { name: 'symbols', before: '!'.repeat(longest), after: '?'.repeat(longest) },
  { name: 'spaces', before: ' '.repeat(longest), after: `${' '.repeat(longest - 1)}x` },
  { name: 'marks', before: `e${'\u0301'.repeat(longest)}`, after: `a${'\u0301'.repeat(longest)}` },
  { name: 'joiners', before: '\u200D'.repeat(longest), after: '\u200D!'.repeat(longest / 2) },
  {
    name: 'halves of characters',
    before: '\uD83C'.repeat(longest),
    after: '\uDC00'.repeat(longest),
  },
])('20,000 $name are compared or not, without an error', ({ before, after }) => {
  const parts = wordDifference(before, after)
  for (const part of parts ?? [])
    if (part.kind === 'same') expect(part.text.length).toBeLessThan(122)
})

test.for<{ name: string; text: string; shown: string }>([
  { name: '121 characters', text: 'x'.repeat(121), shown: 'x'.repeat(121) },
  { name: '122 characters', text: 'x'.repeat(122), shown: `${'x'.repeat(60)}…${'x'.repeat(60)}` },
  {
    name: 'pairs of surrogates',
    text: `x${'🌊'.repeat(80)}`,
    shown: `x${'🌊'.repeat(29)}…${'🌊'.repeat(30)}`,
  },
  {
    name: 'surrogates, cut on the other side',
    text: `${'🌊'.repeat(80)}x`,
    shown: `${'🌊'.repeat(30)}…${'🌊'.repeat(29)}x`,
  },
  { name: 'flags', text: '🇩🇰'.repeat(50), shown: `${'🇩🇰'.repeat(15)}…${'🇩🇰'.repeat(15)}` },
  { name: 'one endless grapheme', text: `e${'\u0301'.repeat(200)}`, shown: '…' },
])('of the same text of $name, the beginning and the end are shown', ({ text: same, shown }) => {
  expect(wordDifference(same, same)).toEqual([{ kind: 'same', text: shown }])
  expect(wordDifference(`${same} a`, `${same} b`)).toEqual([
    { kind: 'same', text: shown },
    { kind: 'removed', text: ' a' },
    { kind: 'added', text: ' b' },
  ])
})
