import { readFileSync, writeFileSync } from 'node:fs'
import { documentPlaceholder, libraryEndMarker } from '../src/http/docs.ts'

/** Makes docs.html, which the server serves, of redoc.html, which is as Redocly makes it. */

const style = `<style>
  /* Lines of box-drawing characters join, and 40 columns fit a phone. */
  #redoc pre:not([class]) { font-size: 12px; line-height: 1.3; }
  /* Our own text is for everyone: links stand out enough (WCAG, 1.4.3), and no code is scrolled that no key reaches. */
  html.light [data-component-name="Markdown/Markdown"] a { color: #0b57d0; }
  html.light #redoc .token.string { color: #2457b0; }
  html.light #redoc { --schema-property-required-label-text-color: #b00808; }
  @media (max-width: 600px) {
    [data-component-name="Markdown/Markdown"] pre { white-space: pre-wrap !important; }
  }
  /* An operation's path stands beneath its name. */
  [data-component-name="Menu/MenuItem"] [data-text] { white-space: pre-line; }
  /* Names in tables are not broken in two. */
  #redoc .md td code { white-space: nowrap; }
  @media (max-width: 600px) {
    #redoc .md :is(td, th) { padding: 8px 6px; font-size: 13px; }
    #redoc .md td code { font-size: 11px; }
  }
  /* Redoc offers the examples of a request's body above samples of code, too, where they change nothing. */
  .panel-request-samples:has(code[data-language]) div:has(> div > [aria-label="Example"]) { display: none; }
</style>`

/** Runs before all else. */
const script = `
  // Redoc would ask for the right to compile its search in a worker: eval.
  delete globalThis.Worker
  // What it draws once it is in the window would be found by no search and be on no paper: all is in the window.
  globalThis.IntersectionObserver = class {
    constructor(seen) { this.seen = seen }
    observe(target) { setTimeout(() => this.seen([{ isIntersecting: true, target }], this)) }
    unobserve() {}
    disconnect() {}
  }
  // Each code of an error can be linked to, as docs#/section/answers-and-errors#not_found.
  new MutationObserver(() => {
    for (const cell of document.querySelectorAll('#redoc td:first-child:not([id])')) {
      const [, code] = /^\\d{3} (\\w+)$/.exec(cell.textContent) ?? []
      if (code !== undefined) cell.id = code
    }
  }).observe(document, { childList: true, subtree: true })
`

const logo = (text: string, width: number) =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="12"><text y="10" font-family="sans-serif" font-size="11" fill="gray">${text}</text></svg>`,
  )}`

/** What no option of Redoc does: each is looked for once, and has another put in its place. */
const changes: [what: string, found: string | RegExp, by: string][] = [
  // Else the browser asks for /favicon.ico.
  ['head', '<head>', `<head><link rel="icon" href="data:,"><script>${script}</script>${style}`],
  // Redoc draws the page by itself where it finds nothing drawn, and what was drawn names another server.
  ['drawing', /(?<=<div id="redoc">).*?(?=<\/div>\s*<script type="module">)/s, ''],
  // The server serves the library apart, and puts the document in as it serves it.
  ['end of the library', /(?<=export\{[\w,]*\bhydrate\b[\w,]*\};)\s*(?=const __redoc_definition)/, libraryEndMarker],
  ['document', /(?<=const __redoc_definition = )\{.*\}(?=;\n)/, documentPlaceholder],
  // The operations are in the menu from the start, each with its path.
  ['closed groups', 'expanded:`expanded`in e?e.expanded:void 0', 'expanded:`always`'],
  [
    'label in the menu',
    /(?<=label:)(\w+)(?=,link:\w+,httpVerb:`httpVerb`in (\w+)\?)/,
    '$2.httpPath?$1+"\\n"+$2.httpPath:$1',
  ],
  // All of the page is there to be searched and printed, and not only the group that was clicked.
  ['groups left out', /shouldRenderOps:(?=\w+\.sectionId===)/, 'shouldRenderOps:!0||'],
  ['operations left out', /(\w+)\.content===null\|\|\w+&&!\w+\(\1\.gatePath,\w+\)\?null:/, '$1.content===null?null:'],
  ['logo', 'https://cdn.redoc.ly/redoc/logo-mini-full.svg', logo('Redocly', 44)],
  ['small logo', 'https://cdn.redoc.ly/redoc/logo-mini.svg', logo('R', 12)],
]

/** Throws where a release of Redoc has it otherwise. */
export const selfContained = (redoc: string): string =>
  changes.reduce((page, [what, found, by]) => {
    const changed = page.replace(found, by)
    if (changed === page) {
      throw new Error(`Redoc's page has no ${what} where scripts/docs-page.ts looks for it; see what has become of it`)
    }
    return changed
  }, redoc)

if (import.meta.main) {
  const generated = `${import.meta.dirname}/../generated`
  writeFileSync(`${generated}/docs.html`, selfContained(readFileSync(`${generated}/redoc.html`, 'utf8')))
}
