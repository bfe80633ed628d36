import { expect, inject, test } from 'vitest'
import { formOf, linksOf, textOf } from '../support/html.ts'
import {
  addApps,
  type ModerationPage,
  type Moderator,
  queued,
  startModerationPage,
} from '../support/moderation-page.ts'

/** Addresses of websites and source code, wherever moderators see them. */

const { categories } = inject('world')
const at = '2026-05-01T00:00:00.000Z'

const labels = ['Website', 'Source code']

/** The change of an address on a page, as a reader sees it. */
const changeOf = (page: string, label = 'Website') =>
  textOf(`<body>${new RegExp(`<dt>${label}</dt><dd[^>]*>([\\s\\S]*?)</dd>`).exec(page)?.[1]}`)

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

const example = 'https://example.org/'

test.for<[what: string, before: string | null, after: string, shown: string]>([
  [
    'letters that look like one',
    example,
    'https://exarnple.org/',
    'https://example.org/ → https://exarnple.org/',
  ],
  [
    'a Cyrillic letter',
    example,
    'https://ex\u0430mple.org/',
    'https://example.org/ → https://xn--exmple-4nf.org/ (ex\u0430mple.org)',
  ],
  [
    'the former host as a part of another',
    example,
    'https://example.org.evil.example/',
    'https://example.org/ → https://example.org.evil.example/',
  ],
  [
    'a Cyrillic letter in a path',
    'https://example.org/harbour',
    'https://example.org/harb\u043Eur',
    'https://example.org/harbour → https://example.org/harb%D0%BEur',
  ],
  ['the first address', null, example, 'none → https://example.org/'],
  [
    'an older one with a user in front',
    example,
    'https://example.org@evil.example/',
    'https://example.org/ → https://example.org@evil.example/',
  ],
])('a changed address is whole before and after: %s', async ([, before, after, shown]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const pages = await change(page, ada, before, after)
  for (const text of Object.values(pages))
    for (const label of labels) expect(changeOf(text, label)).toBe(shown)
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
    'Website https://xn--exmple-4nf.org/ (ex\u0430mple.org)',
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
    const addresses = linksOf(text).map(([, address]) => address)
    expect(addresses.filter((address) => /code\.example|xn--/.test(address))).toEqual([])
  }
  // The look-alikes side by side: of another developer.
  const [imitation] = await addApps(page, [
    { ...fields, name: 'Tide Cl0ck', category_id: categories.tools },
  ])
  const { text } = await ada.get(`/apps/${imitation}`)
  expect(textOf(text)).toContain(
    'Website https://xn--exmple-4nf.org/ (ex\u0430mple.org) https://tideclock.example.org/',
  )
})

test('an app whose host imitates another counts as a look-alike', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const [imitation] = await addApps(page, [
    { name: 'Imitation', website_url: 'https://ex\u0430mple.org/' },
    { name: 'Original', website_url: 'https://example.org/' },
  ])
  const chip = 'Host looks like another: ex\u0430mple.org'
  const filter = 'queue=pending&developer=Bob&category=games'
  const { text } = await ada.get(`/?${filter}&select=all`)
  expect([queued(text), textOf(text).split(chip).length - 1]).toEqual([
    ['Imitation', 'Original'],
    1,
  ])
  expect(textOf(text)).toContain('1 look-alike is not selected.')
  expect(formOf(text, '/decisions')?.fields.app?.map((app) => Number.parseInt(app, 10))).toEqual([
    (imitation ?? 0) + 1,
  ])
  expect(queued((await ada.get(`/?${filter}&look-alikes=on`)).text)).toEqual(['Imitation'])
  expect(textOf((await ada.get(`/apps/${imitation}`)).text)).toContain(chip)
  expect(textOf((await ada.get(`/apps/${(imitation ?? 0) + 1}`)).text)).not.toContain('Host looks')
})

test.for<[what: string, host: string, shown: string]>([
  ['of many labels', `${'bank.example.'.repeat(12)}evil.example`, ''],
  ['of the longest labels', `${`${'a'.repeat(63)}.`.repeat(3)}evil.example`, ''],
  [
    'in another script',
    `${'xn--80ab2al.'.repeat(15)}xn--g1aij.example`,
    ` (${'банк.'.repeat(15)}зло.example)`,
  ],
  // No host of DNS, accepted under older rules.
  ['of an endless label', `${'a'.repeat(300)}.example`, ''],
])('lists show a long host %s whole, and cut what follows it', async ([, host, readable]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const [id] = await addApps(page, [{ website_url: `https://${host}/${'path/'.repeat(50)}` }])
  for (const path of ['/', '/audit', `/apps?text=${id}`])
    expect(textOf((await ada.get(path)).text), path).toMatch(
      new RegExp(`https://${host}[path/]*…${readable.replaceAll(/[()]/g, '\\$&')}`),
    )
  expect(textOf((await ada.get(`/apps/${id}`)).text)).toContain(`${host}/${'path/'.repeat(50)}`)
})

test('an app without addresses and licence has no line for them', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const { text } = await ada.get('/')
  expect(text).not.toMatch(/class="leads"|Website|Licence/)
})

test('the history and the audit log have an address as browsers send it', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const [id] = await addApps(page, [{ website_url: 'https://bücher.example/' }])
  for (const path of [`/apps/${id}`, '/audit']) {
    const { text } = await ada.get(path)
    const history = text.replace(/^[\s\S]*<ol class="history">/, '<body>')
    expect(textOf(history)).toContain('Website https://xn--bcher-kva.example/ (bücher.example)')
  }
})

test.for<[what: string, address: string, shown?: string]>([
  ['without a scheme', 'example.org'],
  ['over ftp', 'ftp://example.org/'],
  ['of a script', 'javascript:alert(1)'],
  ['with a user', 'https://bank.example@evil.example/'],
  ['with a wrong port', 'https://example.org:99999/'],
  ['with markup', 'https://<b>example.org</b>/'],
  ['that is reversed', 'https://\u202Egro.elpmaxe/', 'https://\uFFFDgro.elpmaxe/'],
  ['with white space', ' https://example.org/ x', 'https://example.org/%20x'],
  ['of percent signs', 'https://%00%zz/'],
])('an address %s, from older rules, is text', async ([, address, shown = address]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const [id] = await addApps(page, [{ website_url: address }])
  for (const path of ['/', `/apps/${id}`]) {
    const { status, text } = await ada.get(path)
    expect([path, status]).toEqual([path, 200])
    expect(textOf(text)).toContain(`Website ${shown}`)
  }
})
