// Functions passed to evaluate run in the page.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import { copyFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import { insertApp } from '../../src/catalogue/app-store.ts'
import { addCategory } from '../../src/catalogue/category-store.ts'
import { openDatabase } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { moderationStore } from '../../src/moderation/moderation-store.ts'
import { emptyCatalogueUrl, filePath } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { share } from '../support/lifetime.ts'
import { commandLine, startListening } from '../support/process.ts'
import { addReviews } from '../support/reviews.ts'
import { findViolations, openWindow, saveScreenshot } from './browser.ts'

/**
 * Days of moderators in Chromium, with the keyboard alone. SCREENSHOTS names a directory for
 * pictures of the pages.
 */

const actor = { operator: 'test' }
const at = '2026-01-01T00:00:00.000Z'

const popular = [
  ...['Tide Tables', 'Night Train', 'Pocket Garden', 'Bird Song', 'Star Atlas', 'Cloud Diary'],
  ...['Word Forge', 'Paper Boats', 'Habit Pebbles', 'Quiet Hours', 'Metro Maps', 'Bread Timer'],
  ...['Chess Corner', 'River Radio', 'Photo Cellar', 'Trail Mix', 'Coin Jar', 'Moon Phase'],
  ...['Recipe Shelf', 'Wind Compass'],
]
/** With letters that look the same, a letter less, one more, or two swapped. */
const imitated = (name: string, index: number): string =>
  [
    name.replace(/[oO](?!.*[oO])|i(?!.*i)/, (letter) => ({ o: '0', O: '0', i: 'і' })[letter] ?? ''),
    name.slice(0, -1),
    `${name}s`,
    name.replace(/(.)(.)$/, '$2$1'),
  ][index % 4] ?? ''
const adjectives = ['Amber', 'Brave', 'Calm', 'Dusty', 'Eager', 'Fancy', 'Gentle', 'Happy', 'Icy']
adjectives.push('Jolly', 'Keen', 'Lucky', 'Merry', 'Noble')
const nouns = [
  'Anchor',
  'Basket',
  'Candle',
  'Donkey',
  'Engine',
  'Fiddle',
  'Goose',
  'Hammer',
  'Island',
]
nouns.push(
  'Jacket',
  'Kettle',
  'Ladder',
  'Mirror',
  'Needle',
  'Orchard',
  'Pillow',
  'Quarry',
  'Rocket',
)
nouns.push('Saddle', 'Teapot')
const honest = adjectives.flatMap((adjective) => nouns.map((noun) => `${adjective} ${noun} Notes`))

/** 20 popular apps, and 300 pending ones, of which every fifteenth imitates one of them. */
async function fill(runner: QueryRunner) {
  const category = await addCategory(runner, 'tools', 'Tools', actor)
  const add = async (developer: string, name: string, waitsSince: number, downloads = 0) => {
    const { id } = await findOrAddDeveloper(runner, developer)
    const created_at = new Date(Date.parse(at) + waitsSince * 60_000).toISOString()
    return insertApp(
      runner,
      {
        developer_id: id,
        category_id: category.id,
        name,
        description: `${name} does one thing.\n\nIt does it well, without an account.`,
        short_description: `${name} for every day`,
        package_name: null,
        version: '1.0.0',
        status: 'pending',
        rejection_reason: null,
        total_downloads: downloads,
        created_at,
        updated_at: created_at,
        approved_at: null,
      },
      actor,
    )
  }
  for (const name of popular) {
    const { id } = await add('Harbour Software', name, 0, 1_000_000)
    await moderationStore(runner).decide('approve', id, actor)
    await addReviews(
      runner,
      ['Fine.', 'Buy cheap watches at https://watches.example!'].map((comment, index) => ({
        app_id: id,
        reviewer_name: `Reviewer ${index}`,
        rating: 4,
        comment,
        created_at: at,
      })),
    )
  }
  for (const [index, name] of honest.entries()) {
    if (index % 14 === 7) {
      const number = Math.floor(index / 14)
      await add('Copy Cat', imitated(popular[number] ?? '', number), index + 1)
    }
    await add(`Studio ${index % 9}`, name, index + 1)
  }
}

