import type { Document } from 'openapi-backend'
import { required } from '../util/helpers.ts'

/** The page at `/`, made from the document: what the service is, where to read more, and a call of each operation. */

type Operation = { summary: string; 'x-codeSamples': { label: string; source: string }[] }
/** Paths have only operations, each with samples: `make lint` requires them. */
export type SampledDocument = Pick<Document, 'info' | 'servers'> & { paths: Record<string, Record<string, Operation>> }

type HomeLink = { rel: string; href: string; title: string }

/** Link relations of RFC 8631. The health check is outside the path of `baseUrl`. */
export const homeLinks = (baseUrl: string, hasReference: boolean): HomeLink[] => [
  ...(hasReference ? [{ rel: 'service-doc', href: `${baseUrl}/docs`, title: 'API reference' }] : []),
  { rel: 'service-desc', href: `${baseUrl}/openapi.json`, title: 'OpenAPI document' },
  { rel: 'status', href: new URL('/healthz', baseUrl).href, title: 'Health' },
]

export const linkHeader = (links: HomeLink[]) => links.map(({ rel, href }) => `<${href}>; rel="${rel}"`).join(', ')

const style = `
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif;
    background: light-dark(#fff, #16181b); color: light-dark(#1b1c1e, #e3e5e8); }
  body { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem; }
  h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
  nav { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; }
  a { color: light-dark(#0b57d0, #a8c7fa); }
  section { position: relative; }
  pre { margin: 0; padding: .75rem; font-size: .8125rem; white-space: pre-wrap; overflow-wrap: anywhere;
    border-radius: .375rem; background: light-dark(#f2f4f7, #24272b); }
  button { position: absolute; top: 0; right: 0; font-size: .75rem; cursor: pointer; }
`

/** Browsers have a clipboard on HTTPS and localhost. */
const script = `
  if (navigator.clipboard) for (const block of document.querySelectorAll('pre')) {
    const button = Object.assign(document.createElement('button'), { textContent: 'Copy' })
    button.onclick = async () => {
      await navigator.clipboard.writeText(block.textContent)
      button.textContent = 'Copied'
    }
    block.before(button)
  }
`

export function homePage({ info, paths }: SampledDocument, links: HomeLink[]): string {
  const title = escapeHtml(info.title)
  const [introduction = ''] = required(info.description, 'the introduction').split('\n\n', 1)
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  // The empty icon saves a request for /favicon.ico.
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${escapeHtml(introduction).replaceAll(/`(.+?)`/g, '<code>$1</code>')}</p>
<nav>
${links.map(({ rel, href, title }) => `<a rel="${rel}" href="${escapeHtml(href)}">${escapeHtml(title)}</a>`).join('\n')}
</nav>
${operations.map(callOf).join('\n')}
</main>
<script>${script}</script>
</body>
</html>
`
}

function callOf({ summary, 'x-codeSamples': samples }: Operation): string {
  const { source } = required(
    samples.find(({ label }) => label === 'curl'),
    `a sample for curl of "${summary}"`,
  )
  return `<section>\n<h2>${escapeHtml(summary)}</h2>\n<pre>${escapeHtml(source.trim())}</pre>\n</section>`
}

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
