import { describe, expect, test } from 'vitest'
import { selfContained } from '../../scripts/docs-page.ts'
import { documentedUrl, operationsPlaceholder } from '../../src/http/reference-routes.ts'

/** The parts of Redoc's page that change, by their names in the error message. */
const parts = {
  head: '<head>',
  server: '<div class="a">/</div>',
  'right panel': '<p>drawn</p></div><div data-testid="right-panel">',
  'links of the drawing': '<a href="/section/paging">Paging</a>',
  'sections of the drawing': '<div data-section-id="/section/paging"><h2>Paging</h2></div>',
  'reuse of the drawing': 'if(r.childElementCount===0){(0,E.createRoot)(r).render(l);return}',
  'closed groups': '({expanded:`expanded`in e?e.expanded:void 0})',
  'groups left out': '({shouldRenderOps:e.sectionId===s})',
  'operations left out': 'e.content===null||t&&!t(e.gatePath,n)?null:e.content',
  'search for the introduction': 'switch(c){case n.OVERVIEW:this.#l(e,this.#t,t);break}',
  'search without an index': '(e=>i?i.search(e):Promise.resolve([]),[i])',
  document: 'const __redoc_definition = {"servers":[{"url":"/"}]};\n',
  logo: '`https://cdn.redoc.ly/redoc/logo-mini-full.svg`:`https://cdn.redoc.ly/redoc/logo-mini.svg`',
}
const pageOf = (given: object) => Object.values(given).join('\n')

test('the page loads nothing from other servers, renders all operations, and has a place for the document', () => {
  const page = selfContained(pageOf(parts))
  expect(page).not.toMatch(/cdn\.redoc|"servers"/)
  expect(page).toContain('({expanded:`always`})')
  expect(page).toContain('({shouldRenderOps:!0||e.sectionId===s})')
  expect(page).toContain('e.content===null?null:e.content')
})

test('the drawing has links that work, the server and a place for the operations, until Redoc replaces it', () => {
  const page = selfContained(pageOf(parts))
  expect(page).toContain('<a href="#/section/paging">Paging</a>')
  expect(page).toContain('<div id="/section/paging"><h2>')
  expect(page).toContain(`<div class="a">${documentedUrl}</div>`)
  expect(page).toMatch(
    /<p>drawn<\/p><noscript>.*<\/noscript>\n*<\/div><div data-testid="right-panel">/s,
  )
  expect(page).toContain(operationsPlaceholder)
  expect(page).toContain('if(!0){(0,E.createRoot)(r).render(l);return}')
})

test('the search finds the sections of the introduction, and waits for its index', () => {
  const page = selfContained(pageOf(parts))
  expect(page).toContain(
    'case n.OVERVIEW:for(let section of introductionSections(e))this.#l(section,section.link,t);break}',
  )
  expect(page).toContain('(e=>i?i.search(e):new Promise(()=>{}),[i])')
})

describe('refuses a changed page of Redoc', () => {
  test.for(Object.keys(parts))('without the %s', (name) => {
    expect(() => selfContained(pageOf({ ...parts, [name]: '' }))).toThrow(
      `Cannot find the ${name} in`,
    )
  })
})
