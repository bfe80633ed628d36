// Functions passed to evaluate run in the page.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { importLines } from '../support/catalogue-file.ts'
import { emptyCatalogueUrl, temporaryFolder } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { share, whenFinished } from '../support/lifetime.ts'
import { commandLine, type Served, serve } from '../support/process.ts'
import { expectAccessible, openWindow, pollTimeout, saveScreenshot } from './browser.ts'

/**
 * Uses the example shop window, on another origin than the service, with the demo catalogue.
 * SCREENSHOTS names a directory for pictures.
 */

const examples = `${import.meta.dirname}/../../examples/shop-window`
const script = `${import.meta.dirname}/../../scripts/shop.ts`

/** Texts that would run or change the page if they were used as HTML. */
const hostile = {
  name: '<img src=x onerror=alert(1)>',
  description: '<script>alert(2)</script> "><b onclick=alert(3)>bold</b>\nsecond line',
  short_description: '<iframe src="javascript:alert(4)">',
  category: 'tools',
  developer_name: '<svg onload=alert(5)>',
  package_name: 'org.example.hostile',
  status: 'approved',
  created_at: '2020-01-01T00:00:00.000Z',
  reviews: [
    {
      reviewer_name: '<i>Eve</i>',
      rating: 1,
      comment: '<a href="javascript:alert(6)">click</a>',
      created_at: '2026-01-01T00:00:00.000Z',
    },
  ],
}

/** A database with the catalogue of `make run`, and more apps. */
async function demoCatalogue(more: object[] = []): Promise<string> {
  const address = await emptyCatalogueUrl()
  expect((await commandLine(address).run('seed')).code).toBe(0)
  const database = openDatabase(address)
  expect((await importLines(database, more)).rejects).toEqual([])
  await database.close()
  return address
}

type Pair = Awaited<ReturnType<typeof servePair>>

let demo: string
/** With the demo catalogue, for all tests that neither stop its server nor read its log. */
let shared: Pair

share(async () => {
  demo = await demoCatalogue()
  shared = await servePair()
})

