import { expect, test } from 'vitest'
import { contentEtag, encodedEtag, etagOf, matchesIfNoneMatch, satisfiesIfMatch } from '../../src/util/etag.ts'

test('a tag is of the content alone, and of each coding another', () => {
  const tag = contentEtag('a')
  // 162 bits of its SHA-256.
  expect(tag).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g"')
  expect(contentEtag(Buffer.from('a'))).toBe(tag)
  expect(etagOf({ id: 1 })).toBe(contentEtag('{"id":1}'))
  expect(encodedEtag(tag, 'br')).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g-br"')
})

test.for<[header: string, isNamed: boolean]>([
  ['"a"', true],
  ['W/"a"', true],
  ['*', true],
  ['"b", "a"', true],
  ['"b",W/"a" ,"c"', true],
  ['"b"', false],
  ['"b", "c"', false],
  ['"b", *', false],
  ['', false],
  ['a', false],
  ['"W/a"', false],
  ['"a-br"', false],
])('If-None-Match: %s names "a": %s', ([header, isNamed]) => {
  expect(matchesIfNoneMatch(header, '"a"')).toBe(isNamed)
})

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
  ['W/"a"', false],
  ['"a-deflate"', false],
  ['-br"a"', false],
])('If-Match: %s holds for "a": %s', ([header, isHeld]) => {
  expect(satisfiesIfMatch(header, '"a"')).toBe(isHeld)
})
