import { readFileSync, writeFileSync } from 'node:fs'
import { documentPlaceholder } from '../src/http/reference-routes.ts'

/**
 * Makes docs.html, which the server serves, from redoc.html, which Redocly builds from
 * docs-page.hbs. Patches what neither an option in redocly.yaml nor the template can change.
 */

type Patch = {
  name: string
  /** Without the patch, readers have this disadvantage. */
  loss: string
  /** A hint where to look in redoc.html if `find` does not match. */
  place: string
  /** Names that Redoc's developers chose, and `[\w$]+` where its build makes up a name. */
  find: RegExp
  replacement: string
}

const logo = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="44" height="12"><text y="10" font-family="sans-serif" font-size="11" fill="gray">Redocly</text></svg>',
)}`

const madeFor = '@redocly/cli 2.77.0 with Redoc 3.0.1'

const patches: Patch[] = [
  {
    name: 'document',
    loss: 'the page lacks its server and its contact, and says that reading needs a key',
    place: 'the document as JSON, after `const __redoc_definition =` in the last script',
    find: /(?<=const __redoc_definition = )\{.*\}(?=;\n)/,
    replacement: documentPlaceholder,
  },
  {
    name: 'logo',
    loss: "the page's policy blocks Redoc's logo, and browsers log an error",
    place: 'the addresses of the logo, at another server than the page',
    find: /https:\/\/cdn\.redoc\.ly\/[^`'"]+/g,
    replacement: logo,
  },
  {
    name: 'groups',
    loss: "the browser's search and print find only operations of the group that was clicked",
    // Of an ITEM, Redoc always shows everything; of a GROUP, only when it was clicked.
    place:
      'the content that Redoc makes of a tag: `contentType` is GROUP, `meta` has `breadcrumbs`',
    find: /(?<=contentType:[\w$]+\.)GROUP(?=,meta:\{name:[\w$]+,breadcrumbs:)/,
    replacement: 'ITEM',
  },
  {
    name: 'menu',
    loss: 'the menu shows operations only after a click on their group',
    place: 'the property `expanded` of the entries of the menu; `always` keeps them open',
    find: /(?<=expanded:)`expanded`in [\w$]+\?[\w$]+\.expanded:void 0/,
    replacement: '`always`',
  },
]

/** Throws if a patch does not apply to this release of Redoc. */
export function patchPage(redoc: string): string {
  const missing = patches.filter(({ find }) => redoc.search(find) === -1)
  if (missing.length > 0) throw new Error(missing.map(explain).join('\n\n'))
  return patches.reduce(
    (page, { find, replacement }) => page.replace(find, () => replacement),
    redoc,
  )
}

const explain = ({ name, loss, place, find }: Patch) =>
  `Cannot apply the patch "${name}" to generated/redoc.html. It was made for ${madeFor}.
Look for ${place}. Adapt ${find} in scripts/docs-page.ts.
Or remove the patch there and in test/scripts/docs-page.test.ts. Then ${loss}.`

if (import.meta.main) {
  const generated = `${import.meta.dirname}/../generated`
  writeFileSync(
    `${generated}/docs.html`,
    patchPage(readFileSync(`${generated}/redoc.html`, 'utf8')),
  )
}
