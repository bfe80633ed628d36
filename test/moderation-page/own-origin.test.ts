import { expect, test } from 'vitest'
import { ownPath } from '../../src/moderation-page/sessions.ts'
import { isOwnPath } from '../support/page-checker.ts'

/** The path to open after signing in, of which another site may have set the text. */

test.for([
  { text: '/audit?app=1', page: 'http://moderation.test', path: '/audit?app=1' },
  { text: 'audit', page: 'http://moderation.test', path: '/audit' },
  { text: '', page: 'http://moderation.test', path: '/' },
  { text: '/mod/audit', page: 'http://moderation.test/mod', path: '/mod/audit' },
  { text: 'http://moderation.test/mod/', page: 'http://moderation.test/mod', path: '/mod/' },
  // Outside the page.
  { text: '', page: 'http://moderation.test/mod', path: '/mod/' },
  { text: '/mod', page: 'http://moderation.test/mod', path: '/mod/' },
  { text: '/audit', page: 'http://moderation.test/mod', path: '/mod/' },
  { text: '/modx/', page: 'http://moderation.test/mod', path: '/mod/' },
  { text: '/mod/../audit', page: 'http://moderation.test/mod', path: '/mod/' },
])('$text on $page opens $path', ({ text, page, path }) => {
  expect(ownPath(text, page)).toBe(path)
})

test.for([
  '//evil.example',
  '//evil.example/mod/',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  'https://evil.example',
  'https:evil.example',
  'http:\\\\evil.example',
  'http://moderation.test@evil.example/',
  'http://moderation.test.evil.example/',
  'http://moderation.test:8080/',
  'http://evil.example#http://moderation.test/',
  'http://moderation.test//evil.example/',
  '/.//evil.example',
  '/mod/..//evil.example',
  '/mod/%2e%2e//evil.example',
  '/x/../\\evil.example',
  '/\t/evil.example',
  ' //evil.example',
  '\u0000//evil.example',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
])('%j opens the first page', (text) => {
  for (const prefix of ['', '/mod'])
    expect(ownPath(text, `http://moderation.test${prefix}`)).toBe(`${prefix}/`)
})

test.for(['/\r\nSet-Cookie: a=b', '/\u00E9\u2028', '/mod/\n', '/x?'.padEnd(5000, 'x')])(
  '%j opens a path that is safe in a header',
  (text) => {
    for (const prefix of ['', '/mod'])
      expect(ownPath(text, `http://moderation.test${prefix}`)).toSatisfy((path: string) =>
        isOwnPath(path, `${prefix}/`),
      )
  },
)

test.for([
  { location: '/', below: '/', isOwn: true },
  { location: '/mod/apps/1?a=%0A', below: '/mod/', isOwn: true },
  { location: '/modx/', below: '/mod/', isOwn: false },
  { location: '/mod/\n', below: '/mod/', isOwn: false },
  { location: '//evil.example/', below: '/', isOwn: false },
  { location: '/\\evil.example/', below: '/', isOwn: false },
])('the checker of pages: is $location below $below? $isOwn', ({ location, below, isOwn }) => {
  expect(isOwnPath(location, below)).toBe(isOwn)
})
