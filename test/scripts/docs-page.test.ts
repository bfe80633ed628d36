import { describe, expect, test } from 'vitest'
import { selfContained } from '../../scripts/docs-page.ts'

/** What of Redoc's page is looked for, by what it is called. */
const parts = {
  head: '<head>',
  drawing: '<div id="redoc">drawn</div> <script type="module">',
  'server "/"': '{"servers":[{"url":"/","description":"This server"}]}',
  logo: '`https://cdn.redoc.ly/redoc/logo-mini-full.svg`',
  'small logo': '`https://cdn.redoc.ly/redoc/logo-mini.svg`',
}
const pageOf = (given: object) => Object.values(given).join('\n')

test('the page loads nothing, draws itself, and names the server that the introduction names', () => {
  const page = selfContained(pageOf(parts))
  expect(page).not.toMatch(/cdn\.redoc|drawn/)
  expect(page).toContain('"servers":[{"url":"http://localhost:3000","description":"This server"}]')
})

describe('a page of another Redoc is refused', () => {
  test.for(Object.keys(parts))('without its %s', (name) => {
    const others = Object.entries(parts).filter(([other]) => other !== name)
    expect(() => selfContained(pageOf(Object.fromEntries(others)))).toThrow(`has no ${name} where`)
  })
})
