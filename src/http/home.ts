import { readFile } from 'node:fs/promises'
import type { Document } from 'openapi-backend'
import { required } from '../util/helpers.ts'
import { escapeHtml, html } from './html.ts'

/**
 * The home page, at BASE_URL, made from the OpenAPI document: an introduction, links and a
 * curl example of each operation.
 */

type Operation = {
  operationId: string
  tags: [string]
  summary: string
  'x-codeSamples': { label: string; source: string }[]
}
/** `make lint` checks that a path has only operations, and each has samples. */
export type SampledDocument = Pick<Document, 'info' | 'servers'> & {
  paths: Record<string, Record<string, Operation>>
}

type HomeLink = { rel: string; href: string; title: string }

/**
 * With the link relations of RFC 8631. The health check is served at the root, without the path of
 * `baseUrl`.
 */
export const homeLinks = (baseUrl: string, hasReference: boolean): HomeLink[] => [
  ...(hasReference
    ? [{ rel: 'service-doc', href: `${baseUrl}/docs`, title: 'API reference' }]
    : []),
  { rel: 'service-desc', href: `${baseUrl}/openapi.json`, title: 'OpenAPI document' },
  { rel: 'status', href: new URL('/healthz', baseUrl).href, title: 'Health' },
]

export const linkHeader = (links: HomeLink[]): string =>
  links.map(({ rel, href }) => `<${href}>; rel="${rel}"`).join(', ')

export async function homePage(
  { info, paths }: SampledDocument,
  links: HomeLink[],
): Promise<string> {
  const [introduction = ''] = required(info.description, 'the introduction').split('\n\n', 1)
  const parts = new Map([
    ['title', escapeHtml(info.title)],
    ['introduction', escapeHtml(introduction).replaceAll(/`(.+?)`/g, '<code>$1</code>')],
    [
      'links',
      links
        .map(({ rel, href, title }) => html`<a rel="${rel}" href="${href}">${title}</a>`.text)
        .join('\n'),
    ],
    ['theme', `<style>\n${await readFile(`${import.meta.dirname}/theme.css`, 'utf8')}</style>`],
    ['operations', renderOperations(paths)],
  ])
  const template = await readFile(`${import.meta.dirname}/home.html`, 'utf8')
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name) =>
    required(parts.get(name), `{{${name}}} of the home page`),
  )
}

/** A section with the curl sample of each operation. */
export const renderOperations = (paths: SampledDocument['paths']): string =>
  Object.values(paths)
    .flatMap((path) => Object.values(path))
    .map(renderOperation)
    .join('\n')

function renderOperation(operation: Operation): string {
  const { summary, 'x-codeSamples': samples } = operation
  const sample = samples.find(({ label }) => label === 'curl')
  const { source } = required(sample, `the curl sample of "${summary}"`)
  return html`<section id="${operationAnchor(operation)}" class="card">
<h2>${summary}</h2>
<pre>${source.trim()}</pre>
</section>`.text
}

/** The fragment of an operation's URL in /docs, as Redoc makes it. */
export const operationAnchor = ({
  tags: [group],
  operationId,
}: Pick<Operation, 'operationId' | 'tags'>): string => `/${group}/${operationId}`.toLowerCase()
