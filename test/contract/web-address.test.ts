import { expect, test } from 'vitest'
import { addressParts, haveSameHost } from '../../src/contract/web-address.ts'

/** The parts of addresses that moderators see. web-addresses.test.ts has what is refused. */

test.for<[address: string, host: string, rest: string, otherHost: string | null, scheme?: string]>([
  ['https://example.org', 'example.org', '', null],
  ['HTTP://example.org:80/', 'example.org', ':80/', null, 'HTTP://'],
  // Shortened: behind … and a dot are whole labels.
  ['https://….bücher.example/…', 'bücher.example', '/…', 'xn--bcher-kva.example', 'https://….'],
  ['https://….xn--bcher-kva.example', 'xn--bcher-kva.example', '', 'bücher.example', 'https://….'],
  ['https://…ücher.example/', 'ücher.example', '/', null, 'https://…'],
  ['https://example.org/a?b#c', 'example.org', '/a?b#c', null],
  ['https://example.org:8443/a:b@c', 'example.org', ':8443/a:b@c', null],
  ['https://example.org?https://evil.example/', 'example.org', '?https://evil.example/', null],
  ['https://example.org#/', 'example.org', '#/', null],
  ['https://example.org/a\nb', 'example.org', '/a\nb', null],
  // Case alone is no other form.
  ['https://Example.ORG/', 'Example.ORG', '/', null],
  ['https://bücher.example/', 'bücher.example', '/', 'xn--bcher-kva.example'],
  ['https://BÜCHER.example/', 'BÜCHER.example', '/', 'xn--bcher-kva.example'],
  ['https://xn--bcher-kva.example/', 'xn--bcher-kva.example', '/', 'bücher.example'],
  ['https://XN--BCHER-KVA.example/', 'XN--BCHER-KVA.example', '/', 'bücher.example'],
  // The letter а is Cyrillic.
  ['https://ex\u0430mple.org/', 'ex\u0430mple.org', '/', 'xn--exmple-4nf.org'],
  ['https://xn--exmple-4nf.org/', 'xn--exmple-4nf.org', '/', 'ex\u0430mple.org'],
  // With both, only ASCII has no letters that look the same.
  ['https://bücher.xn--p1ai/', 'bücher.xn--p1ai', '/', 'xn--bcher-kva.xn--p1ai'],
  // What a browser opens, if it is written otherwise.
  ['https://ｅxample.org/', 'ｅxample.org', '/', 'example.org'],
  ['https://דוגמה.example/', 'דוגמה.example', '/', 'xn--6dbbec0c.example'],
])('of %j the host is %s', ([address, host, rest, otherHost, scheme = 'https://']) => {
  expect(addressParts(address)).toEqual({ scheme, host, rest, otherHost })
})

test.for([
  ...['', '–', '(none)', 'example.org', 'ftp://example.org/', 'javascript:alert(1)'],
  ...['https://', 'https://localhost/', 'https://127.0.0.1/', 'https://a@evil.example/'],
  ...['https://bank.example\\@evil.example/', 'https://example.org…', 'https://\uD800.example/'],
  ...['https://example.org\u202E/', '…tps://example.org/', `https://${'x'.repeat(500)}/`],
])('%j is not valid, so it has no parts', (address) => {
  expect(addressParts(address)).toBeUndefined()
})

test.for<[address: string, other: string, isSame: boolean]>([
  ['https://example.org/', 'https://example.org/evil.example', true],
  ['https://example.org/', 'https://EXAMPLE.org:8443?a', true],
  ['https://bücher.example/', 'https://xn--bcher-kva.example/', true],
  ['https://example.org/', 'http://example.org/', true],
  ['https://example.org/', 'https://exarnple.org/', false],
  ['https://example.org/', 'https://ex\u0430mple.org/', false],
  ['https://example.org/', 'https://example.com/', false],
  ['https://example.org/', 'https://www.example.org/', false],
  ['https://example.org/', 'https://example.org.evil.example/', false],
  // Older rows: what a browser would open, or the text.
  ['https://example.org/', 'https://example.org@evil.example/', false],
  ['example.org', 'example.com', false],
])('%s and %s have the same host: %s', ([address, other, isSame]) => {
  expect(haveSameHost(address, other)).toBe(isSame)
})
