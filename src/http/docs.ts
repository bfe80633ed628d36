import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
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
  const served = { ...document, servers: [{ url: baseUrl, description: 'The server that this document came from' }] }
  const json = JSON.stringify(served, null, 2)
  const yaml = stringify(served, { aliasDuplicateObjects: false })
  const router = Router({ strict: true, caseSensitive: true })
  serve('/openapi.json', 'application/json', json)
  serve('/openapi.yaml', 'application/yaml', yaml)
  if (page !== undefined)
    serve('/docs', 'text/html; charset=utf-8', page, { 'Content-Security-Policy': pagePolicy(page) })
  return router

  function serve(path: string, type: string, text: string, headers: Record<string, string> = {}) {
    const ETag = `"${hash('sha256', text, 'base64url').slice(0, 27)}"`
    getOnly(router, path, (_request, response) => {
      response.set({ 'Cache-Control': 'public, no-cache', ETag, 'Content-Type': type, ...headers }).send(text)
    })
  }
}

/** The page runs its own inline scripts, named by hash, and Redoc's search worker; it styles itself; it loads nothing. */
function pagePolicy(page: string): string {
  const scripts = [...page.matchAll(/<script[^>]*>(?<text>[\s\S]*?)<\/script>/g)].map(
    (match) => match.groups?.text ?? '',
  )
  const hashes = scripts.map((text) => `'sha256-${hash('sha256', text, 'base64')}'`)
  return [
    "default-src 'none'",
    `script-src ${hashes.join(' ')}`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    'worker-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
