import { readFileSync, writeFileSync } from 'node:fs'
import { introducedUrl } from '../src/http/docs.ts'

/** Makes docs.html, which the server serves, of redoc.html, which is as Redocly makes it. */

const style = `<style>
  /* Lines of box-drawing characters join, and 40 columns fit a phone. */
  #redoc pre:not([class]) { font-size: 12px; line-height: 1.3; }
  /* Names in tables are not broken in two. */
  #redoc .md td code { white-space: nowrap; }
  @media (max-width: 600px) {
    #redoc .md :is(td, th) { padding: 8px 6px; font-size: 13px; }
    #redoc .md td code { font-size: 11px; }
  }
  /* Redoc offers the examples of a request's body above samples of code, too, where they change nothing. */
  .panel-request-samples:has(code[data-language]) div:has(> div > [aria-label="Example"]) { display: none; }
</style>`

const logo = (text: string, width: number) =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="12"><text y="10" font-family="sans-serif" font-size="11" fill="gray">${text}</text></svg>`,
  )}`

/** What no option of Redoc does: each is looked for once, and has another put in its place. */
const changes: [what: string, found: string | RegExp, by: string][] = [
  // Else the browser asks for /favicon.ico, and Redoc for the right to compile its search into a worker: eval.
  ['head', '<head>', `<head><link rel="icon" href="data:,"><script>delete globalThis.Worker</script>${style}`],
  // Redoc draws the page by itself where it finds nothing drawn, and what was drawn names another server.
  ['drawing', /(?<=<div id="redoc">).*?(?=<\/div>\s*<script type="module">)/s, ''],
  // The server puts its own in.
  ['server "/"', '"servers":[{"url":"/"', `"servers":[{"url":"${introducedUrl}"`],
  ['logo', 'https://cdn.redoc.ly/redoc/logo-mini-full.svg', logo('Redocly', 44)],
  ['small logo', 'https://cdn.redoc.ly/redoc/logo-mini.svg', logo('R', 12)],
]

/** Throws where a release of Redoc has it otherwise. */
export const selfContained = (redoc: string): string =>
  changes.reduce((page, [what, found, by]) => {
    const changed = page.replace(found, () => by)
    if (changed === page) {
      throw new Error(`Redoc's page has no ${what} where scripts/docs-page.ts looks for it; see what has become of it`)
    }
    return changed
  }, redoc)

if (import.meta.main) {
  const generated = `${import.meta.dirname}/../generated`
  writeFileSync(`${generated}/docs.html`, selfContained(readFileSync(`${generated}/redoc.html`, 'utf8')))
}
