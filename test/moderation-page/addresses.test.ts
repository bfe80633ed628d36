import { describe, expect, inject, test } from 'vitest'
import { linksOf, textOf } from '../support/html.ts'
import {
  addApps,
  type ModerationPage,
  type Moderator,
  startModerationPage,
} from '../support/moderation-page.ts'

/** Addresses of websites and source code, wherever moderators see them. */

const { categories } = inject('world')
const at = '2026-05-01T00:00:00.000Z'

type Shown = {
  before: string
  after: string
  hosts: string[]
  /** What differs in both. */
  marked: string[]
  isOtherHost: boolean
}

const labels = ['Website', 'Source code']

/** The change of an address on a page, and the parts of it that are bold or marked. */
function changeOf(page: string, label = 'Website'): Shown {
  const [, values = ''] = new RegExp(`<dt>${label}</dt><dd>([\\s\\S]*?)</dd>`).exec(page) ?? []
  const [before = '', after = '', note] = values
    .split('</p>')
    .map((line) => textOf(`<body>${line}`))
  return {
    before: before.replace(/ →$/, ''),
    after,
    hosts: partsOf(/<strong dir="ltr">(.*?)<\/strong>/g),
    marked: partsOf(/<mark>(.*?)<\/mark>/g),
    isOtherHost: note === 'Another host',
  }

  function partsOf(pattern: RegExp) {
    return [...values.matchAll(pattern)].map(([, text]) => textOf(`<body>${text}`))
  }
}

/** An approved app whose owner has changed both addresses, on the queue and on its own page. */
async function change(page: ModerationPage, ada: Moderator, before: string | null, after: string) {
  const [id] = await addApps(page, [
    {
      status: 'approved',
      approved_at: at,
      website_url: after,
      source_code_url: after,
      unreviewed_since: at,
      unreviewed_changes: JSON.stringify({ website_url: before, source_code_url: before }),
    },
  ])
  const { text: queue } = await ada.get('/?queue=changed')
  const { text: app } = await ada.get(`/apps/${id}`)
  return { queue, app }
}

