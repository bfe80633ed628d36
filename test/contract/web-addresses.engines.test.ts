import { describe, expect, inject, test } from 'vitest'
import { addressColumns } from '../../src/catalogue/app-columns.ts'
import { addressProblem } from '../../src/contract/web-address.ts'
import { readLine } from '../../src/import-export/line.ts'
import { pick } from '../../src/util/helpers.ts'
import { startService } from '../support/service.ts'
import { emptyFields } from '../support/whole-app.ts'
import { newApp } from './valid-requests.ts'

/** Addresses that owners send, by request and by import. */

const begin = 'must begin with "https://" or "http://"; leave it out if there is no such address'
const host = 'must have a host: https://example.org/'
const ascii = 'must have a host whose ASCII form has letters, digits, "-" and "_" between dots'
const dot = 'must have a host with a dot: example.org'
const lastDot = 'must not have a dot at the end of its host'
const empty = 'must not have an empty label in its host: two dots, or one in front'
const percent = 'must not have a percent sign in its host'
const encoded = 'must not have a label in its host that begins with "xn--" and encodes no text'
const longLabel = 'must not have a label of more than 63 characters in the ASCII form of its host'
const longHost = 'must have a host of at most 253 characters in its ASCII form'
const port = 'must have a port from 1 to 65535, or no colon behind its host'
const ip = 'must have the name of a host, not an IP address'
const user = 'must not have a user name or password'
const backslash = 'must not have a backslash'
const character = (code: string) => `must not have the character U+${code}`

const hostile: [address: string, message: string][] = [
  // Other schemes, and what looks like one.
  ['https', begin],
  ['http:example.org', begin],
  ['httpss://example.org/', begin],
  ['javascript:alert(1)', begin],
  ['javascript://example.org/%0Aalert(1)', begin],
  ['data:text/html,<script>alert(1)</script>', begin],
  ['vbscript:x', begin],
  ['file:///etc/passwd', begin],
  ['ftp://example.org/', begin],
  ['blob:https://example.org/1', begin],
  ['//example.org/', begin],
  ['/apps', begin],
  ['example.org', begin],
  ['https:example.org', begin],
  ['https:/example.org', begin],
  ['h\u200Bttps://example.org/', character('200B (zero width space)')],
  // Users and passwords, which put another host in front.
  ['https://bank.example@evil.example/', user],
  ['https://a:b@evil.example/', user],
  ['https://@evil.example/', user],
  ['https://bank.example%2F@evil.example/', user],
  ['https://bank.example:443@evil.example/', user],
  // Backslashes, which browsers read as slashes.
  ['https:\\\\example.org', begin],
  ['https://bank.example\\@evil.example/', backslash],
  ['https://example.org/a\\b', backslash],
  ['https://example.org?\\', backslash],
  // Addresses of machines, in every notation.
  ['https://127.0.0.1/', ip],
  ['https://10.0.0.1:8443/', ip],
  ['https://169.254.169.254/latest/meta-data', ip],
  ['https://2130706433/', ip],
  ['https://0x7f000001/', ip],
  ['https://0x7f.1/', ip],
  ['https://0177.0.0.1/', ip],
  ['https://127.1/', ip],
  ['https://１２７.0.0.1/', ip],
  ['https://127.0.0.１/', ip],
  ['https://127。0。0。1/', ip],
  ['https://[::1]/', ip],
  ['https://[::ffff:127.0.0.1]:443/', ip],
  ['https://[fe80::1%25eth0]/', ip],
  // Hosts without a name that others have.
  ['https://localhost/', dot],
  ['https://intranet:8443/', dot],
  ['https://example', dot],
  ['https://', host],
  ['https:///example.org/', host],
  ['https://?a.b', host],
  // Hosts that are none.
  ['https://example.org./', lastDot],
  ['https://.example.org/', empty],
  ['https://example..org/', empty],
  ['https://example.123/', ip],
  ['https://example.0x7f/', ip],
  ['https://exam ple.org/', character('0020 (white space)')],
  ['https://exam%20ple.org/', percent],
  ['https://example.org%2F.evil.example/', percent],
  ['https://example.org／path.evil.example/', ascii],
  ['https://exa<script>.org/', ascii],
  ["https://exa'mple.org/", ascii],
  ['https://example。org。/', lastDot],
  // Joiners stand only where scripts need them.
  ['https://exam\u200Dple.org/', ascii],
  // Labels and hosts that DNS does not have.
  [`https://${'a'.repeat(64)}.example/`, longLabel],
  [`https://${'ü'.repeat(60)}.example/`, longLabel],
  [`http://${'label.'.repeat(41)}examples:8080/`, longHost],
  [`https://${'ü.'.repeat(34)}example/`, longHost],
  // Labels in punycode that encode nothing, or what the label could have as it is.
  ['https://xn--.example/', encoded],
  ['https://xn--99999999.example/', encoded],
  ['https://XN--ZZZZZZZZZZZZ.example/', encoded],
  ['https://bücher.xn--abc-/', encoded],
  // Ports.
  ['https://example.org:65536/', port],
  ['https://example.org:/', port],
  ['https://example.org:0x1BB/', port],
  ['https://example.org:-1/', port],
  ['https://example.org:0/', port],
  ['https://example.org:443:443/', port],
  ['https://example.org:４４３/', port],
  // Characters that nobody sees, or that turn the text around.
  [' https://example.org/', character('0020 (white space)')],
  ['https://example.org/a b', character('0020 (white space)')],
  ['https://example.org/\u00A0', character('00A0 (white space)')],
  ['https://example.org/\u3000x', character('3000 (white space)')],
  ['https://exa\tmple.org/', character('0009 (control character)')],
  ['https://example.org/\r\nSet-Cookie:a=b', character('000D (control character)')],
  ['https://example.org/\u0000', character('0000 (control character)')],
  ['https://example.org/\u007F', character('007F (control character)')],
  ['https://example.org/\u202Egpj.exe', character('202E (right-to-left override)')],
  ['https://example.org/\u2066x', character('2066 (left-to-right isolate)')],
  ['https://exam\u200Eple.org/', character('200E (left-to-right mark)')],
  ['https://exam\u00ADple.org/', character('00AD (soft hyphen)')],
  ['https://exam\u2060ple.org/', character('2060 (word joiner)')],
  ['https://example.org/\uFEFF', character('FEFF (zero width no-break space)')],
  ['https://example.org/\uD800', character('D800 (half of a surrogate pair)')],
  ['https://example.org/\u{E0041}', character('E0041 (tag)')],
]

