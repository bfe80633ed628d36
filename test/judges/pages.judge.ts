// Functions passed to evaluate and addInitScript run in the page.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import type { Locator } from 'playwright-core'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { documentedUrl } from '../../src/http/reference-routes.ts'
import { required } from '../../src/util/helpers.ts'
import { copyWorld } from '../support/database.ts'
import { serve } from '../support/process.ts'
import { expectAccessible, expectInView, newPage, pollTimeout, saveScreenshot } from './browser.ts'
import {
  type Content,
  expectFields,
  expectShown,
  fieldsOf,
  followMenu,
  openMenu,
  openOperation,
  openPage,
  operations,
  sectionOf,
  shareDocs,
  textsOf,
} from './reference-page.ts'

/**
 * Compares what a reader of /docs and of the home page sees in Chromium with the document.
 * SCREENSHOTS names a directory for a picture of each first screen.
 */

const headings = [...document.info.description.matchAll(/^## (.+)$/gm)].map(
  ([, heading = '']) => heading,
)

/** With the sizes of real screens. Colours do not depend on the width. */
const wide = { view: 'wide', width: 1440, height: 900, prefix: '', theme: 'light' } as const
const narrow = { view: 'narrow', width: 390, height: 844, prefix: '/v1', theme: 'dark' } as const
const screens = [wide, narrow]

const shareScreen = ({ width, prefix, height }: (typeof screens)[number]) =>
  shareDocs(width, prefix, height)
const docs = { wide: shareScreen(wide), narrow: shareScreen(narrow) }

const box = async (place: Locator) => required(await place.boundingBox(), 'a box')

describe.for(screens)('the page, $view, under the prefix "$prefix"', ({ view }) => {
  test('shows the whole introduction with working links', async () => {
    const { page, baseUrl } = docs[view]()
    const main = page.getByRole('main')
    const introduction = document.info.description.replaceAll(documentedUrl, baseUrl)
    await expectShown(main, [document.info.title, baseUrl, ...textsOf(introduction)])
    for (const heading of headings) {
      await followMenu(page, heading)
      await expect
        .poll(() => main.getByRole('heading', { name: heading, exact: false }).count(), pollTimeout)
        .toBe(1)
      await expectInView(main.getByRole('heading', { name: heading }))
    }
    const links = await main
      .locator('a')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    const own = links.filter((link) => !/^(https?:|#)/.test(link))
    expect(own).toEqual(expect.arrayContaining(['openapi.json', 'openapi.yaml', 'changelog.md']))
    for (const link of own) {
      const { status, url } = await fetch(new URL(link, page.url()))
      expect([url, status]).toEqual([`${baseUrl}/${link.split('#', 1)}`, 200])
    }
  })

  test('sets the introduction over the whole width, at most 52 rem', async () => {
    const { page } = docs[view]()
    const main = page.getByRole('main')
    const { width } = await box(main.getByRole('table').first())
    const margins = 2 * (view === 'wide' ? 64 : 32)
    expect(width).toBe(Math.min((await box(main)).width - margins, 52 * 16))
  })

  test('has a working search', async () => {
    const { page } = docs[view]()
    await openMenu(page)
    await page.getByText('Search Ctrl+K').click()
    await page.getByPlaceholder('Search docs').fill('category_id')
    await page.getByRole('link', { name: /Update your app.*category_id/s }).click()
    await expectInView(
      sectionOf(page, 'Update your app').getByText('category_id', { exact: true }).first(),
    )
  })
})

test('the whole page is rendered, for search in the browser and printing', async () => {
  const { page } = docs.wide()
  const main = page.getByRole('main')
  const fields = operations.flatMap(({ parameters, requestBody, responses }) => [
    ...parameters.map(({ name }) => name),
    ...fieldNames(requestBody),
    ...fieldNames(Object.values(responses)[0]),
  ])
  await expect
    .poll(async () => {
      const text = (await main.textContent()) ?? ''
      return [...new Set(fields)].filter((name) => !text.includes(name))
    }, pollTimeout)
    .toEqual([])
  onTestFinished(() => page.emulateMedia({ media: null }))
  await page.emulateMedia({ media: 'print' })
  await expect(page.getByPlaceholder('Search docs').count()).resolves.toBe(0)
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1')
  // The introduction is only a quarter of it.
  expect(pdf.match(/\/Type\s*\/Page\b/g)?.length).toBeGreaterThan(20)
})

test('the menu of a narrow page leads to each operation', async () => {
  const { page } = docs.narrow()
  for (const operation of operations) await openOperation(page, operation)
})

test('the search finds a header of an operation, and the introduction', async () => {
  const { page } = docs.wide()
  const search = async (text: string, result: RegExp) => {
    await page.getByText('Search Ctrl+K').click()
    await page.getByPlaceholder('Search docs').fill(text)
    await page.getByRole('link', { name: result }).click()
  }
  await search('idempotency', /Create an app.*header parameters.*Idempotency-Key/s)
  // The description of the operation names it, too.
  await expectInView(
    sectionOf(page, 'Create an app').getByText('Idempotency-Key', { exact: true }).nth(1),
  )
  await search('idempotent', /Apps Service.*the app may have been created/s)
  await expectInView(page.getByRole('main').getByRole('heading', { name: 'Apps Service' }))
})

test.for<[text: string, result: RegExp]>([
  ['withdraw', /Delete your app/],
  ['rename', /Update your app/],
  ['openapi-typescript', /Apps Service.*openapi-typescript/s],
])('the search for "%s" finds something', async ([text, result]) => {
  const { page } = docs.wide()
  // The search of a page that has just closed another one can lose the text.
  await page.reload()
  await page.getByText('Search Ctrl+K').click()
  await page.getByPlaceholder('Search docs').fill(text)
  await expect
    .poll(() => page.getByRole('link', { name: result }).count(), pollTimeout)
    .toBeGreaterThan(0)
})

describe.for(screens)('the first screen, $view', ({ view, width, height, theme }) => {
  test('shows each operation with its method and path', async () => {
    const { page, baseUrl } = docs[view]()
    await page.goto(`${baseUrl}/docs#`)
    for (const { summary, method, path } of operations) {
      const request = `${method.toUpperCase()} ${path}`
      const row = page
        .getByRole('main')
        .getByRole('row')
        .filter({ hasText: summary })
        .filter({ hasText: request })
      await expectInView(row.getByRole('link', { name: summary }))
      if (view === 'narrow') continue
      const item = page.getByRole('listitem').getByRole('link').filter({ hasText: summary }).first()
      await expectInView(item)
      expect((await item.innerText()).split('\n')).toEqual([summary, method.toUpperCase()])
    }
    if (view === 'wide') await page.getByText('Search Ctrl+K').waitFor()
    await saveScreenshot(page, `reference-${view}`)
  })

  test('without JavaScript shows each operation, with links that work and nothing that axe finds serious', async () => {
    const urls = [/\/docs$/]
    const noScript = { javaScriptEnabled: false }
    const { page, baseUrl } = await openPage('/docs', urls, { width, height }, '/v1', noScript)
    const main = page.getByRole('main')
    for (const { summary, method, path, 'x-codeSamples': samples } of operations) {
      const row = main.getByRole('row').filter({ hasText: `${method.toUpperCase()} ${path}` })
      const link = row.getByRole('link', { name: summary })
      await expectInView(link)
      await link.click()
      const section = page.locator('section').filter({ hasText: summary })
      await expectInView(section.getByRole('heading', { name: summary }))
      await expectShown(section, [samples[0]?.source.replaceAll(documentedUrl, baseUrl) ?? ''])
      await page.goto(`${baseUrl}/docs#`)
    }
    await saveScreenshot(page, `static-${view}`)
    const links = page.getByRole('link').filter({ visible: true })
    const targets = new Set(
      await links.evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href)),
    )
    const own = [...targets].filter((url) => url.startsWith(new URL(baseUrl).origin))
    const names = ['openapi.json', 'openapi.yaml', 'life-cycle.arazzo.yaml', 'changelog.md']
    expect(own).toEqual(expect.arrayContaining(names.map((name) => `${baseUrl}/${name}`)))
    for (const url of own) {
      const { hash } = new URL(url)
      expect([url, (await fetch(url)).status]).toEqual([url, 200])
      // Links to a section of the introduction do not scroll (decision 8).
      if (hash && !hash.startsWith('#/section/'))
        expect([url, await page.locator(`[id="${hash.slice(1)}"]`).count()]).not.toEqual([url, 0])
    }
    // axe needs scripts; without Redoc's, the page stays as it is without JavaScript.
    const text = await (await fetch(`${baseUrl}/docs`)).text()
    const content = text.replaceAll(/<script type="module">.*?<\/script>|<\/?noscript>/gs, '')
    const copy = await newPage()
    onTestFinished(() => copy.close())
    await copy.setViewportSize({ width, height })
    await copy.setContent(content.replace('<html', `<html class="${theme}"`))
    expect(await copy.locator('section').count()).toBe(operations.length)
    await expectAccessible(copy, {
      include: ['[data-component-name="Markdown/Markdown"]', 'section'],
    })
  })

  test('links to each operation', async () => {
    const { page, baseUrl } = docs[view]()
    for (const { summary } of operations) {
      await page.goto(`${baseUrl}/docs#`)
      await page.getByRole('main').getByRole('row').getByRole('link', { name: summary }).click()
      await expectInView(sectionOf(page, summary).getByRole('heading', { name: summary }))
    }
  })

  test(`is accessible: axe finds nothing serious, ${theme}`, async () => {
    const { page } = docs[view]()
    // Rendered last.
    await page
      .locator('[data-section-id="/the-app/app"]')
      .getByText('rejection_reason')
      .first()
      .waitFor({ state: 'attached' })
    const root = page.locator('html')
    const before = await root.getAttribute('class')
    const setTheme = (name: string | null) =>
      root.evaluate((element, name) => element.setAttribute('class', name ?? ''), name)
    onTestFinished(() => setTheme(before))
    await setTheme(theme)
    // Redoc fades from one theme to the other.
    await expect
      .poll(() => page.evaluate(() => globalThis.document.getAnimations().length), pollTimeout)
      .toBe(0)
    await expectAccessible(page, {
      // Redoc's button has another name than its text.
      exclude: ['button[aria-label="Example"]'],
    })
  })
})

describe.for(screens)('the home page, $view', ({ view, width, height, theme }) => {
  test('has working links, a call of each operation that can be copied, and nothing that axe finds serious', async () => {
    const { page, baseUrl } = await openPage('/', [/\/v1\/$/], { width, height }, '/v1')
    await saveScreenshot(page, `home-${view}`)
    const main = page.getByRole('main')
    const links = main.getByRole('link')
    const names = ['API reference', 'OpenAPI document', 'Health']
    expect(await links.allInnerTexts()).toEqual(names)
    for (const name of names) {
      const link = main.getByRole('link', { name })
      await expectInView(link)
      const { status } = await fetch(new URL((await link.getAttribute('href')) ?? '', page.url()))
      expect([name, status]).toEqual([name, 200])
    }
    expect(await main.getByRole('heading', { level: 2 }).count()).toBe(operations.length)
    for (const { summary, 'x-codeSamples': samples } of operations) {
      const source = samples[0]?.source.trim().replaceAll(documentedUrl, baseUrl)
      const section = main
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: summary }) })
      expect(await section.locator('pre').innerText()).toBe(source)
      await section.getByRole('button', { name: 'Copy' }).click()
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(source)
    }
    await page.emulateMedia({ colorScheme: theme })
    await expectAccessible(page)
  })
})

