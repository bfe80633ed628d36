import { describe, expect, test } from 'vitest'
import { selfContained } from '../../scripts/docs-page.ts'

/** What of Redoc's page is looked for, by what it is called. */
const parts = {
  head: '<head>',
  drawing: '<div id="redoc">drawn</div> <script type="module">',
  'closed groups': '({expanded:`expanded`in e?e.expanded:void 0})',
  'label in the menu': '({label:t,link:l,httpVerb:`httpVerb`in o?o.httpVerb:void 0})',
  'groups left out': '({shouldRenderOps:e.sectionId===s})',
  'operations left out': 'e.content===null||t&&!t(e.gatePath,n)?null:e.content',
  'end of the library': 'export{a,hydrate,b};',
  document: 'const __redoc_definition = {"servers":[{"url":"/"}]};\n',
  logo: '`https://cdn.redoc.ly/redoc/logo-mini-full.svg`',
  'small logo': '`https://cdn.redoc.ly/redoc/logo-mini.svg`',
}
const pageOf = (given: object) => Object.values(given).join('\n')

test('the page loads nothing of others, draws itself and all of it, and has no document yet', () => {
  const page = selfContained(pageOf(parts))
  expect(page).not.toMatch(/cdn\.redoc|drawn|"servers"/)
  expect(page).toContain('({expanded:`always`})')
  expect(page).toContain('label:o.httpPath?t+"\\n"+o.httpPath:t,link:l')
  expect(page).toContain('({shouldRenderOps:!0||e.sectionId===s})')
  expect(page).toContain('e.content===null?null:e.content')
})

describe('a page of another Redoc is refused', () => {
  test.for(Object.keys(parts))('without its %s', (name) => {
    // The library ends where the document begins.
    const without = name === 'document' ? 'const __redoc_definition = none' : ''
    expect(() => selfContained(pageOf({ ...parts, [name]: without }))).toThrow(`has no ${name} where`)
  })
})
