import { readFileSync, writeFileSync } from 'node:fs'
import {
  documentedUrl,
  documentPlaceholder,
  operationsPlaceholder,
} from '../src/http/reference-routes.ts'

/** Makes docs.html, which the server serves, from redoc.html, which Redocly builds. */

const style = `<style>
  /* Lines of box-drawing characters join, and 40 columns fit a phone. */
  #redoc pre:not([class]) { font-size: 12px; line-height: 1.3; }
  /* Enough contrast (WCAG 1.4.3). */
  html:not(.dark) [data-component-name="Markdown/Markdown"] a { color: #0b57d0; }
  html.light #redoc .token.string { color: #2457b0; }
  html.light #redoc { --schema-property-required-label-text-color: #b00808; }
  /* Names in tables are not broken in two. */
  #redoc .md td code { white-space: nowrap; }
  /* On a phone, code and tables do not scroll: a keyboard cannot reach them (WCAG 2.1.1). */
  @media (max-width: 600px) {
    [data-component-name="Markdown/Markdown"] pre { white-space: pre-wrap !important; }
    #redoc .md :is(td, th) { padding: 8px 6px; font-size: 13px; }
    #redoc .md td code { font-size: 11px; }
  }
  /* The button that copies a block keeps its width free. */
  #redoc pre:has(> .copy) { position: relative; padding-right: 72px; }
  .copy { position: absolute; top: 8px; right: 8px; padding: 2px 6px; font-size: 12px; cursor: pointer; }
  @media print {
    .copy { display: none; }
    /* Samples that stay in view would cover fields on paper. */
    #redoc [data-testid="right-panel"] { position: static; }
    #redoc :is(h1, h2, h3) { break-after: avoid; }
    #redoc :is(pre, tr) { break-inside: avoid; }
  }
  /* The button that Redoc adds beside the title moves nothing. */
  #redoc div:has(> h1) + div:empty { width: 92px; }
  /* Hides the choice of a body's example above code samples, which it does not change. */
  .panel-request-samples:has(code[data-language]) div:has(> div > [aria-label="Example"]) { display: none; }
</style>`

/** Without JavaScript, buttons do nothing. */
const styleWithoutScript = `<noscript><style>
  #redoc :is(button, [data-testid="search-trigger"]) { display: none; }
  #redoc noscript section { scroll-margin-top: 16px; }
  #redoc noscript pre { white-space: pre-wrap; overflow-wrap: anywhere; }
</style></noscript>`

/** Without JavaScript, the links of the table lead to samples. */
const operationsWithoutScript = `<noscript>
  <p>Without JavaScript, this page shows only a sample of each operation.
  <a href="openapi.json">openapi.json</a> has everything.</p>
  ${operationsPlaceholder}
</noscript>`

/** Runs first. */
const script = `
  // In a worker, Redoc's search needs eval, which the page's policy forbids; without workers it
  // does not.
  delete globalThis.Worker
  // Redoc draws only what is scrolled into view; the browser's search and print need the whole
  // page.
  globalThis.IntersectionObserver = class {
    constructor(seen) { this.seen = seen }
    observe(target) { setTimeout(() => this.seen([{ isIntersecting: true, target }], this)) }
    unobserve() {}
    disconnect() {}
  }
  // Redoc's search has the introduction as one result, which leads to its beginning. This makes one
  // of each section.
  globalThis.introductionSections = ({ content, ...entry }) =>
    content.children[0].children.map((section) => {
      const [first] = section.children[0].content ?? []
      return {
        ...entry,
        link: section.sectionId,
        label: first ? textOf(first) : entry.label,
        content: { ...content, children: [section] },
      }
    })
  const textOf = ({ attributes, children }) =>
    attributes.content ?? children.map(textOf).join('')
  // Redoc has a button to copy samples, but none for the blocks of a text. Browsers have a
  // clipboard on HTTPS and localhost.
  if (navigator.clipboard) new MutationObserver(() => {
    for (const block of document.querySelectorAll('[data-component-name="Markdown/Markdown"] pre:is([data-language="sh"], [data-language="json"]):not(:has(.copy))')) {
      const code = block.textContent.trim()
      const button = Object.assign(document.createElement('button'), { className: 'copy', textContent: 'Copy' })
      button.onclick = async () => {
        await navigator.clipboard.writeText(code)
        button.textContent = 'Copied'
      }
      block.append(button)
    }
  }).observe(document, { childList: true, subtree: true })
`

const logo = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="44" height="12"><text y="10" font-family="sans-serif" font-size="11" fill="gray">Redocly</text></svg>',
)}`

/** The changes to Redoc's page, for which Redoc has no options. */
const changes: [what: string, found: string | RegExp, replacement: string][] = [
  // The empty icon saves a request for /favicon.ico.
  [
    'head',
    '<head>',
    `<head><link rel="icon" href="data:,"><script>${script}</script>${style}${styleWithoutScript}`,
  ],
  // The file has a drawing of the introduction, which readers see before Redoc starts and without
  // JavaScript. The server inserts its address and the operations.
  ['server', '>/</div>', `>${documentedUrl}</div>`],
  ['right panel', /(?=<\/div><div data-testid="right-panel")/, operationsWithoutScript],
  // Its links lead to sections of the page, as they do once Redoc has drawn it.
  ['links of the drawing', /href="(?=\/)/g, 'href="#'],
  ['sections of the drawing', /<div data-section-id=/g, '<div id='],
  // Redoc draws the page from the beginning: with this server and all groups, it would not find the
  // elements that it expects in the drawing.
  ['reuse of the drawing', /\w+\.childElementCount===0(?=\)\{\(0,\w+\.createRoot\)\()/, '!0'],
  // The server inserts the document with its own address.
  ['document', /(?<=const __redoc_definition = )\{.*\}(?=;\n)/, documentPlaceholder],
  // The menu shows all operations from the start.
  ['closed groups', 'expanded:`expanded`in e?e.expanded:void 0', 'expanded:`always`'],
  // With this and the next, the page has the operations of all groups, not only of the group that
  // was clicked.
  ['groups left out', /shouldRenderOps:(?=\w+\.sectionId===)/, 'shouldRenderOps:!0||'],
  [
    'operations left out',
    /(\w+)\.content===null\|\|\w+&&!\w+\(\1\.gatePath,\w+\)\?null:/,
    '$1.content===null?null:',
  ],
  [
    'search for the introduction',
    /(case \w+\.OVERVIEW:)(this\.#\w+\()(\w),this\.#\w+,/,
    '$1for(let section of introductionSections($3))$2section,section.link,',
  ],
  // Until its index is complete, the search waits instead of finding nothing.
  [
    'search without an index',
    /(\?\w+\.search\(\w+\):)Promise\.resolve\(\[\]\)/,
    '$1new Promise(()=>{})',
  ],
  // Redoc's logo would come from another server.
  ['logo', /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(-full)?\.svg/g, logo],
]

/** Throws if this release of Redoc lacks a part that has to change. */
export const selfContained = (redoc: string): string =>
  changes.reduce((page, [what, found, replacement]) => {
    const changed = page.replace(found, replacement)
    if (changed === page)
      throw new Error(`Cannot find the ${what} in Redoc's page. Adapt scripts/docs-page.ts to it.`)
    return changed
  }, redoc)

if (import.meta.main) {
  const generated = `${import.meta.dirname}/../generated`
  writeFileSync(
    `${generated}/docs.html`,
    selfContained(readFileSync(`${generated}/redoc.html`, 'utf8')),
  )
}
