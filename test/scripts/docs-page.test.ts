import { describe, expect, test } from 'vitest'
import { selfContained } from '../../scripts/docs-page.ts'

/** The parts of Redoc's page that change, by their names in the error message. */
const parts = {
  head: '<head>',
  drawing: '<div id="redoc">drawn</div> <script type="module">',
  'closed groups': '({expanded:`expanded`in e?e.expanded:void 0})',
  'groups left out': '({shouldRenderOps:e.sectionId===s})',
  'operations left out': 'e.content===null||t&&!t(e.gatePath,n)?null:e.content',
  document: 'const __redoc_definition = {"servers":[{"url":"/"}]};\n',
  logo: '`https://cdn.redoc.ly/redoc/logo-mini-full.svg`:`https://cdn.redoc.ly/redoc/logo-mini.svg`',
}
const pageOf = (given: object) => Object.values(given).join('\n')

test('the page loads nothing from other servers, renders all operations, and has a place for the document', () => {
  const page = selfContained(pageOf(parts))
  expect(page).not.toMatch(/cdn\.redoc|drawn|"servers"/)
  expect(page).toContain('({expanded:`always`})')
  expect(page).toContain('({shouldRenderOps:!0||e.sectionId===s})')
  expect(page).toContain('e.content===null?null:e.content')
})

describe('refuses a changed page of Redoc', () => {
  test.for(Object.keys(parts))('without the %s', (name) => {
    expect(() => selfContained(pageOf({ ...parts, [name]: '' }))).toThrow(
      `Cannot find the ${name} in`,
    )
  })
})