const usual = [
  'http://example.org/',
  'HTTP://Example.org:80',
  'hTTps://example.org:00443/',
  'https://example.org:65535/',
  'https://example.org',
  'https://example.org/',
  'https://EXAMPLE.org/Page',
  'https://www.example.co.uk:8443/a/b.html?c=d&e=%20f#g',
  'https://code.example.org/@ada/tide-clock',
  'https://example.org/~ada/?q=a@b:c',
  'https://my_app.example.org/',
  'https://xn--bcher-kva.example/',
  'https://bücher.example/größe',
  'https://例え.example/',
  'https://пример.испытание/',
  'https://1and1.example/',
  'https://1.2.3.example/',
  'https://example。org/',
  'https://_dmarc.-a-.example/',
  // Emoji and joiners, as their forms in ASCII.
  'https://i❤.example/',
  'https://i❤️.example/',
  'https://xn--i-7iq.example/',
  'https://نامه\u200Cای.example/',
  'https://xn--mgba3gch31f060k.example/',
  // The ASCII form, which moderators see, tells such letters from the ones that they look like.
  'https://example.org∕path.evil.example/',
  `https://${'a'.repeat(63)}.example/`,
  `https://${'label.'.repeat(41)}example/`,
  'https://a-b--c.example/',
  'https://example.org?a',
  'https://example.org#a',
  `https://example.org/${'x'.repeat(480)}`,
]

test('a host as long as a body is refused for its length', () => {
  expect(addressProblem(`https://${'日'.repeat(80_000)}.example/`)).toBe(longHost)
})

const fields = ['website_url', 'source_code_url'] as const
const { keys } = inject('world')

const lineWith = (addresses: object) =>
  JSON.stringify({
    name: 'Star Map',
    description: 'The sky.',
    category: 'tools',
    developer_name: 'Ada',
    ...addresses,
  })

describe('an address that no reader should open is refused', () => {
  test('by requests, in both fields, each with what is wrong', async () => {
    const { request } = await startService()
    for (const [address, message] of hostile) {
      const json = { ...newApp, website_url: address, source_code_url: address }
      const created = await request('POST', '/apps', { key: keys.ada, json })
      const addresses = { website_url: address, source_code_url: address }
      const updated = await request('PUT', '/apps/1', { key: keys.ada, json: addresses })
      for (const { status, body } of [created, updated])
        expect([status, body.data.errors], address).toEqual([
          400,
          fields.map((field) => ({ in: 'body', field: `/${field}`, message })),
        ])
    }
  })

  test('by imports, which leave it out', () => {
    // Imports remove white space around texts.
    for (const [address, message] of hostile.filter(([address]) => address === address.trim())) {
      const line = lineWith({ website_url: address, source_code_url: address })
      expect(readLine(line).leftOut, address).toEqual(
        fields.map((field) => ({
          in: 'body',
          field: `/${field}`,
          message: expect.stringContaining(`${message}; got "`),
          reason: message,
          left_out: true,
        })),
      )
    }
  })
})

test('an icon has the rule of addresses, and only https', () => {
  const https = expect.stringMatching(/^must begin with "https:\/\/", /)
  const expected: [icon: string, reason: unknown][] = [
    ...['http://example.org/', 'ftp://example.org/', 'example.org'].map(
      (icon): [string, unknown] => [icon, https],
    ),
    ...hostile.filter(([address]) => /^https:\/\/\P{Cc}+(?<!\s)$/u.test(address)),
  ]
  for (const [icon_url, reason] of expected)
    expect(readLine(lineWith({ icon_url })).leftOut, icon_url).toEqual([
      expect.objectContaining({ field: '/icon_url', reason }),
    ])
})

test('an empty address removes it, by requests and imports', async () => {
  const { request } = await startService()
  const json = pick(emptyFields, ...addressColumns)
  const { status, body } = await request('PUT', '/apps/1', { key: keys.ada, json })
  expect([status, body.data.errors]).toEqual([200, undefined])
  expect(Object.keys(body.data.app).filter((name) => name.endsWith('_url'))).toEqual([])
  expect(readLine(lineWith(json))).toMatchObject({ app: json, leftOut: [] })
})

test('a usual address is kept as it was sent, and stays in the detail', async () => {
  const { request, get } = await startService()
  for (const address of usual) {
    const json = { website_url: address }
    const { status, body } = await request('PUT', '/apps/1', { key: keys.ada, json })
    expect([status, body.data.app?.website_url], address).toEqual([200, address])
    expect(readLine(lineWith(json)), address).toMatchObject({ app: json })
  }
  const { body } = await get('/apps')
  for (const app of body.data.apps) expect(app).not.toHaveProperty('website_url')
})
