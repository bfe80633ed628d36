import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { Router } from 'express'
import type { Document } from 'openapi-backend'
import { stringify } from 'yaml'
import { contentTag } from '../etag.ts'
import { getOnly } from './get-only.ts'

const generated = `${import.meta.dirname}/../../generated`
const example = `${import.meta.dirname}/../../openapi/life-cycle.arazzo.yaml`

/** The contract, as it is committed. */
export const readDocument = async (): Promise<Document> =>
  JSON.parse(await readFile(`${generated}/openapi.json`, 'utf8'))

/** The Redoc page, if it was built. */
export const readPage = (): Promise<string | undefined> =>
  readFile(`${generated}/docs.html`, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

/** The server's address in the introduction's commands, which readers copy. */
const introduced = 'http://localhost:3000'

/** Serves the document, which names `baseUrl` as its server, its pages and the worked example. Each is made when it is first asked for. */
export function docsRouter(document: Document, page: string | undefined, baseUrl: string): Router {
  const { info } = document
  const description = info.description?.replaceAll(introduced, () => baseUrl) ?? ''
  const served = {
    ...document,
    info: { ...info, description },
    servers: [{ url: baseUrl, description: 'This server' }],
  }
  const router = Router({ strict: true, caseSensitive: true })
  serve('/openapi.json', 'application/json', () => ({ text: JSON.stringify(served, null, 2) }))
  serve('/openapi.yaml', 'application/yaml', () => ({ text: stringify(served, { aliasDuplicateObjects: false }) }))
  // It names the document as openapi.yaml, beside it.
  serve('/life-cycle.arazzo.yaml', 'application/yaml', () => ({ text: readFileSync(example, 'utf8') }))
  if (page !== undefined) {
    serve('/docs', 'text/html; charset=utf-8', () => {
      const text = selfContained(page)
        .replaceAll(introduced, () => baseUrl)
        .replace(serversIn(document), () => serversIn(served))
      return { text, headers: { 'Content-Security-Policy': pagePolicy(text) } }
    })
  }
  return router

  function serve(path: string, type: string, make: () => Content) {
    let variants: ReturnType<typeof variantsOf> | undefined
    getOnly(router, path, (request, response) => {
      variants ??= variantsOf(make())
      const encoding = request.acceptsEncodings('gzip', 'identity') === 'gzip' ? 'gzip' : 'identity'
      const { body, headers } = variants[encoding]
      response.set({ 'Cache-Control': 'public, no-cache', Vary: 'Accept-Encoding', 'Content-Type': type, ...headers })
      response.send(body)
    })
  }
}

type Content = { text: string; headers?: Record<string, string> }

/** Compressed for those who take that: the page is 2.6 MB, and a quarter of it so. */
function variantsOf({ text, headers }: Content) {
  const variant = (body: Buffer, more: Record<string, string>) => ({
    body,
    headers: { ...headers, ...more, ETag: contentTag(body) },
  })
  return {
    identity: variant(Buffer.from(text), {}),
    gzip: variant(gzipSync(text), { 'Content-Encoding': 'gzip' }),
  }
}

/** Mends what no option of Redoc does. What is not found, since another release has it otherwise, is left alone. */
function selfContained(page: string): string {
  return (
    page
      // Else the browser asks for /favicon.ico, and Redoc for the right to compile its search into a worker: eval.
      .replace('<head>', `<head><link rel="icon" href="data:,"><script>delete globalThis.Worker</script>${style}`)
      // Redoc draws the page by itself where it finds nothing drawn, and what was drawn names another server.
      .replace(/(?<=<div id="redoc">).*?(?=<\/div>\s*<script type="module">)/s, '')
      .replace('https://cdn.redoc.ly/redoc/logo-mini-full.svg', logo('Redocly', 44))
      .replace('https://cdn.redoc.ly/redoc/logo-mini.svg', logo('R', 12))
  )
}

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

const serversIn = ({ servers }: Pick<Document, 'servers'>) => `"servers":${JSON.stringify(servers)}`

const logo = (text: string, width: number) =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="12"><text y="10" font-family="sans-serif" font-size="11" fill="gray">${text}</text></svg>`,
  )}`

/** The page runs its own inline scripts, named by hash; it styles itself; it loads nothing. */
function pagePolicy(page: string): string {
  const scripts = [...page.matchAll(/<script[^>]*>(?<text>[\s\S]*?)<\/script>/g)].map(
    (match) => match.groups?.text ?? '',
  )
  const hashes = scripts.map((text) => `'sha256-${hash('sha256', text, 'base64')}'`)
  return [
    "default-src 'none'",
    `script-src ${hashes.join(' ')}`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