const fieldNames = (content: Content | undefined) => {
  const schema = content?.content?.['application/json'].schema
  return schema
    ? fieldsOf(schema).map(({ name }) => name.split('.').at(-1)?.replace('[]', '') ?? name)
    : []
}

test('the menu leads to the fields of an app', async () => {
  const { page } = docs.wide()
  await page.getByRole('listitem').getByRole('link', { name: 'App Schema' }).click()
  const section = page.locator('[data-section-id="/the-app/app"]')
  await expectInView(section.getByRole('heading', { name: 'App' }))
  const { schema } = operations[1]?.responses[200]?.content?.['application/json'] ?? {}
  const { app = {} } = schema?.properties?.data?.properties ?? {}
  await expectFields(section, fieldsOf(app))
})

test('each command of the introduction has a button that copies it, and is not printed', async () => {
  const { page, baseUrl } = docs.wide()
  const introduction = document.info.description.replaceAll(documentedUrl, baseUrl)
  const blocks = [...introduction.matchAll(/^```(?:sh|json)\n(.*?)\n```$/gms)].map(
    ([, block]) => block,
  )
  const buttons = page
    .locator('[data-component-name="Markdown/Markdown"] pre')
    .getByRole('button', { name: 'Copy', exact: true })
  await expect.poll(() => buttons.count(), pollTimeout).toBe(blocks.length)
  for (const block of blocks) {
    // A button that was clicked has another name.
    await buttons.first().click()
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()), pollTimeout)
      .toBe(block)
  }
  onTestFinished(() => page.emulateMedia({ media: null }))
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('button', { name: 'Copied' }).count()).toBe(0)
})

test('pages of another origin can read, also with a key, and not write', async () => {
  const { port } = await serve(await copyWorld())
  const { keys, apps } = inject('world')
  const page = await newPage()
  onTestFinished(() => page.close())
  const ask = (method: string, path: string, body?: string) =>
    page.evaluate(
      async ({ url, method, body, key }) => {
        const headers = {
          Authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        }
        const answer = await fetch(url, {
          method,
          headers,
          ...(body !== undefined && { body }),
        }).catch(() => undefined)
        return answer && [answer.status, answer.headers.has('ETag')]
      },
      { url: `http://127.0.0.1:${port}${path}`, method, body, key: keys.ada },
    )
  expect(await ask('GET', `/apps/${apps.pending}`)).toEqual([200, true])
  expect(
    await ask('POST', '/apps', '{"name":"A","description":"B","category_id":1}'),
  ).toBeUndefined()
  expect(await ask('PUT', `/apps/${apps.pending}`, '{"name":"A"}')).toBeUndefined()
  expect(await ask('DELETE', `/apps/${apps.pending}`)).toBeUndefined()
})