/** Starts `make shop` with these variables. */
function startShop(env: Record<string, string>, cwd = temporaryFolder()) {
  const child = spawn(process.execPath, [script], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  whenFinished(() => child.kill('SIGKILL'))
  return child
}

async function serveShop(api: string): Promise<string> {
  const { stdout } = startShop({ API_URL: api, SHOP_PORT: '0' })
  const [line] = await once(createInterface({ input: stdout }), 'line')
  const [, url = ''] =
    /^Serving the shop window on (\S+), with the catalogue of (\S+)$/.exec(line) ?? []
  expect(line).toContain(`with the catalogue of ${api}`)
  return url
}

/** Serves a catalogue and the shop window. */
async function servePair(environment: Record<string, string> = {}, catalogue = demo) {
  const port = await freePort()
  const api = `http://localhost:${port}`
  const startServer = (more: Record<string, string> = {}) =>
    serve(catalogue, { PORT: String(port), BASE_URL: api, ...more })
  const server = await startServer(environment)
  return { api, server, startServer, shop: await serveShop(api) }
}

const wide = { width: 1440, height: 900 }
const narrow = { width: 390, height: 844 }

type Options = BrowserContextOptions & {
  expected?: RegExp
  viewport?: typeof wide
  pair?: Pair
}

/** Opens an empty page beside a catalogue and its shop window. */
async function start({ viewport = wide, pair = shared, ...options }: Options = {}) {
  const window = await openWindow(viewport, options)
  const { api } = pair
  /** The requests to the service, without its address. */
  const asked = () =>
    window.requests.filter((url) => url.startsWith(api)).map((url) => url.slice(api.length))
  return { ...window, ...pair, asked }
}

/** Opens a view, and waits until it is shown. */
async function open(path: string, heading: string, options: Options = {}) {
  const started = await start(options)
  await started.page.goto(started.shop + path)
  await expectView(started.page, heading)
  return started
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

const names = (page: Page) => page.locator('.card h2').allInnerTexts()
const field = (page: Page) => page.getByRole('searchbox', { name: 'Search apps' })
const status = (page: Page) => page.locator('[aria-live=polite]').innerText()
const link = (page: Page, navigation: string, name: string | RegExp) =>
  page.getByRole('navigation', { name: navigation }).getByRole('link', { name })

async function expectFocus(place: Locator) {
  await expect
    .poll(() => place.evaluate((element) => element === document.activeElement), pollTimeout)
    .toBe(true)
}

/** What the service has for a path. */
async function read(api: string, path: string) {
  const response = await fetch(api + path)
  return (await response.json()).data
}

const namesOf = async (api: string, path: string): Promise<string[]> =>
  (await read(api, path)).apps.map(({ name }: { name: string }) => name)

/** Types a text, with stopped timers, in letters that are less than 250 ms apart. */
async function type(page: Page, text: string) {
  for (const letter of text) {
    await page.clock.runFor(200)
    await field(page).press(letter === ' ' ? 'Space' : letter)
  }
  await page.clock.runFor(250)
}

/** Opens the shop window and stops its timers, so that `runFor` decides when they run. */
async function openWithoutTimers(page: Page, address: string, view: string) {
  await page.clock.install()
  await page.goto(address)
  await expectView(page, view)
  await page.clock.pauseAt(Date.now() + 3_600_000)
}

/** Lets requests that match the pattern wait, also those that the page aborts meanwhile. */
async function holdRequests(page: Page, pattern: string) {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route(pattern, async (route) => {
    reach()
    await released
    await route.continue().catch(() => {})
  })
  return { reached, release }
}

test('requests the categories once for a whole visit, and shows their counts', async () => {
  const { page, api, asked } = await open('/', 'All apps')
  const { categories } = await read(api, '/categories')
  await expect
    .poll(() => link(page, 'Categories', '').count(), pollTimeout)
    .toBe(categories.length + 1)
  await link(page, 'Categories', 'Games 11').click()
  await expectView(page, 'Games')
  expect(await names(page)).toEqual(await namesOf(api, '/apps?category=games&limit=24'))
  await link(page, 'Sort', 'Best rated').click()
  await expectView(page, 'Games')
  await page.getByRole('link', { name: 'Lighthouse Keeper' }).click()
  await expectView(page, 'Lighthouse Keeper')
  await page.goBack()
  await expectView(page, 'Games')
  await field(page).fill('tide')
  await expectView(page, 'Results for “tide”')
  expect(asked().filter((path) => path.startsWith('/categories'))).toHaveLength(1)
})

test('typing sends one request for each pause, and is one entry of the history', async () => {
  const { page, shop, api, asked } = await start()
  await openWithoutTimers(page, `${shop}/?category=games`, 'Games')
  await type(page, 'tide')
  await expectView(page, 'Results for “tide”')
  await type(page, ' table')
  await expectView(page, 'Results for “tide table”')
  await expectFocus(field(page))
  expect(await names(page)).toEqual(await namesOf(api, '/apps?search=tide+table&limit=24'))
  expect(asked().filter((path) => path.includes('search='))).toEqual([
    '/apps?search=tide&limit=24',
    '/apps?search=tide+table&limit=24',
  ])
  await page.goBack()
  await expectView(page, 'Games')
  expect(await field(page).inputValue()).toBe('')
  await page.goForward()
  await expectView(page, 'Results for “tide table”')
  expect(await field(page).inputValue()).toBe('tide table')
})

test('a search that is superseded is aborted, and never shown', async () => {
  const { page, shop } = await start()
  await openWithoutTimers(page, shop, 'All apps')
  const held = await holdRequests(page, '**/apps?search=tide&*')
  await type(page, 'tide')
  await held.reached
  const failed = page.waitForEvent('requestfailed')
  await type(page, ' table')
  const request = await failed
  expect([request.url(), request.failure()?.errorText]).toEqual([
    expect.stringContaining('search=tide&'),
    'net::ERR_ABORTED',
  ])
  await expectView(page, 'Results for “tide table”')
  held.release()
  await field(page).press('Enter')
  await expectView(page, 'Results for “tide table”')
})

test.for(['**/apps?slug=lighthouse-keeper', '**/apps/31'])(
  'an app that is left before %s has been answered is never shown',
  async (pattern) => {
    const { page } = await open('/?category=games', 'Games')
    const held = await holdRequests(page, pattern)
    await page.getByRole('link', { name: 'Lighthouse Keeper' }).click()
    await held.reached
    const failed = page.waitForEvent('requestfailed')
    await link(page, 'Categories', 'Tools').click()
    expect((await failed).failure()?.errorText).toBe('net::ERR_ABORTED')
    await expectView(page, 'Tools')
    held.release()
    await link(page, 'Sort', 'Best rated').click()
    await expect.poll(() => page.url(), pollTimeout).toContain('sort=rating')
    await expectView(page, 'Tools')
  },
)

test('a link that is followed while a search is typed wins over the search', async () => {
  const { page, shop, asked } = await start()
  await openWithoutTimers(page, shop, 'All apps')
  await field(page).press('t')
  await link(page, 'Categories', 'Games').click()
  await expectView(page, 'Games')
  await page.clock.runFor(1000)
  await link(page, 'Sort', 'Best rated').click()
  await expect.poll(() => page.url(), pollTimeout).toMatch(/\?category=games&sort=rating$/)
  expect(asked().filter((path) => path.includes('search='))).toEqual([])
})

test('a space at the end of a search stays in the field for the next word', async () => {
  const { page, shop } = await start()
  await openWithoutTimers(page, shop, 'All apps')
  await type(page, 'tide')
  await expectView(page, 'Results for “tide”')
  await type(page, ' ')
  await expectView(page, 'Results for “tide”')
  await type(page, 'table')
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

test('a typo shows what was searched for instead, as a link', async () => {
  const { page } = await open('/?search=tiels', 'Results for “tiels”')
  expect(await status(page)).toBe('Did you mean tiles?')
  expect(await names(page)).toEqual(['512 Tiles 🎲'])
  await saveScreenshot(page, 'shop-window-correction')
  await page.getByRole('link', { name: 'Did you mean tiles?' }).click()
  await expectView(page, 'Results for “tiles”')
  expect([await status(page), await field(page).inputValue()]).toEqual(['Page 1 of 1.', 'tiles'])
})

test.for([
  ['tiles qqzzy', 'No app has "qqzzy". Page 1 of 1.'],
  ['tide table', 'After the first 2 apps, only some words match. Page 1 of 1.'],
  ['zzzqqq', 'No apps match.'],
])('a search for "%s" says: %s', async ([search = '', message]) => {
  const { page } = await open(`/?search=${encodeURIComponent(search)}`, `Results for “${search}”`)
  expect(await status(page)).toBe(message)
  expect(await link(page, 'Sort', '').count()).toBe(message === 'No apps match.' ? 0 : 4)
})

test('has pages, which keep the order', async () => {
  const { page, api } = await open('/?sort=popular', 'All apps')
  expect(await names(page)).toEqual(await namesOf(api, '/apps?sort=popular&limit=24'))
  expect(await link(page, 'Pages', '').allInnerTexts()).toEqual(['Next'])
  for (const number of [2, 3, 4]) {
    await link(page, 'Pages', 'Next').click()
    await expect
      .poll(() => names(page), pollTimeout)
      .toEqual(await namesOf(api, `/apps?sort=popular&limit=24&page=${number}`))
    expect(await status(page)).toBe(`Page ${number} of 4.`)
    await expectFocus(page.getByRole('heading', { level: 1 }))
  }
  expect(await link(page, 'Pages', '').allInnerTexts()).toEqual(['Previous'])
  await link(page, 'Pages', 'Previous').click()
  await expect.poll(() => status(page), pollTimeout).toBe('Page 3 of 4.')
})

test('sorts a list and a search, from the first page', async () => {
  const { page, api } = await open('/?page=2', 'All apps')
  const current = () => page.locator('#sort [aria-current=true]').allInnerTexts()
  const choices = () => link(page, 'Sort', '').allInnerTexts()
  expect([await current(), await choices()]).toEqual([
    ['Newest'],
    ['Newest', 'Most downloaded', 'Best rated'],
  ])
  await link(page, 'Sort', 'Best rated').click()
  await expect
    .poll(() => names(page), pollTimeout)
    .toEqual(await namesOf(api, '/apps?sort=rating&limit=24'))
  await field(page).fill('music')
  await expectView(page, 'Results for “music”')
  expect([await current(), await choices()]).toEqual([
    ['Best match'],
    ['Best match', 'Newest', 'Most downloaded', 'Best rated'],
  ])
  for (const [name, sort] of [
    ['Newest', 'latest'],
    ['Most downloaded', 'popular'],
    ['Best rated', 'rating'],
  ] as const) {
    await link(page, 'Sort', name).click()
    await expect.poll(current, pollTimeout).toEqual([name])
    await expect
      .poll(() => names(page), pollTimeout)
      .toEqual(await namesOf(api, `/apps?search=music&sort=${sort}&limit=24`))
  }
  await link(page, 'Sort', 'Best match').click()
  await expect
    .poll(() => names(page), pollTimeout)
    .toEqual(await namesOf(api, '/apps?search=music&limit=24'))
})

test('an app opens with its reviews; back returns to the place in the list', async () => {
  const { page, api } = await open('/?page=4', 'All apps')
  const card = page.getByRole('link', { name: 'Haushaltsbuch für Zwei' })
  await card.scrollIntoViewIfNeeded()
  const scroll = await page.evaluate(() => scrollY)
  expect(scroll).toBeGreaterThan(0)
  await card.click()
  await expectView(page, 'Haushaltsbuch für Zwei')
  await expectFocus(page.getByRole('heading', { level: 1 }))
  expect(await page.evaluate(() => scrollY)).toBe(0)

  const { app } = await read(api, '/apps/7')
  const main = page.getByRole('main')
  const [description, ...comments] = await main.locator('.text').allInnerTexts()
  expect(app.description).toContain('\n')
  expect(description).toBe(app.description)
  expect(comments).toEqual(app.reviews.map(({ comment }: { comment: string }) => comment))
  await expect(main.innerText()).resolves.toContain(app.short_description)
  for (const { reviewer_name, rating } of app.reviews)
    await main.getByText(reviewer_name).locator('..').getByText(`${rating} of 5`).first().waitFor()

  await page.goBack()
  await expectView(page, 'All apps')
  await expectFocus(card)
  await expect.poll(() => page.evaluate(() => scrollY), pollTimeout).toBe(scroll)
  await page.goForward()
  await expectView(page, 'Haushaltsbuch für Zwei')
  await page.getByRole('link', { name: 'Back to the list' }).click()
  await expectView(page, 'All apps')
  expect(await names(page)).toEqual(await namesOf(api, '/apps?page=4&limit=24'))
  await expectFocus(card)
})

test('each address shows the same by links, when opened, and when loaded again', async () => {
  const { page, shop } = await open('/', 'All apps')
  const visits: [address: string, shown: string][] = []
  const shown = () => page.locator('body').innerText()
  for (const step of [
    () => link(page, 'Categories', 'Travel').click(),
    () => link(page, 'Sort', 'Most downloaded').click(),
    () => page.getByRole('link', { name: 'Tide & Time' }).click(),
    () => field(page).fill('app'),
    () => link(page, 'Categories', 'Tools').click(),
    () => page.getByRole('link', { name: 'Shop window' }).click(),
    () => link(page, 'Pages', 'Next').click(),
  ]) {
    const before = page.url()
    await step()
    await expect.poll(() => page.url(), pollTimeout).not.toBe(before)
    await page.locator('main[aria-busy=false]').waitFor()
    visits.push([page.url(), await shown()])
  }
  expect(visits.map(([address]) => address.slice(shop.length))).toEqual([
    '/?category=travel',
    '/?category=travel&sort=popular',
    '/?category=travel&sort=popular&app=tide-time',
    '/?search=app',
    '/?category=tools&search=app',
    '/?',
    '/?page=2',
  ])
  expect(new Set(visits.map(([, text]) => text)).size).toBe(visits.length)
  for (const [address, expected] of visits) {
    await page.goto(address)
    await expect.poll(shown, pollTimeout).toBe(expected)
    await page.reload()
    await expect.poll(shown, pollTimeout).toBe(expected)
  }
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

test('says that it is loading', async () => {
  const { page, shop } = await start()
  const held = await holdRequests(page, '**/apps?*')
  await page.goto(shop)
  expect(await page.getByRole('main').getAttribute('aria-busy')).toBe('true')
  expect(await status(page)).toBe('Loading…')
  held.release()
  await expectView(page, 'All apps')
})

const failedLoad = /^Failed to load resource/
const noResponse = /^Failed to load resource|^TypeError: Failed to fetch/

test('says that the server is stopped, and recovers', async () => {
  const { page, api, server, startServer, asked } = await open('/', 'All apps', {
    expected: noResponse,
    pair: await servePair(),
  })
  await stop(server)
  await link(page, 'Sort', 'Best rated').click()
  await expectView(page, 'The catalogue is not available')
  expect(await status(page)).toBe(`There is no response from ${api}.`)
  await expectAccessible(page)
  await saveScreenshot(page, 'shop-window-error')
  await page.reload()
  await expectView(page, 'The catalogue is not available')
  await startServer()
  await page.getByRole('link', { name: 'Try again' }).click()
  await expectView(page, 'All apps')
  await link(page, 'Categories', 'Games 11').waitFor()
  expect(page.url()).toMatch(/\?sort=rating$/)
  expect(asked().at(-1)).toBe('/apps?sort=rating&limit=24')
})

async function stop({ process, exited }: Served) {
  process.kill('SIGKILL')
  await exited
}

test('after too many requests, waits as long as the service says', async () => {
  const { page, shop, server, startServer } = await start({
    expected: failedLoad,
    pair: await servePair({ READ_LIMIT: '2' }),
  })
  await openWithoutTimers(page, shop, 'All apps')
  await link(page, 'Categories', 'Games').click()
  await expectView(page, 'The catalogue is not available')
  expect(await status(page)).toMatch(/^Too many reads from this address; try again in \d+ s\.$/)
  await stop(server)
  await startServer()
  await page.clock.runFor(60_000)
  await expectView(page, 'Games')
})

test.for([
  ['/?app=no-such-app', 'App not found', 'It may have been removed.'],
  ['/?category=nope', 'No apps', 'No category has the slug "nope"; GET /categories lists them.'],
  ['/?page=99', 'All apps', 'Page 99 of 4.'],
])('%s shows "%s"', async ([path = '', heading = '', message]) => {
  const { page } = await open(path, heading)
  expect(await status(page)).toBe(message)
  await page.getByRole('link', { name: 'Shop window' }).click()
  await expectView(page, 'All apps')
})

test('shows the message of a refused request', async () => {
  const { page } = await open('/?sort=cheapest', 'The catalogue is not available', {
    expected: failedLoad,
  })
  expect(await status(page)).toBe('sort must be one of latest, popular, rating.')
})

test('ignores parameters that it does not have, such as those of advertisements', async () => {
  const { asked } = await open('/?utm_source=mail&category=games', 'Games')
  expect(asked()).toContain('/apps?category=games&limit=24')
})

test('shows hostile texts as texts', async () => {
  const pair = await servePair({}, await demoCatalogue([hostile]))
  const { page } = await open('/?search=img', 'Results for “img”', { pair })
  const dialogs: string[] = []
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  expect(await names(page)).toEqual([hostile.name])
  await page.getByRole('link', { name: hostile.name }).click()
  await expectView(page, hostile.name)
  const main = page.getByRole('main')
  const shown = await main.innerText()
  const { description, short_description, developer_name, reviews } = hostile
  const comments = reviews.flatMap(({ reviewer_name, comment }) => [reviewer_name, comment])
  for (const part of [description, short_description, developer_name, ...comments])
    expect(shown).toContain(part)
  const elements = main.locator('img, script, iframe, svg, i, [onclick], [href^=javascript]')
  expect([await elements.count(), dialogs]).toEqual([0, []])
})

test('a second visit revalidates: the service sends 304 without a body', async () => {
  const { page, context, shop, server } = await open(
    '/?app=lighthouse-keeper',
    'Lighthouse Keeper',
    { pair: await servePair() },
  )
  await page.goto(shop)
  await expectView(page, 'All apps')
  const lines = () =>
    server.log
      .map((line) => JSON.parse(line))
      .filter(({ req }) => req)
      .map(({ req, res }) => `${req.url} ${res.statusCode}`)
  const paths = ['/categories', '/apps?slug=lighthouse-keeper', '/apps/31', '/apps?limit=24']
  await expect
    .poll(() => [...new Set(lines())].toSorted(), pollTimeout)
    .toEqual(expect.arrayContaining(paths.map((path) => `${path} 200`)))
  const before = lines().length

  const second = await context.newPage()
  await second.goto(`${shop}/?app=lighthouse-keeper`)
  await expectView(second, 'Lighthouse Keeper')
  await second.getByRole('link', { name: 'Back to the list' }).click()
  await expectView(second, 'All apps')
  await expect
    .poll(() => lines().slice(before).toSorted(), pollTimeout)
    .toEqual(paths.map((path) => `${path} 304`).toSorted())
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

test('the example, besides the theme, has at most 250 lines of at most 100 columns', () => {
  const lines = readdirSync(examples)
    .filter((name) => name !== 'theme.css')
    .flatMap((name) => readFileSync(`${examples}/${name}`, 'utf8').trimEnd().split('\n'))
  expect(lines.length).toBeLessThanOrEqual(250)
  expect(lines.filter((line) => line.length > 100)).toEqual([])
})

test('make shop serves only the files of the example', async () => {
  const shop = await serveShop('http://localhost:3000')
  const served = await Promise.all(
    [
      '/',
      '/?app=tide-time',
      '/theme.css',
      '/style.css',
      '/shop.js',
      '/index.html',
      '/../shop.ts',
    ].map(async (path) => {
      const { status, headers } = await fetch(shop + path)
      return [path, status, headers.get('content-type'), headers.get('cache-control')]
    }),
  )
  expect(served).toEqual([
    ['/', 200, 'text/html; charset=utf-8', 'no-cache'],
    ['/?app=tide-time', 200, 'text/html; charset=utf-8', 'no-cache'],
    ['/theme.css', 200, 'text/css; charset=utf-8', 'no-cache'],
    ['/style.css', 200, 'text/css; charset=utf-8', 'no-cache'],
    ['/shop.js', 200, 'text/javascript; charset=utf-8', 'no-cache'],
    ['/index.html', 404, null, null],
    ['/../shop.ts', 404, null, null],
  ])
  // Another address of this machine.
  await expect(fetch(shop.replace('localhost', '127.0.0.2'))).rejects.toThrow()
})

test.for<[what: string, env: Record<string, string>, file: string, catalogue: string]>([
  ['no setting', {}, '', 'http://localhost:3000'],
  ['the port of make run', { PORT: '4321' }, '', 'http://localhost:4321'],
  ['the port in .env', {}, 'PORT=4321\n', 'http://localhost:4321'],
  ['both, of which .env loses', { PORT: '4322' }, 'PORT=4321\n', 'http://localhost:4322'],
  ['its address', { BASE_URL: 'http://a.test/x/', PORT: '1' }, '', 'http://a.test/x'],
  ['API_URL', { API_URL: 'http://b.test', PORT: 'none' }, 'PORT=1\n', 'http://b.test'],
])('make shop uses the catalogue of make run with %s', async ([, env, file, catalogue]) => {
  const folder = temporaryFolder()
  if (file !== '') writeFileSync(join(folder, '.env'), file)
  const { stdout } = startShop({ SHOP_PORT: '0', ...env }, folder)
  const [line] = await once(createInterface({ input: stdout }), 'line')
  expect(line).toMatch(/^Serving the shop window on \S+, with the catalogue of /)
  expect(line.split(' ').at(-1)).toBe(catalogue)
})

test('make shop says what is wrong with the port of make run', async () => {
  const child = startShop({ PORT: 'none' })
  const printed = text(child.stderr)
  expect(await once(child, 'exit')).toEqual([1, null])
  expect(await printed).toMatch(/^bad environment: PORT must be a whole number .*\n$/)
})

test('without JavaScript, a line says what is missing, and nothing seems to load', async () => {
  const { page, shop } = await start({ javaScriptEnabled: false })
  await page.goto(shop)
  expect(await page.locator('body').innerText()).toBe(
    'Shop window\n\nThis page needs JavaScript to show the catalogue.',
  )
  await saveScreenshot(page, 'shop-window-without-script')
})

test.for([
  ['in use', /^Port \d+ is in use\. Choose another: SHOP_PORT=8081 make shop\n$/],
  ['no port', /^SHOP_PORT must be a number from 0 to 65535, not "eighty"\.\n$/],
])('make shop says what to do if SHOP_PORT is %s', async ([reason, message]) => {
  const taken = new URL(await serveShop('http://localhost:3000')).port
  const child = startShop({ SHOP_PORT: reason === 'in use' ? taken : 'eighty' })
  const printed = text(child.stderr)
  const [code] = await once(child, 'exit')
  expect([code, await printed]).toEqual([1, expect.stringMatching(message as RegExp)])
})