/** The file of a database with these apps, of which each test has a copy. */
let filled: string

share(async () => {
  const address = await emptyCatalogueUrl()
  const database = openDatabase(address)
  await database.write(fill)
  await database.close()
  filled = filePath(address)
})

/** The page as a process, and the keys of two moderators. */
async function startDay() {
  const databaseUrl = await emptyCatalogueUrl()
  copyFileSync(filled, filePath(databaseUrl))
  const port = await freePort()
  const baseUrl = `http://localhost:${port}/moderation`
  await startListening('moderation serve', {
    DATABASE_URL: databaseUrl,
    MODERATION_PORT: String(port),
    MODERATION_URL: baseUrl,
  })
  const cli = commandLine(databaseUrl)
  const keyOf = async (name: string): Promise<string> =>
    (await cli.json('moderator', 'add', name)).key
  return { cli, databaseUrl, baseUrl, keyOf }
}

const wide = { width: 1280, height: 900 }
const narrow = { width: 390, height: 844 }

/** Opens a window in which nothing may be logged, hints of the browser included. */
async function openQuietWindow(expected = /^$/) {
  const { page } = await openWindow(wide, { expected })
  const messages: string[] = []
  page.on('console', (message) => messages.push(message.text()))
  onTestFinished(() => {
    expect(messages.filter((message) => !expected.test(message))).toEqual([])
  })
  return page
}

/** Presses Tab, or Shift+Tab to begin at the end, until the element has the focus and can be seen. */
async function tabTo(page: Page, target: Locator, key = 'Tab') {
  const element = await target.elementHandle()
  for (let presses = 0; presses < 400; presses++) {
    const state = await element?.evaluate((one) => {
      if (one !== document.activeElement) return 'elsewhere'
      const { left, top, width, height } = one.getBoundingClientRect()
      const seen = document.elementFromPoint(left + width / 2, top + height / 2)
      return one.contains(seen) || seen?.contains(one) ? 'seen' : `behind ${seen?.outerHTML}`
    })
    if (state !== 'elsewhere') return expect(state).toBe('seen')
    await page.keyboard.press(key)
  }
  expect.fail(`Tab does not reach ${target}`)
}

/** Follows a link or presses a button with the keyboard. */
async function activate(page: Page, target: Locator, key?: string) {
  await tabTo(page, target, key)
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
}

async function signIn(page: Page, baseUrl: string, key: string) {
  await page.goto(`${baseUrl}/`)
  // The field gets the focus by itself.
  await page.locator('[type=password]:focus').waitFor()
  await page.keyboard.type(key)
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
  expect(await headingOf(page)).toBe('Pending apps')
}

const headingOf = (page: Page) => page.getByRole('heading', { level: 1 }).innerText()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const reasonField = (page: Page) => page.getByLabel('Reason', { exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

/** Both widths and both colour schemes. Colours do not depend on the width. */
const looks = [
  { view: 'wide', viewport: wide, colorScheme: 'light' },
  { view: 'narrow', viewport: narrow, colorScheme: 'dark' },
] as const

/** Words of up to 20 letters, digits and _ that are on more than one line. Addresses may be. */
const findBrokenWords = (page: Page) =>
  page.getByRole('main').evaluate((main) => {
    const broken: string[] = []
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (text.parentElement?.closest('.hidden, option, .address')) continue
      for (const { 0: word, index } of String(text.nodeValue).matchAll(/(?<!\w)\w{1,20}(?!\w)/g)) {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + word.length)
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
        if (lines.size > 1) broken.push(word)
      }
    }
    return broken
  })

/**
 * Looks at a page: axe finds nothing, no word is broken, nothing is wider than the window, and
 * neither tabs nor look-alikes are cut.
 */
