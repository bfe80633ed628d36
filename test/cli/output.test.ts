import stringWidth from 'string-width'
import { describe, expect, test } from 'vitest'
import type { LookAlike } from '../../src/catalogue/look-alikes.ts'
import {
  changedAddressLines,
  detailLine,
  formatDifference,
  tableLines,
  truncate,
} from '../../src/cli/output.ts'
import { formatLookAlike } from '../../src/moderation/describe.ts'
import { formatCount, sanitize, toSingleLine } from '../../src/util/text.ts'

test.for<[text: string, width: number, cut: string]>([
  ['tide', 4, 'tide'],
  ['tides', 4, 'tid…'],
  ['日本語', 6, '日本語'],
  ['日本語辞書', 6, '日本…'],
  ['👩‍👩‍👧 family', 3, '👩‍👩‍👧…'],
  ['', 4, ''],
])('%j in %i columns is %j', ([text, width, expected]) => {
  expect(truncate(text, width)).toBe(expected)
})

test('characters without a width do not make a line endless', () => {
  const marks = `e${'\u0301'.repeat(20_000)}`
  expect(truncate(marks, 4).length).toBeLessThan(40)
  expect(formatDifference(`${marks}a`, `${marks}b`, 4).length).toBeLessThan(80)
})

test('a look-alike with one download has a download, and one that waits has none', () => {
  const lookAlike: LookAlike = {
    id: 7,
    name: 'Tide',
    developer_name: 'Ada',
    status: 'approved',
    total_downloads: 1,
  }
  expect(formatLookAlike(lookAlike)).toBe('7 Tide by Ada, 1 download')
  for (const [total_downloads, downloads] of [
    [0, '0 downloads'],
    [2000, '2,000 downloads'],
  ] as const)
    expect(formatLookAlike({ ...lookAlike, total_downloads })).toBe(`7 Tide by Ada, ${downloads}`)
  expect(formatLookAlike({ ...lookAlike, status: 'pending' })).toBe('7 Tide by Ada, pending')
})

test('a sanitized text has no control or bidirectional characters', () => {
  expect(toSingleLine(' a\u001b[31mb\r\n\tc\u202ed\u2069 ')).toBe('a\uFFFD[31mb c\uFFFDd\uFFFD')
  expect(sanitize('a\r\nb\rc\td\u0007')).toBe('a\nb\nc    d\uFFFD')
  expect(toSingleLine('עברית 日本 👩‍👩‍👧 e\u0301')).toBe('עברית 日本 👩‍👩‍👧 e\u0301')
})

test.for<[what: string, before: string, after: string, shown: string]>([
  ['short texts are whole', 'Tide Clock', 'Tide Table', 'Tide Clock → Tide Table'],
  ['long texts are cut', 'x'.repeat(30), 'y'.repeat(30), `${'x'.repeat(19)}… → ${'y'.repeat(19)}…`],
  [
    'long texts start shortly before the difference',
    `${'x'.repeat(30)}a`,
    `${'x'.repeat(30)}b`,
    '…xxxxxxxxa → …xxxxxxxxb',
  ],
  [
    'texts as wide as the limit are whole',
    `${'x'.repeat(19)}a`,
    `${'x'.repeat(19)}b`,
    `${'x'.repeat(19)}a → ${'x'.repeat(19)}b`,
  ],
  [
    'both are cut if one is too wide',
    'x'.repeat(19),
    'x'.repeat(30),
    `…xxxxxxxx → …${'x'.repeat(19)}`,
  ],
  [
    'long texts with an early difference start at their beginning',
    `8 or so ${'a'.repeat(30)}`,
    `8 or so ${'b'.repeat(30)}`,
    `8 or so ${'a'.repeat(11)}… → 8 or so ${'b'.repeat(11)}…`,
  ],
  ['no emoji is split', '😀'.repeat(30), `${'😀'.repeat(29)}😁`, '…😀😀😀😀😀 → …😀😀😀😀😁'],
  [
    'wide texts that differ at the end',
    `${'日'.repeat(12)}本`,
    `${'日'.repeat(12)}語`,
    '…日日日日日日日日本 → …日日日日日日日日語',
  ],
  ['an addition at the end', 'x'.repeat(30), `${'x'.repeat(30)} end`, '…xxxxxxxx → …xxxxxxxx end'],
])('a difference: %s', ([, before, after, shown]) => {
  expect(formatDifference(before, after, 20)).toBe(shown)
})

