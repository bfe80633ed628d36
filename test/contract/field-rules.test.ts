import { expect, test } from 'vitest'
import {
  assertSlug,
  parseCategoryName,
  parseDeveloperName,
  parseEmailAddress,
  parseKeyName,
  parseReason,
} from '../../src/contract/field-rules.ts'

test.for<[what: string, from: (text: string) => string]>([
  ['a developer name', parseDeveloperName],
  ['a category name', parseCategoryName],
  ['the name of a key', parseKeyName],
])('%s is one line of 1 to 100 characters, trimmed', ([what, from]) => {
  expect(from('A')).toBe('A')
  expect(from(' Harbour  Software\n')).toBe('Harbour  Software')
  expect(from(` ${'𠮷'.repeat(100)} `)).toBe('𠮷'.repeat(100))
  for (const [text, problem] of [
    ['', 'must have 1 to 100 characters, not 0'],
    [' \n', 'must have 1 to 100 characters, not 0'],
    ['x'.repeat(101), 'must have 1 to 100 characters, not 101'],
    ['A\nB', 'must .*line.*'],
    ['A\tB', 'must .*line.*'],
    ['\u2800', 'must .*visible.*'],
  ] as const) {
    expect(() => from(text), JSON.stringify(text)).toThrow(new RegExp(`^${what} ${problem}$`))
  }
  for (const text of ['A\u0085B', 'A\u2028B', 'A\u2029B', 'A\ud83d']) {
    expect(() => from(text), JSON.stringify(text)).toThrow(`${what} must not `)
  }
})

test('a reason has up to 1,000 characters, and may have line breaks and tabs', () => {
  for (const text of ['x', 'a\n\tb', '𠮷'.repeat(1000)]) expect(parseReason(` ${text} `)).toBe(text)
  for (const text of ['', ' ', 'x'.repeat(1001)]) {
    expect(() => parseReason(text), JSON.stringify(text)).toThrow(
      /^a reason must have 1 to 1000 characters, not \d+$/,
    )
  }
  for (const text of ['a\u0000b', 'a\u007fb', 'a\udc00']) {
    expect(() => parseReason(text), JSON.stringify(text)).toThrow(
      /^a reason must not .* U\+\w{4} \([a-z -]+\)$/,
    )
  }
})

test('a slug is letters and digits separated by single hyphens', () => {
  for (const slug of ['a', 'health-fitness', 'a1-b2', 'x'.repeat(80)])
    expect(() => assertSlug(slug)).not.toThrow()
  for (const slug of ['A', 'a--b', '-a', 'a-', 'a b', ' a', 'ä']) {
    expect(() => assertSlug(slug), slug).toThrow(
      `the slug "${slug}" must be lower-case letters and digits with single`,
    )
  }
  for (const slug of ['', 'x'.repeat(81)]) {
    expect(() => assertSlug(slug), slug).toThrow(
      `the slug "${slug}" must have 1 to 80 characters, not ${slug.length}`,
    )
  }
})

test.for([
  'ada@example.org',
  ' ada@example.org\n',
  'ada.lovelace+apps@mail.example.org',
  "a1!#$%&'*+/=?^_{}~-@example.org",
  'ada-@xn--bcher-kva.example',
  'ADA@Example.ORG',
  `${'a'.repeat(242)}@example.org`,
])('an e-mail address is accepted: %j', (address) => {
  expect(parseEmailAddress(address)).toBe(address.trim())
})

test.for([
  '',
  'ada',
  'ada@',
  '@example.org',
  'ada@localhost',
  'ada@example.',
  'ada@.example.org',
  'ada@example..org',
  'ada@-example.org',
  'ada@example-.org',
  'ada@exa_mple.org',
  'ada@example.org/x',
  'ada@[192.0.2.1]',
  'ada@bob@example.org',
  '-ada@example.org',
  '.ada@example.org',
  'ada.@example.org',
  'ada..lovelace@example.org',
  'ada`id`@example.org',
  'ada|id@example.org',
  '"ada"@example.org',
  'Ada <ada@example.org>',
  'ada@example.org, eve@example.org',
  'ada@example.org\nBcc: eve@example.org',
  'jörg@example.org',
  'jörg@bücher.example',
  `${'a'.repeat(243)}@example.org`,
])('an e-mail address is refused: %j', (address) => {
  expect(() => parseEmailAddress(address)).toThrow(
    'the contact must be an e-mail address such as ada@example.org',
  )
})

test.for([
  ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
  [' ada@BÜCHER.example', 'ada@xn--bcher-kva.example'],
  ['ada@例え。テスト', 'ada@xn--r8jz45g.xn--zckzah'],
])('an e-mail address is refused with the ASCII form to write: %j', ([address = '', ascii]) => {
  expect(() => parseEmailAddress(address)).toThrow(
    `the contact must have the ASCII form of its host: ${ascii}`,
  )
  expect(parseEmailAddress(String(ascii))).toBe(ascii)
})
