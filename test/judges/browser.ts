// Functions passed to evaluate and addInitScript run in the page.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { whenFinished } from '../support/lifetime.ts'
import { launchChromium } from './chromium.ts'

/** Chromium for a test file, and checks of any page. */

/** The timeout for asynchronous changes of the page. */
export const pollTimeout = { timeout: 20_000 }

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
  // After windows that a file shares, which beforeAll opens later.
  return () => browser.close()
})

/** A page without the checks of `openWindow`. */
export const newPage = () => browser.newPage()

export type Window = {
  context: BrowserContext
  page: Page
  /** The URLs that pages of the window have requested. */
  requests: string[]
}

/**
 * Opens an empty page in a new window. After the test or what shares it, it must not be wider than
 * the window, and must have logged no error except the `expected` ones.
 */
export async function openWindow(
  viewport: { width: number; height: number },
  { expected = /^$/, ...options }: BrowserContextOptions & { expected?: RegExp } = {},
): Promise<Window> {
  const context = await browser.newContext({ viewport, ...options })
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`against the policy: ${violatedDirective} ${blockedURI}`)
    })
  })
  const page = await context.newPage()
  page.setDefaultTimeout(pollTimeout.timeout)
  const requests: string[] = []
  const complaints: string[] = []
  context.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests.push(request.url())
  })
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  whenFinished(async () => {
    const widest = await page.evaluate(() => globalThis.document.documentElement.scrollWidth)
    await context.close()
    expect(complaints.filter((complaint) => !expected.test(complaint))).toEqual([])
    expect(widest).toBeLessThanOrEqual(viewport.width)
  })
  return { context, page, requests }
}

export async function expectInView(place: Locator) {
  await expect
    .poll(
      () =>
        place.evaluate((element) => {
          const { top, bottom, height } = element.getBoundingClientRect()
          return height > 0 && top >= 0 && bottom <= innerHeight
        }),
      pollTimeout,
    )
    .toBe(true)
}

/** If SCREENSHOTS names a directory. */
export async function saveScreenshot(page: Page, name: string) {
  const folder = process.env.SCREENSHOTS
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` })
}

type Axe = {
  run: (context: object, options: object) => Promise<{ violations: Violation[] }>
}
type Violation = { id: string; impact: string; nodes: { html: string }[] }
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** axe finds nothing serious in a part of the page. */
export async function expectAccessible(page: Page, part?: object) {
  const findings = await findViolations(page, part)
  expect(findings.filter(({ impact }) => ['serious', 'critical'].includes(impact))).toEqual([])
}

/** What axe finds in a part of the page. */
export async function findViolations(page: Page, part?: object) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const violations = await page.evaluate(async (part) => {
    const { axe } = globalThis as unknown as { axe: Axe }
    // Without details of what it does not report.
    return (await axe.run(part ?? document, { resultTypes: ['violations'] })).violations
  }, part)
  return violations.map(({ id, impact, nodes }) => ({
    id,
    impact,
    elements: nodes.map(({ html }) => html),
  }))
}