describe('a changed address is whole before and after, with its host in bold:', () => {
  const example = 'https://example.org/'
  const long = 'x'.repeat(300)
  test.for<[what: string, before: string | null, after: string, shown: Partial<Shown>]>([
    [
      'letters that look like one',
      example,
      'https://exarnple.org/',
      { hosts: ['example.org', 'exarnple.org'], marked: ['m', 'rn'], isOtherHost: true },
    ],
    [
      'a Cyrillic letter',
      example,
      'https://ex\u0430mple.org/',
      {
        after: 'https://ex\u0430mple.org/ (xn--exmple-4nf.org)',
        hosts: ['example.org', 'ex\u0430mple.org'],
        marked: ['a', '\u0430'],
        isOtherHost: true,
      },
    ],
    [
      'a Cyrillic letter, in ASCII',
      example,
      'https://xn--exmple-4nf.org/',
      { after: 'https://xn--exmple-4nf.org/ (ex\u0430mple.org)', isOtherHost: true },
    ],
    [
      'another top-level domain',
      example,
      'https://example.com/',
      { hosts: ['example.org', 'example.com'], marked: ['org', 'com'], isOtherHost: true },
    ],
    [
      'the former host as a part of another',
      example,
      'https://example.org.evil.example/',
      {
        hosts: ['example.org', 'example.org.evil.example'],
        marked: ['.evil.example'],
        isOtherHost: true,
      },
    ],
    [
      'another path alone',
      'https://example.org/harbour',
      'https://example.org/harb\u043Eur',
      { hosts: ['example.org', 'example.org'], marked: ['o', '\u043E'], isOtherHost: false },
    ],
    [
      'characters with the same half of a surrogate pair',
      'https://example.org/😀/',
      'https://example.org/😁/',
      { marked: ['😀', '😁'], isOtherHost: false },
    ],
    [
      'the end of the host and the beginning of the path',
      'https://example.org/a',
      'https://example.com/b',
      { marked: ['org', '/a', 'com', '/b'], isOtherHost: true },
    ],
    [
      'a letter that is there twice',
      'https://example.org/a',
      'https://example.org/aa',
      { marked: ['a'], isOtherHost: false },
    ],
    [
      'another form of the same host alone',
      'https://bücher.example/',
      'https://xn--bcher-kva.example/',
      {
        before: 'https://bücher.example/ (xn--bcher-kva.example)',
        after: 'https://xn--bcher-kva.example/ (bücher.example)',
        isOtherHost: false,
      },
    ],
    [
      'the first address',
      null,
      example,
      { before: 'none', hosts: ['example.org'], marked: [], isOtherHost: false },
    ],
    [
      'an older one with a user in front',
      example,
      'https://example.org@evil.example/',
      { hosts: ['example.org'], marked: ['@evil.example'], isOtherHost: true },
    ],
  ])('%s', async ([, before, after, shown]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const pages = await change(page, ada, before, after)
    for (const text of Object.values(pages))
      for (const label of labels) {
        const change = changeOf(text, label)
        expect(change, label).toEqual({ ...change, before, after, ...shown })
      }
  })

  test.for<[what: string, before: string, after: string, shown: Shown]>([
    [
      'keeps its host, and what differs behind it',
      `${example}${long}a`,
      `${example}${long}b`,
      {
        before: `${example}…xxxxxxxxa`,
        after: `${example}…xxxxxxxxb`,
        hosts: ['example.org', 'example.org'],
        marked: ['a', 'b'],
        isOtherHost: false,
      },
    ],
    [
      'begins with its host, if that differs',
      `${example}${long}`,
      `https://ex\u0430mple.org/${long}`,
      {
        before: `${example}${'x'.repeat(127)}…`,
        after: `https://ex\u0430mple.org/${'x'.repeat(126)}… (xn--exmple-4nf.org)`,
        hosts: ['example.org', 'ex\u0430mple.org'],
        // An end that is cut elsewhere is not shared.
        marked: ['ample.org', '/x', '\u0430mple.org', '/'],
        isOtherHost: true,
      },
    ],
    [
      'with a host that has no room keeps its end',
      `https://${'x.'.repeat(100)}org/`,
      `https://${'x.'.repeat(100)}com/`,
      {
        before: `https://…${'.x'.repeat(67)}.org/`,
        after: `https://…${'.x'.repeat(67)}.com/`,
        hosts: [`${'x.'.repeat(67)}org`, `${'x.'.repeat(67)}com`],
        marked: ['org', 'com'],
        isOtherHost: true,
      },
    ],
    [
      'with such a host and another path keeps its end, and what differs behind it',
      `https://${'x.'.repeat(100)}org/a`,
      `https://${'x.'.repeat(100)}org/b`,
      {
        before: `https://…${'.x'.repeat(55)}.org/a`,
        after: `https://…${'.x'.repeat(55)}.org/b`,
        hosts: [`${'x.'.repeat(55)}org`, `${'x.'.repeat(55)}org`],
        marked: ['a', 'b'],
        isOtherHost: false,
      },
    ],
    [
      'with such a host that differs only at its beginning begins shortly before that',
      `https://a${'.x'.repeat(100)}.org/`,
      `https://b${'.x'.repeat(100)}.org/`,
      {
        before: `https://a${'.x'.repeat(69)}…`,
        after: `https://b${'.x'.repeat(69)}…`,
        hosts: [],
        marked: ['a', 'b'],
        isOtherHost: true,
      },
    ],
  ])('in the queue, a long one %s', async ([, before, after, shown]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const { queue, app } = await change(page, ada, before, after)
    expect(changeOf(queue)).toEqual(shown)
    // Nor is it whole in the line of the app.
    expect(textOf(queue)).not.toContain(after)
    expect(linksOf(queue).map(([name]) => name)).toContainEqual(
      expect.stringMatching(/^Show the changes of app \d+ whole$/),
    )
    const { isOtherHost } = shown
    const other = / \((.*)\)$/.exec(shown.after)?.[0] ?? ''
    expect(changeOf(app)).toMatchObject({ before, after: after + other, isOtherHost })
  })
})

