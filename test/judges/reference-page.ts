// Functions passed to evaluate and addInitScript run in the page.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import { type Document, OpenAPIBackend } from 'openapi-backend'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { copyWorld } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { share, whenFinished } from '../support/lifetime.ts'
import { serve } from '../support/process.ts'
import { expectInView, openWindow, pollTimeout } from './browser.ts'

/** What tests open and look at: /docs and the home page. */

type Schema = {
  description?: string
  enum?: unknown[]
  properties?: Record<string, Schema>
  items?: Schema
}
export type Media = {
  schema: Schema
  example?: unknown
  examples?: Record<string, { summary: string; value: unknown }>
}
export type Content = { description: string; content?: { 'application/json': Media } }
export type Operation = {
  operationId: string
  method: string
  path: string
  tags: [string]
  summary: string
  description: string
  parameters: { name: string; description: string }[]
  security?: object[]
  requestBody?: Content
  responses: Record<string, Content & { headers: Record<string, { description: string }> }>
  'x-codeSamples': { label: string; source: string }[]
}

// openapi-backend resolves references, which its types do not reflect.
const definition = structuredClone(document) as Document
const api = await new OpenAPIBackend({ definition, quick: true, validate: false }).init()
export const operations = api.getOperations() as unknown as Operation[]

/** By default tall enough for any operation. */
async function openDocs(width: number, prefix: string, height = 8000) {
  const opened = await openPage('/docs', [/\/docs$/], { width, height }, prefix)
  // Redoc has started: the drawing in the file has only the introduction.
  await opened.page.locator('[data-section-id="/the-app/app"]').waitFor({ state: 'attached' })
  return opened
}

/**
 * Opens /docs once for all tests of a file or group, because Redoc takes seconds to render it.
 * Tests may scroll, follow links and search; they must undo anything else.
 */
export function shareDocs(...options: Parameters<typeof openDocs>) {
  let opened: Awaited<ReturnType<typeof openDocs>>
  share(async () => {
    opened = await openDocs(...options)
  })
  return () => opened
}

/**
 * Opens a page in a new window. After the test or what shares it, it must have loaded only these
 * URLs, must not be wider than the window, and must have logged no error.
 */
export async function openPage(
  path: string,
  urls: RegExp[],
  viewport: { width: number; height: number },
  prefix: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; baseUrl: string }> {
  const port = await freePort()
  const baseUrl = `http://localhost:${port}${prefix}`
  await serve(await copyWorld(), { PORT: String(port), BASE_URL: baseUrl })
  const { context, page, requests } = await openWindow(viewport, options)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  whenFinished(() => {
    const expected = urls.map((url) => expect.stringMatching(url))
    expect(requests.slice(0, urls.length)).toEqual(expected)
    // The page itself may be loaded again.
    for (const url of requests) {
      expect(url.startsWith(baseUrl)).toBe(true)
      expect(expected).toContainEqual(url)
    }
  })
  await page.goto(`${baseUrl}${path}`)
  return { page, baseUrl }
}

/** The nearest element with an id around the last heading of this name. */
export const sectionOf = (page: Page, heading: string) =>
  page
    .getByRole('main')
    .getByRole('heading', { name: heading })
    .last()
    .locator('xpath=ancestor::*[@id][1]')

/** Opens the menu, which is already open on wide screens. */
export async function openMenu(page: Page) {
  const opener = page.getByRole('button', { name: 'Open navigation menu' })
  if (await opener.isVisible()) await opener.click()
}

export async function followMenu(page: Page, name: string) {
  await openMenu(page)
  await page.getByRole('listitem').getByRole('link', { name }).first().click()
}

/** Follows the menu to an operation, whose section shows what it is. */
export async function openOperation(
  page: Page,
  { summary, description, method, path }: Operation,
): Promise<Locator> {
  await followMenu(page, summary)
  const section = sectionOf(page, summary)
  await expectInView(section.getByRole('heading', { name: summary }))
  await expectShown(section, [summary, description, `${method.toUpperCase()} ${path}`])
  // By its id it is found at once; by its heading, the browser would go through the whole page.
  return page.locator(`[id="${await section.getAttribute('id')}"]`)
}

/** A text without white space and Markdown syntax, for comparison with the page. */
const plain = (text: string) =>
  text.replace(/\[(?<text>[^\]]+)\]\([^)]+\)/g, '$<text>').replace(/[\s\u200B`*]/g, '')

/** The visible texts of Markdown, by line and table cell. */
export const textsOf = (markdown: string) =>
  markdown
    .split('\n')
    .filter((line) => !/^```|^\| --/.test(line))
    .flatMap((line) => line.replace(/^(##+ |- )/, '').split(/^\||\|$|(?<= )\|(?= )/))

export async function expectShown(place: Locator, texts: string[]) {
  await expect
    .poll(async () => {
      const shown = plain(await place.innerText())
      return texts.filter((text) => !shown.includes(plain(text)))
    }, pollTimeout)
    .toEqual([])
}

type Field = { name: string; description?: string; enum?: unknown[] }

/** The page shows each field with its whole path on one line. */
export async function expectFields(place: Locator, fields: Field[]) {
  await expect
    .poll(async () => {
      const lines = new Set((await place.innerText()).split('\n').map(plain))
      return fields.map(({ name }) => name).filter((name) => !lines.has(name))
    }, pollTimeout)
    .toEqual([])
  await expectShown(
    place,
    fields.flatMap((field) =>
      [field.description ?? [], field.enum?.map((value) => JSON.stringify(value)) ?? []].flat(),
    ),
  )
}

export const fieldsOf = (schema: Schema, path = ''): Field[] =>
  Object.entries(schema.properties ?? {}).flatMap(([property, value]) => {
    const name = path + property
    const inner = value.items ? fieldsOf(value.items, `${name}[].`) : fieldsOf(value, `${name}.`)
    return [{ ...value, name }, ...inner]
  })
