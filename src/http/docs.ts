import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { Router } from 'express'
import type { Document } from 'openapi-backend'
import { stringify } from 'yaml'
import { getOnly } from './get-only.ts'

const generated = `${import.meta.dirname}/../../generated`

/** The contract, as it is committed. */
export const readDocument = async (): Promise<Document> =>
  JSON.parse(await readFile(`${generated}/openapi.json`, 'utf8'))

/** The Redoc page, if it was built. */
export const readPage = (): Promise<string | undefined> =>
  readFile(`${generated}/docs.html`, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

/** Serves the document, which names `baseUrl` as its server, and its pages. */
export function docsRouter(document: Document, page: string | undefined, baseUrl: string): Router {
  const served = { ...document, servers: [{ url: baseUrl, description: 'This server' }] }
  const json = JSON.stringify(served, null, 2)
  const yaml = stringify(served, { aliasDuplicateObjects: false })
  const router = Router({ strict: true, caseSensitive: true })
  serve('/openapi.json', 'application/json', json)
  serve('/openapi.yaml', 'application/yaml', yaml)
  if (page !== undefined) {
    const html = selfContained(page).replace(serversIn(document), () => serversIn(served))
    serve('/docs', 'text/html; charset=utf-8', html, { 'Content-Security-Policy': pagePolicy(html) })
  }
  return router

  /** Compressed where the reader takes that: the page is 2.6 MB, and a quarter of it so. */
  function serve(path: string, type: string, text: string, headers: Record<string, string> = {}) {
    const variant = (body: Buffer) => ({ body, ETag: `"${hash('sha256', body, 'base64url').slice(0, 27)}"` })
    const variants = { identity: variant(Buffer.from(text)), gzip: variant(gzipSync(text)) }
    getOnly(router, path, (request, response) => {
      const encoding = request.acceptsEncodings('gzip', 'identity') === 'gzip' ? 'gzip' : 'identity'
      const { body, ETag } = variants[encoding]
      response.set({
        'Cache-Control': 'public, no-cache',
        Vary: 'Accept-Encoding',
        ETag,
        'Content-Type': type,
        ...headers,
      })
      if (encoding === 'gzip') response.set('Content-Encoding', 'gzip')
      response.send(body)
    })
  }
}

/** Mends what no option of Redoc does. What is not found, since another release has it otherwise, is left alone. */
function selfContained(page: string): string {
  return (
    page
      // Else the browser asks for /favicon.ico, and Redoc for the right to compile its search into a worker: eval.
      .replace('<head>', '<head><link rel="icon" href="data:,"><script>delete globalThis.Worker</script>')
      // Redoc draws the page by itself where it finds nothing drawn, and what was drawn names another server.
      .replace(/(?<=<div id="redoc">).*?(?=<\/div>\s*<script type="module">)/s, '')
      .replace('https://cdn.redoc.ly/redoc/logo-mini-full.svg', logo('Redocly', 44))
      .replace('https://cdn.redoc.ly/redoc/logo-mini.svg', logo('R', 12))
  )
}

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