async function inspect(page: Page, name: string) {
  for (const { view, viewport, colorScheme } of looks) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    expect({ name, view, found: await findViolations(page) }).toEqual({ name, view, found: [] })
    const widest = await page.evaluate(() => document.documentElement.scrollWidth)
    expect([name, view, widest]).toEqual([name, view, viewport.width])
    const cut = await page
      .locator('header nav, .scroll')
      .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length)
    expect([name, view, cut]).toEqual([name, view, 0])
    expect([name, view, await findBrokenWords(page)]).toEqual([name, view, []])
    await saveScreenshot(page, `moderation-${name}-${view}-${colorScheme}`)
  }
  await page.setViewportSize(wide)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** The first line of the page, which says what was decided before. */
const reportOf = (page: Page) => page.getByRole('status').innerText()

test('a day: 280 apps are approved, and 20 look-alikes rejected', async () => {
  const { cli, baseUrl, keyOf } = await startDay()
  const page = await openQuietWindow()
  await signIn(page, baseUrl, await keyOf('Ada Lovelace'))
  await inspect(page, 'queue')
  expect(await link(page, 'Pending 300').getAttribute('aria-current')).toBe('page')

  // Selects all of a page, which leaves the look-alikes out.
  const impostors = page.locator('.queue li:has(.warning)')
  const seen = new Set<string>()
  for (let pages = 0; (await page.locator('.queue li:not(:has(.warning))').count()) > 0; pages++) {
    expect(pages).toBeLessThan(12)
    await activate(page, page.getByRole('link', { name: /^Select all/ }))
    for (const impostor of await impostors.all()) {
      seen.add(await impostor.getByRole('heading').innerText())
      expect(await impostor.innerText()).toMatch(/Looks like .*, 1,000,000 downloads/)
      expect(await impostor.getByRole('checkbox').isChecked()).toBe(false)
    }
    const selected = await page.locator('.queue :checked').count()
    if (pages === 0) await inspect(page, 'selected')
    // Through the whole page once; then the short way.
    await activate(page, button(page, 'Approve'), pages === 0 ? 'Tab' : 'Shift+Tab')
    expect(await reportOf(page)).toMatch(/^Approved .* \d+ waits?\.$/)
    expect(selected).toBeGreaterThan(0)
    if (pages === 0) await inspect(page, 'report')
  }
  expect([...seen].toSorted()).toEqual(popular.map(imitated).toSorted())
  expect(await impostors.count()).toBe(20)
  await inspect(page, 'look-alikes')

  // Five on their own pages, one after the other, and the others together.
  await activate(page, impostors.first().getByRole('heading').getByRole('link'))
  for (const number of [1, 2, 3, 4, 5]) {
    if (number === 2) await inspect(page, 'app')
    await tabTo(page, reasonField(page))
    await page.keyboard.type(`It imitates another app, number ${number}.`)
    await activate(page, button(page, 'Reject'))
    expect(await reportOf(page)).toMatch(new RegExp(`^Rejected .* ${20 - number} wait\\.$`))
  }
  await activate(page, link(page, 'Pending 15'))
  for (const box of await impostors.getByRole('checkbox').all()) {
    await tabTo(page, box)
    await page.keyboard.press('Space')
  }
  await tabTo(page, reasonField(page))
  await page.keyboard.type('They imitate other apps.')
  await activate(page, button(page, 'Reject'))
  expect(await reportOf(page)).toMatch(/^Rejected (?:[^,]+, ){14}[^,]+\. 0 wait\.$/)
  expect(await page.getByText('Nothing waits here.').count()).toBe(1)
  await inspect(page, 'empty')
  await activate(page, link(page, 'Audit'))
  await inspect(page, 'audit')
  const entries: { action: string; operator_name: string }[] = await cli.json(
    ...['audit', '--limit', '1000'],
  )
  const byAda = entries.filter(({ operator_name }) => operator_name === 'Ada Lovelace')
  expect(byAda.filter(({ action }) => action === 'app approve')).toHaveLength(280)
  expect(byAda.filter(({ action }) => action === 'app reject')).toHaveLength(20)
})

