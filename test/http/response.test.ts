import { expect, test } from 'vitest'
import {
  type Coding,
  encodedEtag,
  etagOf,
  findUnchangedCoding,
  satisfiesIfMatch,
} from '../../src/http/response.ts'

test('an ETag depends on the content and the content coding only', () => {
  const tag = etagOf('a')
  // 162 bits of its SHA-256.
  expect(tag).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g"')
  expect(etagOf(Buffer.from('a'))).toBe(tag)
  expect(encodedEtag(tag, 'identity')).toBe(tag)
  expect(encodedEtag(tag, 'br')).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g-br"')
})

test.for<[header: string, coding: Coding | undefined]>([
  ['"a"', 'identity'],
  ['W/"a"', 'identity'],
  ['*', 'br'],
  ['"b", "a"', 'identity'],
  ['"b",W/"a" ,"c"', 'identity'],
  ['"a-gzip"', 'gzip'],
  ['W/"a-br"', 'br'],
  ['"a", "a-gzip", "a-br"', 'br'],
  ['"b"', undefined],
  ['"b", "c"', undefined],
  ['"b", *', undefined],
  ['', undefined],
  ['a', undefined],
  ['"W/a"', undefined],
  ['"a-deflate"', undefined],
])('If-None-Match: %s names "a" in %s, where br is preferred', ([header, coding]) => {
  expect(findUnchangedCoding(header, '"a"', 'br')).toBe(coding)
})

test.for<Coding>(['br', 'gzip', 'identity'])(
  'If-None-Match with all tags names "a" in the preferred coding, %s',
  (coding) => {
    expect(findUnchangedCoding('"a", "a-br", "a-gzip"', '"a"', coding)).toBe(coding)
  },
)

test.for<[header: string, isHeld: boolean]>([
  ['"a"', true],
  ['"a-br"', true],
  ['"a-gzip"', true],
  ['*', true],
  ['"b", "a"', true],
  ['"b","a-br" ,"c"', true],
  ['"b"', false],
  ['"b", "c"', false],
  ['"b", *', false],
  ['', false],
  ['a', false],
  ['"a-zstd"', true],
  ['"a--gzip"', true],
  ['"b", "a-zstd"', true],
  ['W/"a"', false],
  ['W/"a-gzip"', false],
  ['"a-"', false],
  ['"a-zstd', false],
  ['a-zstd"', false],
  ['"azstd"', false],
  ['"ab-zstd"', false],
  ['-br"a"', false],
])('If-Match: %s holds for "a": %s', ([header, isHeld]) => {
  expect(satisfiesIfMatch(header, '"a"')).toBe(isHeld)
})

test('matches an ETag whose content hash ends like the suffix of a coding', () => {
  expect(satisfiesIfMatch('"a-br"', '"a-br"')).toBe(true)
  expect(findUnchangedCoding('"a-br"', '"a-br"', 'gzip')).toBe('identity')
})
