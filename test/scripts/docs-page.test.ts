import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { patchPage } from '../../scripts/docs-page.ts'
import { documentPlaceholder, operationsPlaceholder } from '../../src/http/reference-routes.ts'

/** What each patch finds in Redoc's page, and makes of it. */
const parts: [patch: string, found: string, made: string][] = [
  [
    'document',
    'const __redoc_definition = {"servers":[{"url":"/"}]};\n',
    `const __redoc_definition = ${documentPlaceholder};\n`,
  ],
  ['logo', 'src:`https://cdn.redoc.ly/redoc/logo-mini.svg`', 'src:`data:image/svg+xml,'],
  [
    'groups',
    '{contentType:$h.GROUP,meta:{name:t,breadcrumbs:l}}',
    '{contentType:$h.ITEM,meta:{name:t,breadcrumbs:l}}',
  ],
  ['menu', '({expanded:`expanded`in e?e.expanded:void 0})', '({expanded:`always`})'],
]
const page = parts.map(([, found]) => found).join('\n')

test.for(parts)('patches the %s', ([, , made]) => {
  expect(patchPage(page)).toContain(made)
})

test('patches each logo, so that the page loads nothing from other servers', () => {
  expect(page).toContain('https://cdn')
  expect(patchPage(`${page}\n${page}`)).not.toContain('https://cdn')
})

describe('refuses a page of Redoc that a patch does not fit, and says what to do', () => {
  test.for(parts)('%s', ([patch, found]) => {
    const changed = page.replace(found, '')
    expect(() => patchPage(changed)).toThrow(
      new RegExp(
        `^Cannot apply the patch "${patch}" .* made for @redocly/cli .*\\n` +
          'Look for .* Adapt /.* in scripts/docs-page.ts.\\nOr remove the patch .* Then .*\\.$',
      ),
    )
  })

  test('all at once', () => {
    expect(() => patchPage('')).toThrow(
      new RegExp(parts.map(([patch]) => `"${patch}"[^]*`).join('')),
    )
  })
})

test('the patches are made for the Redocly that is installed', () => {
  const { devDependencies } = JSON.parse(
    readFileSync(`${import.meta.dirname}/../../package.json`, 'utf8'),
  )
  expect(() => patchPage('')).toThrow(`@redocly/cli ${devDependencies['@redocly/cli']} `)
})

test('the template has the place of the operations once', () => {
  const template = readFileSync(`${import.meta.dirname}/../../scripts/docs-page.hbs`, 'utf8')
  expect(template.split(operationsPlaceholder)).toHaveLength(2)
})