test('sixty apps one by one are sixty presses, and a wrong decision is reversed in two', async () => {
  const { cli, baseUrl, keyOf } = await startDay()
  const page = await openQuietWindow()
  await signIn(page, baseUrl, await keyOf('Ada Lovelace'))
  await activate(page, page.locator('.queue h2').first().getByRole('link'))
  const decided = new Set<string>()
  for (let presses = 1; presses <= 60; presses++) {
    decided.add(await headingOf(page))
    await Promise.all([page.waitForEvent('load'), button(page, 'Approve').click()])
    expect(await reportOf(page)).toMatch(new RegExp(`^Approved .*\\. ${300 - presses} wait\\.$`))
  }
  expect(decided.size).toBe(60)
  const apps: { name: string }[] = (
    await cli.json('app', 'list', '--status', 'approved', '--limit', '100')
  ).apps
  expect(apps.map(({ name }) => name)).toEqual(expect.arrayContaining([...decided]))

  const here = await headingOf(page)
  const [last = ''] = [...decided].slice(-1)
  await activate(page, page.getByRole('status').getByRole('link'))
  expect(await headingOf(page)).toBe(last)
  await tabTo(page, reasonField(page))
  await page.keyboard.type('A mistake.')
  await activate(page, button(page, 'Take down'))
  expect([await headingOf(page), await reportOf(page)]).toEqual([
    here,
    `Rejected ${last}. 240 wait.`,
  ])
})

test('mistakes keep what was typed, and an expired session goes on', async () => {
  const { databaseUrl, baseUrl, keyOf } = await startDay()
  const page = await openQuietWindow(/status of 40[01]/)
  const key = await keyOf('Ada Lovelace')
  await signIn(page, baseUrl, key)
  await activate(page, button(page, 'Approve'))
  expect(await page.getByRole('alert').innerText()).toBe('Select at least one app.')
  await inspect(page, 'error')
  await tabTo(page, page.getByRole('checkbox', { name: /^Select/ }).first())
  await page.keyboard.press('Space')
  const name = await page.locator('.queue h2').first().innerText()
  await tabTo(page, reasonField(page))
  await page.keyboard.type('It crashes.')
  const database = openDatabase(databaseUrl)
  await database.write(({ sql }) => sql('operator_sessions').delete())
  await database.close()
  await activate(page, button(page, 'Reject'))
  expect(await headingOf(page)).toBe('Sign in to go on')
  await inspect(page, 'expired')
  await page.locator('[type=password]').focus()
  await page.keyboard.type(key)
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
  expect(await reportOf(page)).toBe(`Rejected ${name}. 299 wait.`)
})

test('an app that does not wait is found, and taken down', async () => {
  const { baseUrl, keyOf } = await startDay()
  const page = await openQuietWindow()
  await signIn(page, baseUrl, await keyOf('Ada Lovelace'))
  await activate(page, link(page, 'Apps'))
  // The field gets the focus by itself.
  await page.locator('[type=search]:focus').waitFor()
  await page.keyboard.type('night tr')
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
  await inspect(page, 'apps')
  await activate(page, link(page, 'Night Train'))
  await tabTo(page, reasonField(page))
  await page.keyboard.type('It steals passwords.')
  await activate(page, button(page, 'Take down'))
  expect([await headingOf(page), await reportOf(page)]).toEqual([
    'Night Train',
    'Rejected Night Train.',
  ])
  await activate(page, button(page, 'Approve'))
  expect(await reportOf(page)).toBe('Approved Night Train.')
})

