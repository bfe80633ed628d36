import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Router } from 'express'
import helmet from 'helmet'
import type { Document } from 'openapi-backend'
import type { Config } from '../config.ts'
import { etagOf } from '../contract/response.ts'
import { readOnlyRoute } from './error-response.ts'
import { Representation, sendRepresentation } from './response.ts'

const generated = `${import.meta.dirname}/../../generated`
const example = `${import.meta.dirname}/../../openapi/life-cycle.arazzo.yaml`
const changelog = `${import.meta.dirname}/../../CHANGELOG.md`

/** The contract, as it is committed. */
export const readDocument = async (): Promise<Document> =>
  JSON.parse(await readFile(`${generated}/openapi.json`, 'utf8'))

/** The Redoc page, if it was built. */
export const readPage = (): Promise<string | undefined> =>
  readFile(`${generated}/docs.html`, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

/** The server's address in the document's samples, which readers copy. */
export const documentedUrl = 'http://localhost:3000'

/** In docs.html: where the document belongs, and where Redoc ends and what draws the page with it begins. */
export const documentPlaceholder = '/* the document */'
export const libraryEndMarker = '/* the end of Redoc */'

/** Serves the document as this server's, its page and the worked example. Each is made when it is first asked for. */
export function docsRouter(document: Document, page: string | undefined, server: Server): Router {
  let known: Document | undefined
  const served = () => (known ??= servedDocument(document, server))
  const router = Router({ strict: true, caseSensitive: true })
  serve('/openapi.json', 'application/json', () => ({ text: JSON.stringify(served(), null, 2) }))
  serve('/openapi.yaml', 'application/yaml', async () => {
    const { stringify } = await import('yaml')
    return { text: stringify(served(), { aliasDuplicateObjects: false }) }
  })
  // It names the document as openapi.yaml, beside it.
  serve('/life-cycle.arazzo.yaml', 'application/yaml', () => ({ text: readFileSync(example, 'utf8') }))
  serve('/changelog.md', 'text/markdown; charset=utf-8', () => ({ text: readFileSync(changelog, 'utf8') }))
  if (page !== undefined) {
    const { library, libraryPath, htmlOf } = splitPage(page)
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
      const text = htmlOf(served())
      return { text, headers: { 'Content-Security-Policy': contentSecurityPolicy(text) } }
    })
    // Its name changes with it (RFC 8246).
    const headers = { 'Cache-Control': 'public, max-age=31536000, immutable' }
    serve(libraryPath, 'text/javascript; charset=utf-8', () => ({ text: library, headers }))
  }
  return router

  function serve(path: string, type: string, make: () => Content | Promise<Content>) {
    let made: Promise<{ representation: Representation; headers: Content['headers'] }> | undefined
    readOnlyRoute(router, path, async (request, response) => {
      made ??= Promise.resolve(make()).then(({ text, headers }) => {
        const body = Buffer.from(text)
        return { representation: new Representation(type, etagOf(body), body), headers }
      })
      const { representation, headers } = await made
      response.set({ 'Cache-Control': 'public, no-cache', Vary: 'Accept-Encoding', ...headers })
      const coding = representation.codingFor(request.headers['accept-encoding'])
      await sendRepresentation(request, response, representation, coding)
    })
  }
}

type Server = Pick<Config, 'baseUrl' | 'contact'>

/** With the server's own address, also in the samples, and with how its operators are reached, where that is known. */
function servedDocument(document: Document, { baseUrl, contact }: Server): Document {
  const { info, ...rest }: Document = JSON.parse(JSON.stringify(document).replaceAll(documentedUrl, () => baseUrl))
  const address = contact.email === undefined ? contact.url : `mailto:${contact.email}`
  const operatorsLink =
    address === undefined
      ? operatorsPhrase
      : `[${operatorsPhrase}](${address.replaceAll('(', '%28').replaceAll(')', '%29')})`
  const description = info.description?.replaceAll(operatorsPhrase, () => operatorsLink) ?? ''
  return {
    ...rest,
    info: { ...info, contact: { ...info.contact, ...contact }, description },
    servers: [{ url: baseUrl, description: 'This server' }],
  }
}

/** In the introduction, where a reader is told of whom to ask for a key. */
const operatorsPhrase = 'the operators of the catalogue'

/** The page itself, and the library that draws it: most of its bytes, and the same until Redoc is another. */
function splitPage(page: string) {
  const [head = '', tail] = page.split(libraryEndMarker)
  const begin =
    tail === undefined ? head.length : head.lastIndexOf('<script type="module">') + '<script type="module">'.length
  const library = head.slice(begin)
  const libraryPath = `/docs/${hash('sha256', library, 'base64url').slice(0, 27)}.js`
  const load = tail === undefined ? '' : `import { hydrate } from '.${libraryPath}'\n${tail}`
  const htmlOf = (document: Document) => {
    // In a script, `<` could end it.
    const json = JSON.stringify(withoutOptionalSecurity(document)).replaceAll('<', '\\u003c')
    return head.slice(0, begin) + load.replace(documentPlaceholder, () => json)
  }
  return { library, libraryPath, htmlOf }
}

/** Redoc takes security that one may leave out for security that is demanded. */
const withoutOptionalSecurity = (document: Document): Document =>
  JSON.parse(JSON.stringify(document), (name, value) =>
    name === 'security' && value.some((one: object) => Object.keys(one).length === 0) ? [] : value,
  )

type Content = { text: string; headers?: Record<string, string> }

/** The page runs its own inline scripts, named by hash, and its library; it styles itself; it loads nothing else. */
function contentSecurityPolicy(page: string): string {
  const scripts = [...page.matchAll(/<script[^>]*>(?<text>[\s\S]*?)<\/script>/g)].map(
    (match) => match.groups?.text ?? '',
  )
  const hashes = scripts.map((text) => `'sha256-${hash('sha256', text, 'base64')}'`)
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(' ')}`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
