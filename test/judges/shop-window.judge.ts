// Functions passed to evaluate run in the page.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { emptyCatalogueUrl } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { share, whenFinished } from '../support/lifetime.ts'
import { commandLine, type Served, serve } from '../support/process.ts'
import { expectAccessible, openWindow, pollTimeout, saveScreenshot } from './browser.ts'

/**
 * The example shop window in Chromium, on another origin than the service, with the demo catalogue:
 * history, focus, keyboard, layout, caches, and what axe finds. test/clients/shop-window.test.ts has
 * what it requests and draws. SCREENSHOTS names a directory for pictures.
 */

let server: Served
let shop: string

share(async () => {
  const address = await emptyCatalogueUrl()
  expect((await commandLine(address).run('seed')).code).toBe(0)
  const port = await freePort()
  const api = `http://localhost:${port}`
  server = await serve(address, { PORT: String(port), BASE_URL: api })
  shop = await serveShop(api)
})

async function serveShop(api: string): Promise<string> {
  const child = spawn(process.execPath, [`${import.meta.dirname}/../../scripts/shop.ts`], {
    env: { API_URL: api, SHOP_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  whenFinished(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return /http\S+(?=,)/.exec(line)?.[0] ?? ''
}

const wide = { width: 1440, height: 900 }
const narrow = { width: 390, height: 844 }

type Options = BrowserContextOptions & { expected?: RegExp; viewport?: typeof wide }

/** Opens a view, and waits until it is shown. */
async function open(path: string, heading: string, { viewport = wide, ...options }: Options = {}) {
  const window = await openWindow(viewport, options)
  await window.page.goto(shop + path)
  await expectView(window.page, heading)
  return window
}

/** The view has this heading and has been loaded. */
async function expectView(page: Page, heading: string) {
  await expect
    .poll(
      async () => [
        await page.getByRole('heading', { level: 1 }).innerText(),
        await page.getByRole('main').getAttribute('aria-busy'),
      ],
      pollTimeout,
    )
    .toEqual([heading, 'false'])
  await expect.poll(() => page.title(), pollTimeout).toBe(`${heading} – Shop window`)
}

const field = (page: Page) => page.getByRole('searchbox', { name: 'Search apps' })
const link = (page: Page, navigation: string, name: string | RegExp) =>
  page.getByRole('navigation', { name: navigation }).getByRole('link', { name })

async function expectFocus(place: Locator) {
  await expect
    .poll(() => place.evaluate((element) => element === document.activeElement), pollTimeout)
    .toBe(true)
}

/** Types a text, with stopped timers, in letters that are less than 250 ms apart. */
async function type(page: Page, text: string) {
  for (const letter of text) {
    await page.clock.runFor(200)
    await field(page).press(letter === ' ' ? 'Space' : letter)
  }
  await page.clock.runFor(250)
}

test('what is typed is one entry of the history', async () => {
  const { page } = await openWindow(wide)
  await page.clock.install()
  await page.goto(`${shop}/?category=games`)
  await expectView(page, 'Games')
  await page.clock.pauseAt(Date.now() + 3_600_000)
  await type(page, 'tide')
  await expectView(page, 'Results for “tide”')
  await type(page, ' table')
  await expectView(page, 'Results for “tide table”')
  await expectFocus(field(page))
  await page.goBack()
  await expectView(page, 'Games')
  expect(await field(page).inputValue()).toBe('')
  await page.goForward()
  await expectView(page, 'Results for “tide table”')
  expect(await field(page).inputValue()).toBe('tide table')
  await page.reload()
  await expectView(page, 'Results for “tide table”')
})

test('an open app stays in the history when a search or a category follows', async () => {
  const { page } = await open('/?search=lighthouse', 'Results for “lighthouse”')
  await page.getByRole('link', { name: 'Lighthouse Keeper' }).click()
  await expectView(page, 'Lighthouse Keeper')
  await field(page).fill('music')
  await expectView(page, 'Results for “music”')
  await page.goBack()
  await expectView(page, 'Lighthouse Keeper')
  await link(page, 'Categories', 'Travel').click()
  await expect.poll(() => page.url(), pollTimeout).toMatch(/\?category=travel&search=lighthouse$/)
  await page.goBack()
  await expectView(page, 'Lighthouse Keeper')
})

test('runs only its own script', async () => {
  const { page } = await open('/', 'All apps', { expected: /policy/i })
  const ran = await page.evaluate(() => {
    const inline = document.createElement('script')
    inline.textContent = 'document.body.dataset.ran = "inline"'
    document.body.append(inline)
    document.body.setAttribute('onclick', 'document.body.dataset.ran = "attribute"')
    document.body.click()
    return document.body.dataset.ran
  })
  expect(ran).toBeUndefined()
})

test('an app opens at its top; back returns to the place in the list', async () => {
  const { page } = await open('/?page=4', 'All apps')
  const card = page.getByRole('link', { name: 'Haushaltsbuch für Zwei' })
  await card.scrollIntoViewIfNeeded()
  const scroll = await page.evaluate(() => scrollY)
  expect(scroll).toBeGreaterThan(0)
  await card.click()
  await expectView(page, 'Haushaltsbuch für Zwei')
  await expectFocus(page.getByRole('heading', { level: 1 }))
  expect(await page.evaluate(() => scrollY)).toBe(0)

  await page.goBack()
  await expectView(page, 'All apps')
  await expectFocus(card)
  await expect.poll(() => page.evaluate(() => scrollY), pollTimeout).toBe(scroll)
  await page.goForward()
  await expectView(page, 'Haushaltsbuch für Zwei')
  await page.getByRole('link', { name: 'Back to the list' }).click()
  await expectView(page, 'All apps')
  await expectFocus(card)
})

test('shows at most two lines of a description, also beside a tall card', async () => {
  const { page } = await open('/', 'All apps')
  const [tall] = await page.locator('.card h2').all()
  await tall?.evaluate((heading) => heading.append(' and more'.repeat(30)))
  const lines = await page
    .locator('.card .summary')
    .evaluateAll((all) =>
      all.map((text) => text.clientHeight / Number.parseFloat(getComputedStyle(text).lineHeight)),
    )
  expect(Math.max(...lines)).toBe(2)
})

test('a second visit revalidates: the service sends 304 without a body', async () => {
  const lines = () =>
    server.log
      .map((line) => JSON.parse(line))
      .filter(({ res }) => res)
      .map(({ req, res }) => `${req.url} ${res.statusCode}`)
  const visit = async (status: number) => {
    const before = lines().length
    const page = await context.newPage()
    await page.goto(`${shop}/?app=lighthouse-keeper`)
    await expectView(page, 'Lighthouse Keeper')
    await page.getByRole('link', { name: 'Back to the list' }).click()
    await expectView(page, 'All apps')
    const paths = ['/apps/31', '/apps?limit=24', '/apps?slug=lighthouse-keeper', '/categories']
    await expect
      .poll(() => lines().slice(before).toSorted(), pollTimeout)
      .toEqual(paths.map((path) => `${path} ${status}`))
  }
  const { context } = await openWindow(wide)
  await visit(200)
  await visit(304)
})

test('works with the keyboard alone', async () => {
  const { page } = await open('/', 'All apps')
  await link(page, 'Categories', 'Games 11').waitFor()
  await tabTo(page, field(page))
  await page.keyboard.type('compass')
  await page.keyboard.press('Enter')
  await expectView(page, 'Results for “compass”')
  await tabTo(page, link(page, 'Categories', 'Tools'))
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url(), pollTimeout).toContain('category=tools')
  await expectFocus(page.getByRole('heading', { level: 1 }))
  const app = page.getByRole('link', { name: 'Compass', exact: true })
  await tabTo(page, app)
  const outline = await app.evaluate((element) => getComputedStyle(element).outlineStyle)
  expect(outline).toBe('solid')
  await page.keyboard.press('Enter')
  await expectView(page, 'Compass')
  await page.keyboard.press('Shift+Tab')
  await expectFocus(page.getByRole('link', { name: 'Back to the list' }))
  await page.keyboard.press('Enter')
  await expectView(page, 'Results for “compass”')
  await expectFocus(app)
})

/** Presses Tab until the place has the focus, at most once for each element that can have it. */
async function tabTo(page: Page, place: Locator) {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    if (await place.evaluate((element) => element === document.activeElement)) return
  }
  throw new Error(`Tab does not reach ${place}`)
}

/** Both widths and both colour schemes. Colours do not depend on the width. */
const looks = [
  { view: 'wide', viewport: wide, colorScheme: 'light' },
  { view: 'narrow', viewport: narrow, colorScheme: 'dark' },
] as const

describe.for(looks)('$view and $colorScheme', ({ view, ...options }) => {
  test.for([
    ['list', '/', 'All apps'],
    ['search', '/?search=music', 'Results for “music”'],
    ['app', '/?app=notes-lists', 'Notes & Lists'],
  ])(
    'the %s is accessible and no wider than the window',
    async ([name, path = '', heading = '']) => {
      const { page } = await open(path, heading, options)
      await link(page, 'Categories', 'Travel').waitFor()
      await saveScreenshot(page, `shop-window-${name}-${view}-${options.colorScheme}`)
      await expectAccessible(page)
      for (const role of ['banner', 'search', 'main'] as const)
        expect(await page.getByRole(role).count()).toBe(1)
    },
  )
})

test('without JavaScript, a line says what is missing, and nothing seems to load', async () => {
  const { page } = await openWindow(wide, { javaScriptEnabled: false })
  await page.goto(shop)
  expect(await page.locator('body').innerText()).toBe(
    'Shop window\n\nThis page needs JavaScript to show the catalogue.',
  )
  await saveScreenshot(page, 'shop-window-without-script')
})