describe('a changed address is shown by both of its values:', () => {
  const longHost = 'bank.example.'.repeat(12)
  const longPath = 'x'.repeat(100)
  test.for<{ what: string; before: string; after: string; lines: [string, string] }>([
    {
      what: 'a host with another letter',
      before: 'https://example.org/',
      after: 'https://exarnple.org/',
      lines: ['https://example.org/', 'https://exarnple.org/'],
    },
    {
      what: 'a host with a Cyrillic letter',
      before: 'https://example.org/',
      after: 'https://ex\u0430mple.org/',
      lines: ['https://example.org/', 'https://xn--exmple-4nf.org/ (ex\u0430mple.org)'],
    },
    {
      what: 'the host of a long address',
      before: `https://example.org/${longPath}`,
      after: `https://ex\u0430mple.org/${longPath}`,
      lines: [
        `https://example.org/${'x'.repeat(42)}…`,
        `https://xn--exmple-4nf.org/${'x'.repeat(21)}… (ex\u0430mple.org)`,
      ],
    },
    {
      what: 'the end of a long path, which is cut',
      before: `https://example.org/${longPath}y`,
      after: `https://example.org/${longPath}z`,
      lines: [`https://example.org/${'x'.repeat(42)}…`, 'changed further on'],
    },
    {
      what: 'another form of the same address',
      before: 'https://bücher.example',
      after: 'https://xn--bcher-kva.example/',
      lines: [
        'https://xn--bcher-kva.example/ (bücher.example)',
        'https://xn--bcher-kva.example/ (bücher.example)',
      ],
    },
    {
      what: 'long hosts, which are whole',
      before: `https://${longHost}good.example/`,
      after: `https://${longHost}evil.example/a`,
      lines: [`https://${longHost}good.example…`, `https://${longHost}evil.example…`],
    },
    {
      what: 'none',
      before: 'https://example.org/',
      after: '(none)',
      lines: ['https://example.org/', '(none)'],
    },
  ])('$what', ({ before, after, lines: [first, second] }) => {
    expect(changedAddressLines('website_url', before, after)).toEqual([
      `website_url: ${first}`,
      `→ ${second}`,
    ])
  })
})

describe('a table', () => {
  const long = 'word '.repeat(40)
  const row = { ID: 1, NAME: long, TEXT: 'b', STATE: 'x' }
  test.for<[what: string, rows: (typeof row)[], shortened: string[]]>([
    ['of long texts', [{ ...row, TEXT: long }], ['NAME', 'TEXT']],
    ['of wide characters', [{ ...row, NAME: '日本語'.repeat(30) }], ['NAME', 'TEXT']],
    [
      'of many rows',
      Array.from({ length: 1000 }, (_, index) => ({ ...row, ID: index, STATE: '' })),
      ['NAME'],
    ],
  ])('%s is no wider than the terminal', ([, rows, shortened]) => {
    const lines = tableLines(rows, shortened)
    expect(lines).toHaveLength(rows.length + 1)
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(80)
  })

  test('aligns its columns, and cuts only shrinkable ones', () => {
    expect(
      tableLines(
        [
          { ID: 1, NAME: '日本', KEY: 'k'.repeat(90) },
          { ID: 22, NAME: 'Bird\nSong', KEY: '' },
        ],
        ['NAME'],
      ),
    ).toEqual(['ID  NAME  KEY', `1   日本  ${'k'.repeat(90)}`, '22  Bir…'])
  })

  test('as wide as the terminal stays whole, and a wider one cuts its widest column', () => {
    const shown = (a: number, b: number) =>
      tableLines([{ A: 'x'.repeat(a), B: 'x'.repeat(b) }], ['A', 'B'])[1]?.split('  ')
    expect(shown(39, 39)).toEqual(['x'.repeat(39), 'x'.repeat(39)])
    expect(shown(30, 70)).toEqual(['x'.repeat(30), `${'x'.repeat(47)}…`])
  })

  test('has empty cells for missing values', () => {
    expect(
      tableLines([
        { A: 'a', B: null },
        { A: 'b', B: 'c' },
      ]),
    ).toEqual(['A  B', 'a', 'b  c'])
  })

  test('has lines below its rows, no wider than the terminal', () => {
    const lines = tableLines([{ ID: 1 }, { ID: 2 }], [], [['a\nb', detailLine('x'.repeat(90))]])
    expect(lines).toEqual(['ID', '1', '    a b', `    ${'x'.repeat(75)}…`, '2'])
  })
})

test('large numbers are in groups of three', () => {
  expect([999, 1_234_567].map(formatCount)).toEqual(['999', '1,234,567'])
})
