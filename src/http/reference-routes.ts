import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type RequestHandler, Router } from 'express'
import type { Document } from 'openapi-backend'
import type { Config } from '../config.ts'
import { required } from '../util/helpers.ts'
import { readOnlyRoute } from './error-response.ts'
import { homeLinks, homePage, linkHeader, renderOperations, type SampledDocument } from './home.ts'
import { escapeHtml } from './html.ts'
import { Representation, sendRepresentation } from './response.ts'

const root = `${import.meta.dirname}/../..`
const generated = `${root}/generated`
const readExample = () => readFile(`${root}/openapi/life-cycle.arazzo.yaml`, 'utf8')
const readChangelog = () => readFile(`${root}/docs/api-changes.md`, 'utf8')

/** The contract, as it is committed. */
export const readDocument = async (): Promise<Document> =>
  JSON.parse(await readFile(`${generated}/openapi.json`, 'utf8'))

/** The Redoc page, if it was built. */
export const readPage = async (): Promise<string | undefined> =>
  existsSync(`${generated}/docs.html`) ? readFile(`${generated}/docs.html`, 'utf8') : undefined

/** The server in the document's samples; readers copy it. */
export const documentedUrl = 'http://localhost:3000'

/** Text of docs.html that the document replaces. */
export const documentPlaceholder = '/* the document */'

/** Text of docs.html that a sample of each operation replaces. */
export const operationsPlaceholder = '<!-- the operations -->'

/** Text of the introduction that becomes a link to CONTACT_URL. */
const operatorsPhrase = 'the operators of the catalogue'

/**
 * Serves the home page, the document with this server's address, its Redoc page, the worked example
 * and the changelog.
 */
export function docsRouter(document: Document, page: string | undefined, server: Server): Router {
  const served = withServer(document, server)
  const router = Router({ strict: true, caseSensitive: true })
  const serve = (path: string, handler: RequestHandler) => readOnlyRoute(router, path, handler)
  const makeJson = () => JSON.stringify(served, null, 2)
  const makeYaml = async () => {
    const { stringify } = await import('yaml')
    return stringify(served, { aliasDuplicateObjects: false })
  }
  serve('/', sendHome(served, server.baseUrl, page !== undefined))
  serve('/openapi.json', sendText('application/json; charset=utf-8', makeJson))
  serve('/openapi.yaml', sendText('application/yaml', makeYaml))
  // Next to openapi.yaml, which it refers to.
  serve('/life-cycle.arazzo.yaml', sendText('application/yaml', readExample))
  serve('/changelog.md', sendText('text/markdown; charset=utf-8', readChangelog))
  if (page !== undefined) {
    const makePage = () => {
      // `</script>` in the JSON would end the script around it.
      const json = JSON.stringify(withoutOptionalSecurity(served)).replaceAll('<', '\\u003c')
      return page
        .replaceAll(documentedUrl, () => escapeHtml(server.baseUrl))
        .replace(operationsPlaceholder, () => renderOperations(served.paths))
        .replace(documentPlaceholder, () => json)
    }
    serve('/docs', sendText(html, makePage))
  }
  return router
}

/** The home page as HTML or as JSON, both with the same links. */
function sendHome(
  document: SampledDocument,
  baseUrl: string,
  hasReference: boolean,
): RequestHandler {
  const { title, version } = document.info
  const links = homeLinks(baseUrl, hasReference)
  const headers = { Link: linkHeader(links), Vary: 'Accept, Accept-Encoding' }
  const json = JSON.stringify({ success: true, message: `${title} ${version}`, data: { links } })
  const sendJson = sendText('application/json; charset=utf-8', () => json, headers)
  const sendHtml = sendText(html, () => homePage(document, links), headers)
  return (request, response, next) => {
    // Browsers prefer HTML; programs that accept anything get JSON.
    const send = request.accepts(['json', 'html']) === 'html' ? sendHtml : sendJson
    return send(request, response, next)
  }
}

type Text = string | Promise<string>
const html = 'text/html; charset=utf-8'

/** Sends a text that is made on its first request. */
function sendText(
  type: string,
  make: () => Text,
  headers: Record<string, string> = {},
): RequestHandler {
  let made: Promise<Representation> | undefined
  return async (request, response) => {
    made ??= Promise.resolve(make())
      .then(
        (text) =>
          new Representation(type, Buffer.from(text), {
            'Cache-Control': 'public, no-cache',
            Vary: 'Accept-Encoding',
            ...(type === html && { 'Content-Security-Policy': contentSecurityPolicy(text) }),
            ...headers,
          }),
      )
      .catch((error) => {
        // The next request tries again.
        made = undefined
        throw error
      })
    await sendRepresentation(request, response, await made)
  }
}

type Server = Pick<Config, 'baseUrl' | 'contact'>

/**
 * The document with the server's own address, also in the samples, and with the operators' contact
 * if it is configured.
 */
function withServer(document: Document, { baseUrl, contact }: Server): SampledDocument {
  const { info, ...rest }: SampledDocument = JSON.parse(
    JSON.stringify(document).replaceAll(documentedUrl, () => baseUrl),
  )
  const address = contact.email === undefined ? contact.url : `mailto:${contact.email}`
  const operatorsLink =
    address === undefined
      ? operatorsPhrase
      : `[${operatorsPhrase}](${address.replaceAll('(', '%28').replaceAll(')', '%29')})`
  const description = required(info.description, 'the introduction').replaceAll(
    operatorsPhrase,
    () => operatorsLink,
  )
  return {
    ...rest,
    info: { ...info, contact: { ...info.contact, ...contact }, description },
    servers: [{ url: baseUrl, description: 'This server' }],
  }
}

/** Redoc shows optional security as required. */
const withoutOptionalSecurity = (document: object): object =>
  JSON.parse(JSON.stringify(document), (name, value) =>
    name === 'security' && value.some((one: object) => Object.keys(one).length === 0) ? [] : value,
  )

/** The page runs its own inline scripts, by hash. It may style itself, and load nothing else. */
function contentSecurityPolicy(page: string): string {
  // recheck-ignore: the page is generated/docs.html, which scripts/docs-page.ts writes.
  const scripts = [...page.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(
    ([, text = '']) => text,
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