test('two moderators on one app: the second sees who was faster, and why', async () => {
  const { baseUrl, keyOf } = await startDay()
  // Chromium logs the status of a page.
  const ada = await openQuietWindow(/status of 409/)
  const bo = await openQuietWindow()
  await signIn(ada, baseUrl, await keyOf('Ada Lovelace'))
  await signIn(bo, baseUrl, await keyOf('Bo Diddley'))
  for (const page of [ada, bo]) await activate(page, link(page, 'Amber Anchor Notes'))
  await tabTo(bo, reasonField(bo))
  await bo.keyboard.type('It sends an anchor.')
  await activate(bo, button(bo, 'Reject'))
  await activate(ada, button(ada, 'Approve'))
  expect(await headingOf(ada)).toBe('Amber Anchor Notes')
  const alert = await ada.getByRole('alert').innerText()
  expect(alert).toMatch(/Nothing was decided: Bo Diddley \(signed in\) rejected it/)
  const news = ada.locator('section', { hasText: 'Changed since you looked' })
  expect(await news.innerText()).toMatch(
    /Rejected by Bo Diddley \(signed in\), [\s\S]*It sends an anchor\./,
  )
  await inspect(ada, 'conflict')
})

test('a review is removed with the keyboard, and the form to sign in has one field', async () => {
  const { baseUrl, keyOf } = await startDay()
  const page = await openQuietWindow()
  await signIn(page, baseUrl, await keyOf('Ada Lovelace'))
  await page.goto(`${baseUrl}/apps/1`)
  await inspect(page, 'listed')
  const reviews = page.locator('.reviews > li')
  expect(await reviews.count()).toBe(2)
  const advert = reviews.filter({ hasText: 'cheap watches' })
  await tabTo(page, advert.locator('summary'))
  await page.keyboard.press('Enter')
  await tabTo(page, advert.getByRole('textbox'))
  await page.keyboard.type('An advert.')
  await activate(page, advert.getByRole('button'))
  expect(await reportOf(page)).toMatch(/^Removed a review of /)
  expect(await reviews.count()).toBe(1)
  expect(await reviews.getByText('cheap watches').count()).toBe(0)
  await activate(page, button(page, 'Sign out'))
  expect(await headingOf(page)).toBe('Sign in')
  expect(await page.locator('input:visible').count()).toBe(1)
  await inspect(page, 'sign-in')
})

test('long words and other scripts do not widen a page', async () => {
  const { databaseUrl, baseUrl, keyOf } = await startDay()
  const long = `${'W'.repeat(200)} שלום עולם مرحبا ${'宽'.repeat(80)} 👩‍👩‍👧‍👦`
  const database = openDatabase(databaseUrl)
  await database.write(async ({ sql }) => {
    const address = (begin: string) =>
      `https://${begin}${'w'.repeat(200)}.שלום.example/${'"'.repeat(270)}`
    const addresses = (begin: string) => ({
      website_url: address(begin),
      source_code_url: address(begin),
      license: 'W'.repeat(100),
    })
    const texts = {
      ...{ name: long, short_description: long, description: long, version: long },
      ...addresses('b'),
    }
    const former = { name: `${long} 0`, version: '1', description: `${long} 0`, ...addresses('a') }
    await sql('apps')
      .whereIn('id', [1, 21])
      .update({ ...texts, unreviewed_since: at, unreviewed_changes: JSON.stringify(former) })
    await sql('apps').where({ id: 2 }).update({ name: long })
    await sql('developers').where({ id: 1 }).update({ name: long })
    await sql('reviews').update({ comment: long, reviewer_name: long })
    await sql('categories').update({ name: long })
    const entry = { at, app_id: 1, developer_id: 1, operator: long, operator_name: long }
    const [before, after] = [JSON.stringify(former), JSON.stringify(texts)]
    await sql('audit').insert({ ...entry, action: 'app import', before, after })
  })
  await database.close()
  const page = await openQuietWindow()
  await signIn(page, baseUrl, await keyOf('N'.repeat(100)))
  const pages = { long: '', 'long-changed': '?queue=changed', 'long-app': 'apps/1' }
  for (const [name, path] of Object.entries({ ...pages, 'long-audit': 'audit' })) {
    await page.goto(`${baseUrl}/${path}`)
    await inspect(page, name)
  }
})
