import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { documentedUrl } from '../../src/http/reference-routes.ts'
import { pollTimeout } from './browser.ts'
import {
  expectFields,
  expectShown,
  fieldsOf,
  type Media,
  type Operation,
  openOperation,
  operations,
  shareDocs,
} from './reference-page.ts'

/** Compares what a reader of /docs sees of each operation with the document. */

const isPublic = ({ security = [] }: Operation) =>
  security.some((one) => Object.keys(one).length === 0)

const docs = shareDocs(1440, '/v1')

test.for(operations)('shows all of $operationId', async (operation) => {
  const { page, baseUrl } = docs()
  const section = await openOperation(page, operation)

  // A key is shown only if the operation needs one.
  expect(await section.getByText('Security', { exact: true }).count()).toBe(
    isPublic(operation) ? 0 : 1,
  )
  const { parameters, requestBody } = operation
  await expectFields(section, parameters)
  for (const { label, source: written } of operation['x-codeSamples']) {
    const source = written.replaceAll(documentedUrl, baseUrl)
    await choose(page, section.locator('.panel-request-samples').getByRole('button').nth(1), label)
    const code = section.locator('.panel-request-samples code')
    await expect.poll(async () => (await code.innerText()).trim(), pollTimeout).toBe(source.trim())
    await section.locator('.panel-request-samples').getByRole('button', { name: 'Copy' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(source.trim())
  }
  if (requestBody?.content) {
    const media = requestBody.content['application/json']
    await expectShown(section, [requestBody.description])
    await expectFields(section, fieldsOf(media.schema))
    await choose(
      page,
      section.locator('.panel-request-samples').getByRole('button').nth(1),
      'Payload',
    )
    await expectExamples(page, section.locator('.panel-request-samples'), media)
  }

  for (const [status, response] of Object.entries(operation.responses)) {
    await section.getByRole('tab', { name: status, exact: true }).click()
    const headers = Object.entries(response.headers).map(([name, header]) => ({ ...header, name }))
    await expectShown(section, [response.description])
    await expectFields(section, headers)
    if (!response.content) continue
    const media = response.content['application/json']
    await expectFields(section, fieldsOf(media.schema))
    await expectExamples(page, section.locator('.panel-response-samples'), media)
  }
})

/**
 * Chooses an entry of a button's menu. The menu opens below the button, even below the edge of the
 * window, where nothing can be clicked; and both move while Redoc renders the rest of the page. So
 * each attempt scrolls first.
 */
async function choose(page: Page, button: Locator, name: string) {
  const item = page.getByRole('menuitem', { name, exact: true })
  const attempt = async () => {
    await button.evaluate((element) => element.scrollIntoView({ block: 'center' }))
    if (!(await item.isVisible())) await button.click({ timeout: 5000 })
    await item.click({ timeout: 5000 })
    return true
  }
  await expect.poll(attempt, { timeout: 60_000 }).toBe(true)
}

async function expectExamples(page: Page, panel: Locator, { example, examples }: Media) {
  if (!examples) return expectShown(panel, [JSON.stringify(example, null, 2)])
  const all = Object.values(examples)
  for (const { summary, value } of all) {
    if (all.length > 1) await choose(page, panel.getByRole('button', { name: 'Example' }), summary)
    await expectShown(panel, [JSON.stringify(value, null, 2)])
  }
}
