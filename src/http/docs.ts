import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Router } from 'express'
import helmet from 'helmet'
import type { Document } from 'openapi-backend'
import { codedTag, contentTag } from '../etag.ts'
import { type Coding, coded, codingFor } from './coding.ts'
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

/** The server's address in the introduction's commands, which readers copy, and in the page. */
export const introducedUrl = 'http://localhost:3000'

/** Serves the document, which names `baseUrl` as its server, its pages and the worked example. Each is made when it is first asked for. */
export function docsRouter(document: Document, page: string | undefined, baseUrl: string): Router {
  const { info } = document
  const description = info.description?.replaceAll(introducedUrl, () => baseUrl) ?? ''
  const served = {
    ...document,
    info: { ...info, description },
    servers: [{ url: baseUrl, description: 'This server' }],
  }
  const router = Router({ strict: true, caseSensitive: true })
  serve('/openapi.json', 'application/json', () => ({ text: JSON.stringify(served, null, 2) }))
  serve('/openapi.yaml', 'application/yaml', async () => {
    const { stringify } = await import('yaml')
    return { text: stringify(served, { aliasDuplicateObjects: false }) }
  })
  // It names the document as openapi.yaml, beside it.
  serve('/life-cycle.arazzo.yaml', 'application/yaml', () => ({ text: readFileSync(example, 'utf8') }))
  if (page !== undefined) {
    // Headers for pages; the policy, which names the scripts of this one, is its own.
    router.use(
      '/docs',
      helmet({
        contentSecurityPolicy: false,
        strictTransportSecurity: false,
        crossOriginResourcePolicy: { policy: 'cross-origin' },
      }),
    )
    serve('/docs', 'text/html; charset=utf-8', () => {
      const text = page.replaceAll(introducedUrl, () => baseUrl)
      return { text, headers: { 'Content-Security-Policy': pagePolicy(text) } }
    })
  }
  return router

  function serve(path: string, type: string, make: () => Content | Promise<Content>) {
    let served: ReturnType<typeof inCodings> | undefined
    getOnly(router, path, async (request, response) => {
      served ??= Promise.resolve(make()).then(inCodings)
      const { body, headers } = (await served)[codingFor(request.headers['accept-encoding']) ?? 'identity']
      response.set({ 'Cache-Control': 'public, no-cache', Vary: 'Accept-Encoding', 'Content-Type': type, ...headers })
      response.send(body)
    })
  }
}

type Content = { text: string; headers?: Record<string, string> }

/** The page is 2.6 MB, and a quarter of it when it is coded. */
async function inCodings({ text, headers }: Content) {
  const body = Buffer.from(text)
  const etag = contentTag(body)
  const inCoding = async (coding: Coding) => ({
    body: await coded[coding](body),
    headers: { ...headers, 'Content-Encoding': coding, ETag: codedTag(etag, coding) },
  })
  return {
    identity: { body, headers: { ...headers, ETag: etag } },
    br: await inCoding('br'),
    gzip: await inCoding('gzip'),
  }
}

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
