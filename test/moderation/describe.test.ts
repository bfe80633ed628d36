import { describe, expect, test } from 'vitest'
import { formatAddress } from '../../src/moderation/describe.ts'

describe('an address for moderators is as browsers send it, with the host as people read it:', () => {
  test.for<[what: string, address: string, shown: string]>([
    ['in ASCII', 'https://example.org/a?b=c#d', 'https://example.org/a?b=c#d'],
    [
      'of an umlaut',
      'https://münchen.example/x',
      'https://xn--mnchen-3ya.example/x (münchen.example)',
    ],
    [
      'sent in the form of browsers',
      'https://xn--mnchen-3ya.example/x',
      'https://xn--mnchen-3ya.example/x (münchen.example)',
    ],
    ['of both forms', 'https://bücher.xn--p1ai/', 'https://xn--bcher-kva.xn--p1ai/ (bücher.рф)'],
    // The letter а is Cyrillic.
    [
      'that looks like another',
      'https://ex\u0430mple.org/',
      'https://xn--exmple-4nf.org/ (ex\u0430mple.org)',
    ],
    ['in capitals', 'HTTPS://EXAMPLE.ORG/A', 'https://example.org/A'],
    ['of wide letters', 'https://ｅxample.org/', 'https://example.org/'],
    [
      'with a port',
      'https://bücher.example:8443/',
      'https://xn--bcher-kva.example:8443/ (bücher.example)',
    ],
    ['with the default port', 'https://example.org:443/', 'https://example.org/'],
    ['without a path', 'https://example.org', 'https://example.org/'],
    ['with a way up', 'https://example.org/a/../b', 'https://example.org/b'],
    [
      'with other letters in its path',
      'https://example.org/harb\u043Eur',
      'https://example.org/harb%D0%BEur',
    ],
    [
      'with letters from right to left',
      'https://דוגמה.example/א?ב#ג',
      'https://xn--6dbbec0c.example/%D7%90?%D7%91#%D7%92 (דוגמה.example)',
    ],
    [
      'with characters that nobody sees, or that turn text around',
      'https://example.org/a\u200Bb\u200Fc\u202Ed\uFEFF?\u2066e#\u00ADf',
      'https://example.org/a%E2%80%8Bb%E2%80%8Fc%E2%80%AEd%EF%BB%BF?%E2%81%A6e#%C2%ADf',
    ],
    [
      'with a character in its host that nobody sees',
      'https://exam\u00ADple.org/',
      'https://example.org/',
    ],
    [
      'with half of a surrogate pair',
      'https://example.org/\uD83D',
      'https://example.org/%EF%BF%BD',
    ],
    // Older rules accepted these.
    ['with a user', 'https://bank.example@evil.example/', 'https://bank.example@evil.example/'],
    [
      'with a backslash',
      'https://bank.example\\@evil.example/',
      'https://bank.example/@evil.example/',
    ],
    ['of an IP address', 'https://0x7f000001/', 'https://127.0.0.1/'],
    ['of a script', 'javascript:alert(1)', 'javascript:alert(1)'],
    ['that no browser opens', 'https://\u202Egro.elpmaxe/', 'https://\u202Egro.elpmaxe/'],
    ['that is none', 'example.org', 'example.org'],
    ['that is a dash', '–', '–'],
  ])('one %s', ([, address, shown]) => {
    expect(formatAddress(address)).toBe(shown)
  })
})

describe('a long address is cut behind its host:', () => {
  const path = 'x'.repeat(100)
  const host = `${'bank.example.'.repeat(12)}evil.example`
  const readable = `${'банк.'.repeat(15)}зло.example`
  const ascii = `${'xn--80ab2al.'.repeat(15)}xn--g1aij.example`
  test.for<[what: string, address: string, shown: string]>([
    ['a path', `https://example.org/${path}`, `https://example.org/${'x'.repeat(39)}…`],
    ['a query', `https://example.org?${path}`, `https://example.org/?${'x'.repeat(38)}…`],
    ['a fragment', `https://example.org#${path}`, `https://example.org/#${'x'.repeat(38)}…`],
    [
      'a path with the host in brackets',
      `https://bücher.example/${path}`,
      `https://xn--bcher-kva.example/${'x'.repeat(12)}… (bücher.example)`,
    ],
    [
      'one that fits',
      `https://example.org/${'x'.repeat(40)}`,
      `https://example.org/${'x'.repeat(40)}`,
    ],
    ['a long host', `https://${host}/${path}`, `https://${host}…`],
    ['a long host without a path', `https://${host}`, `https://${host}…`],
    ['a long host with a port', `https://${host}:8443/${path}`, `https://${host}:8443…`],
    ['a long host in brackets', `https://${readable}/${path}`, `https://${ascii}… (${readable})`],
    ['one that no browser opens', path, `${'x'.repeat(59)}…`],
  ])('%s', ([, address, shown]) => {
    expect(formatAddress(address, 60)).toBe(shown)
  })
})
