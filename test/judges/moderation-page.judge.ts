// Functions passed to evaluate run in the page.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import { copyFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import { insertApp } from '../../src/catalogue/app-store.ts'
import { addCategory } from '../../src/catalogue/category-store.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
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

const popular = ['Tide Tables', 'Night Train', 'Pocket Garden', 'Bird Song']
/** With letters that look the same, a letter less, one more, or two swapped. */
const imitations = ['Tide Tab1es', 'Night Trai', 'Pocket Gardens', 'Bird Sogn']
const adjectives = ['Amber', 'Brave', 'Calm', 'Dusty', 'Eager', 'Fancy', 'Gentle', 'Happy']
const nouns = ['Anchor', 'Basket', 'Candle', 'Donkey', 'Engine', 'Fiddle', 'Goose']
const honest = adjectives.flatMap((adjective) => nouns.map((noun) => `${adjective} ${noun} Notes`))

/** Popular apps, and sixty pending ones, of which four imitate them: more than a page of the queue. */
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
    await decideApp(runner, 'approve', id, actor)
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
  for (const [index, name] of honest.entries()) await add(`Studio ${index % 9}`, name, index * 2)
  for (const [index, name] of imitations.entries()) await add('Copy Cat', name, index * 30 + 1)
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
async function typeReason(page: Page, reason: string) {
  await tabTo(page, page.getByLabel('Reason', { exact: true }))
  await page.keyboard.type(reason)
}
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

test('a day with the keyboard: all apps are approved but the look-alikes, which are rejected', async () => {
  const { cli, baseUrl, keyOf } = await startDay()
  const page = await openQuietWindow()
  await signIn(page, baseUrl, await keyOf('Ada Lovelace'))
  await inspect(page, 'queue')
  expect(await link(page, 'Pending 60').getAttribute('aria-current')).toBe('page')

  // Selects all of a page, which leaves the look-alikes out.
  const impostors = page.locator('.queue li:has(.warning)')
  for (const { view, key } of [
    { view: 'selected', key: 'Tab' },
    { view: 'selected-last', key: 'Shift+Tab' },
  ]) {
    await activate(page, page.getByRole('link', { name: /^Select all/ }))
    for (const impostor of await impostors.all())
      expect(await impostor.getByRole('checkbox').isChecked()).toBe(false)
    await inspect(page, view)
    // Through the whole page once; then the short way.
    await activate(page, button(page, 'Approve'), key)
    expect(await reportOf(page)).toContain('Notes')
  }
  await inspect(page, 'report')
  expect(await impostors.count()).toBe(4)

  // One on its own page, and the others together.
  await activate(page, impostors.first().getByRole('heading').getByRole('link'))
  await inspect(page, 'app')
  await typeReason(page, 'It imitates another app.')
  await activate(page, button(page, 'Reject'))
  await activate(page, link(page, 'Pending 3'))
  for (const box of await impostors.getByRole('checkbox').all()) {
    await tabTo(page, box)
    await page.keyboard.press('Space')
  }
  await typeReason(page, 'They imitate other apps.')
  await activate(page, button(page, 'Reject'))
  await inspect(page, 'empty')
  await activate(page, link(page, 'Audit'))
  await inspect(page, 'audit')
  const { apps } = await cli.json('app', 'list', '--status', 'rejected')
  expect(apps.map(({ name }: { name: string }) => name).toSorted()).toEqual(imitations.toSorted())
})

test('mistakes keep what was typed, and an expired session goes on', async () => {
  const { databaseUrl, baseUrl, keyOf } = await startDay()
  // Chromium logs the status of a page.
  const page = await openQuietWindow(/status of 40[01]/)
  const key = await keyOf('Ada Lovelace')
  await signIn(page, baseUrl, key)
  await activate(page, button(page, 'Approve'))
  expect(await page.getByRole('alert').innerText()).not.toBe('')
  await inspect(page, 'error')
  await tabTo(page, page.getByRole('checkbox', { name: /^Select/ }).first())
  await page.keyboard.press('Space')
  const name = await page.locator('.queue h2').first().innerText()
  await typeReason(page, 'It crashes.')
  const database = openDatabase(databaseUrl)
  await database.write(({ sql }) => sql('operator_sessions').delete())
  await database.close()
  await activate(page, button(page, 'Reject'))
  expect(await headingOf(page)).toBe('Sign in to go on')
  await inspect(page, 'expired')
  await page.locator('[type=password]').focus()
  await page.keyboard.type(key)
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
  expect(await reportOf(page)).toContain(name)
})

test('an app is found, one of its reviews removed, and the decision of somebody else seen', async () => {
  const { cli, baseUrl, keyOf } = await startDay()
  const page = await openQuietWindow(/status of 409/)
  await signIn(page, baseUrl, await keyOf('Ada Lovelace'))
  await activate(page, link(page, 'Apps'))
  // The field gets the focus by itself.
  await page.locator('[type=search]:focus').waitFor()
  await page.keyboard.type('night tr')
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
  await inspect(page, 'apps')
  await activate(page, link(page, 'Night Train'))
  await inspect(page, 'listed')

  const reviews = page.locator('.reviews > li')
  const advert = reviews.filter({ hasText: 'cheap watches' })
  await tabTo(page, advert.locator('summary'))
  await page.keyboard.press('Enter')
  await tabTo(page, advert.getByRole('textbox'))
  await page.keyboard.type('An advert.')
  await activate(page, advert.getByRole('button'))
  expect(await reportOf(page)).toBe('Removed a review of Night Train.')
  expect(await reviews.allInnerTexts()).toEqual([expect.stringContaining('Fine.')])

  await cli.run('moderation', 'reject', '2', '--reason', 'It sends an anchor.')
  await typeReason(page, 'It steals passwords.')
  await activate(page, button(page, 'Take down'))
  expect(await page.getByRole('alert').count()).toBe(1)
  expect(await page.getByText('It sends an anchor.').count()).toBeGreaterThan(0)
  await inspect(page, 'conflict')

  await activate(page, button(page, 'Sign out'))
  expect(await headingOf(page)).toBe('Sign in')
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
      .whereIn('id', [1, 5])
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
