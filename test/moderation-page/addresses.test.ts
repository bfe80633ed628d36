import { expect, inject, test } from 'vitest'
import { formOf, linksOf, textOf } from '../support/html.ts'
import { addApps, queued, startWithAda } from '../support/moderation-page.ts'

/**
 * Addresses of websites and source code, wherever moderators see them. moderation/describe.test.ts
 * has how they are written, and which hosts are deceptive.
 */

const { categories } = inject('world')
const at = '2026-05-01T00:00:00.000Z'

/** The change of a field on a page, as a reader sees it. */
const changeOf = (page: string, label: string) =>
  textOf(`<body>${new RegExp(`<dt>${label}</dt><dd[^>]*>([\\s\\S]*?)</dd>`).exec(page)?.[1]}`)

test.for<{ what: string; before: string | null; after: string; shown: string }>([
  {
    what: 'a Cyrillic letter',
    before: 'https://example.org/',
    after: 'https://ex\u0430mple.org/',
    shown: 'https://example.org/ → https://xn--exmple-4nf.org/ (ex\u0430mple.org)',
  },
  {
    what: 'a part of the host',
    before: 'https://example.org/',
    after: 'https://example.org.evil.example/',
    shown: 'https://example.org/ → https://example.org.evil.example/',
  },
  {
    what: 'the first address',
    before: null,
    after: 'https://example.org/',
    shown: 'none → https://example.org/',
  },
])('a changed address is whole before and after: $what', async ({ before, after, shown }) => {
  const { page, ada } = await startWithAda()
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
  for (const path of ['/?queue=changed', `/apps/${id}`]) {
    const { text } = await ada.get(path)
    for (const label of ['Website', 'Source code'])
      expect(changeOf(text, label), `${label} on ${path}`).toBe(shown)
  }
})

test('the addresses and the licence of an app are on each list and page of apps, without links', async () => {
  const { page, ada } = await startWithAda()
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
  expect(textOf((await ada.get('/')).text)).not.toMatch(/Website|Licence/)
  const states = [
    { status: 'pending' },
    { status: 'approved', approved_at: at, unreviewed_since: at, unreviewed_changes: '{}' },
    { status: 'rejected', rejection_reason: 'No.' },
  ] as const
  const name = 'Sea Chart'
  const ids = await addApps(
    page,
    states.map((state) => ({ ...fields, ...state, name })),
  )
  for (const path of [
    ...['/', '/?queue=changed', `/apps?text=${encodeURIComponent(name)}`],
    ...ids.map((id) => `/apps/${id}`),
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
  expect(textOf((await ada.get(`/apps/${imitation}`)).text)).toContain(
    'Website https://xn--exmple-4nf.org/ (ex\u0430mple.org) https://tideclock.example.org/',
  )
})

test('an app whose host has letters of another script counts as a look-alike', async () => {
  const { page, ada } = await startWithAda()
  const [imitation, original] = await addApps(page, [
    { name: 'Imitation', website_url: 'https://ex\u0430mple.org/' },
    { name: 'Original', website_url: 'https://example.org/' },
  ])
  const chip = 'Host with letters of another script: xn--exmple-4nf.org'
  const filter = 'queue=pending&developer=Bob&category=games'
  const { text } = await ada.get(`/?${filter}&select=all`)
  expect(queued(text)).toEqual(['Imitation', 'Original'])
  expect(textOf(text).split(chip)).toHaveLength(2)
  expect(textOf(text)).toContain('1 look-alike is not selected.')
  expect(formOf(text, '/decisions')?.fields.app?.map((app) => Number.parseInt(app, 10))).toEqual([
    original,
  ])
  expect(textOf((await ada.get(`/apps/${imitation}`)).text)).toContain(chip)
  expect(textOf((await ada.get(`/apps/${original}`)).text)).not.toContain('Host with')
})

test('lists show a long host whole, and cut what follows it', async () => {
  const { page, ada } = await startWithAda()
  const address = `https://${'bank.example.'.repeat(12)}evil.example`
  const [id] = await addApps(page, [{ website_url: `${address}/${'path/'.repeat(50)}` }])
  for (const path of ['/', '/audit', `/apps?text=${id}`])
    expect(textOf((await ada.get(path)).text), path).toMatch(new RegExp(`${address}[path/]*…`))
  expect(textOf((await ada.get(`/apps/${id}`)).text)).toContain(`/${'path/'.repeat(50)}`)
})

test('the history and the audit log have an address as browsers send it', async () => {
  const { page, ada } = await startWithAda()
  const [id] = await addApps(page, [{ website_url: 'https://bücher.example/' }])
  for (const path of [`/apps/${id}`, '/audit']) {
    const { text } = await ada.get(path)
    const history = text.replace(/^[\s\S]*<ol class="history">/, '<body>')
    expect(textOf(history)).toContain('Website https://xn--bcher-kva.example/ (bücher.example)')
  }
})

test('an address from older rules is text', async () => {
  const { page, ada } = await startWithAda()
  const [id] = await addApps(page, [
    { website_url: 'javascript:alert(1)', source_code_url: 'https://\u202Egro.elpmaxe/' },
  ])
  for (const path of ['/', `/apps/${id}`]) {
    const { text } = await ada.get(path)
    expect(textOf(text)).toContain('Website javascript:alert(1)')
    expect(textOf(text)).toContain('Source code https://\uFFFDgro.elpmaxe/')
  }
})