test('the addresses and the licence of an app are on each list and page of apps, without links', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const fields = {
    website_url: 'https://ex\u0430mple.org/',
    source_code_url: 'https://code.example/a/b',
    license: 'GPL-3.0-or-later OR MIT',
  }
  const shown = [
    'Website https://ex\u0430mple.org/ (xn--exmple-4nf.org)',
    'Source code https://code.example/a/b',
    'Licence GPL-3.0-or-later OR MIT',
  ]
  const states = [
    { status: 'pending' },
    { status: 'approved', approved_at: at },
    { status: 'approved', approved_at: at, unreviewed_since: at, unreviewed_changes: '{}' },
    { status: 'rejected', rejection_reason: 'No.' },
  ] as const
  const name = 'Sea Chart'
  const [pending, listed, changed, rejected] = await addApps(
    page,
    states.map((state) => ({ ...fields, ...state, name })),
  )
  for (const path of [
    ...['/', '/?queue=changed', `/apps?text=${encodeURIComponent(name)}`],
    ...[pending, listed, changed, rejected].map((id) => `/apps/${id}`),
  ]) {
    const { text } = await ada.get(path)
    for (const one of shown) expect(textOf(text), path).toContain(one)
    for (const host of ['ex\u0430mple.org', 'code.example'])
      expect(text, path).toContain(`<strong dir="ltr">${host}</strong>`)
    const addresses = linksOf(text).map(([, address]) => address)
    expect(addresses.filter((address) => /code\.example|xn--/.test(address))).toEqual([])
  }
  // The look-alikes side by side: of another developer.
  const [imitation] = await addApps(page, [
    { ...fields, name: 'Tide Cl0ck', category_id: categories.tools },
  ])
  const { text } = await ada.get(`/apps/${imitation}`)
  expect(textOf(text)).toContain(
    'Website https://ex\u0430mple.org/ (xn--exmple-4nf.org) https://tideclock.example.org/',
  )
})

test.for<[what: string, host: string, end: string, hasBold: boolean]>([
  ['of many labels', `${'bank.example.'.repeat(12)}evil.example`, '.evil.example', true],
  ['of the longest labels', `${`${'a'.repeat(63)}.`.repeat(3)}evil.example`, '.evil.example', true],
  ['in another script', `${'банк.'.repeat(30)}зло.example`, '.зло.example', true],
  // No host of DNS, accepted under older rules.
  ['of an endless label', `${'a'.repeat(300)}.example`, 'aaa.example', false],
])('lists show the end of a long host %s', async ([, host, end, hasBold]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const [id] = await addApps(page, [{ website_url: `https://${host}/${'path/'.repeat(20)}` }])
  for (const path of ['/', '/audit', `/apps?text=${id}`]) {
    const { text } = await ada.get(path)
    expect(textOf(text), path).toContain('https://…')
    const [, bold = ''] = /<strong dir="ltr">([^<]*)<\/strong>/.exec(text) ?? []
    expect([path, textOf(text).includes(`${end}/`), bold.endsWith(end)]).toEqual([
      path,
      true,
      hasBold,
    ])
  }
  expect(textOf((await ada.get(`/apps/${id}`)).text)).toContain(host)
})

test('an app without addresses and licence has no line for them', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const { text } = await ada.get('/')
  expect(text).not.toMatch(/class="leads"|Website|Licence/)
})

test('the history and the audit log have the host in bold, and its other form', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const [id] = await addApps(page, [{ website_url: 'https://bücher.example/' }])
  for (const path of [`/apps/${id}`, '/audit']) {
    const { text } = await ada.get(path)
    const history = text.replace(/^[\s\S]*<ol class="history">/, '<body>')
    expect(textOf(history)).toContain('Website https://bücher.example/ (xn--bcher-kva.example)')
    expect(history).toContain('<strong dir="ltr">bücher.example</strong>')
  }
})

test.for<[what: string, address: string]>([
  ['without a scheme', 'example.org'],
  ['over ftp', 'ftp://example.org/'],
  ['of a script', 'javascript:alert(1)'],
  ['with a user', 'https://bank.example@evil.example/'],
  ['with a backslash', 'https://bank.example\\@evil.example/'],
  ['of an IP address', 'https://127.0.0.1/'],
  ['with a wrong port', 'https://example.org:99999/'],
  ['with markup', 'https://<b>example.org</b>/'],
  ['that is reversed', 'https://\u202Egro.elpmaxe/'],
  ['with white space', ' https://example.org/ x'],
  ['of percent signs', 'https://%00%zz/'],
])(
  'an address %s, from older rules, is whole, as text without a bold part',
  async ([, address]) => {
    const page = await startModerationPage()
    const ada = await page.signIn('Ada')
    const [id] = await addApps(page, [{ website_url: address }])
    for (const path of ['/', `/apps/${id}`]) {
      const { status, text } = await ada.get(path)
      const shown = address.replace('\u202E', '\uFFFD').trim()
      expect([path, status, textOf(text).includes(shown)]).toEqual([path, 200, true])
      expect(text).not.toContain('<strong dir="ltr">')
    }
  },
)
