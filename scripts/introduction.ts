import { readFileSync, writeFileSync } from 'node:fs'
import { operationAnchor } from '../src/http/home.ts'

/**
 * Fills in the placeholders of the introduction in generated/openapi.json: the table of operations
 * and the version.
 */

type Operation = { operationId: string; tags: [string]; summary: string }
const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
type PathItem = Partial<Record<(typeof methods)[number], Operation>>

const root = `${import.meta.dirname}/..`
const file = `${root}/generated/openapi.json`
const document = JSON.parse(readFileSync(file, 'utf8'))
const { info } = document

const parts = { '{operations}': operationTable(), '{version}': versionAndDate() }
for (const [placeholder, text] of Object.entries(parts)) {
  if (!info.description.includes(placeholder))
    throw new Error(`Write ${placeholder} into openapi/introduction.md.`)
  info.description = info.description.replace(placeholder, text)
}
writeFileSync(file, JSON.stringify(document, null, 2))

/** In the order of the menu in /docs. */
function operationTable(): string {
  const operations = Object.entries<PathItem>(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) =>
      item[method] ? [{ ...item[method], request: `${method.toUpperCase()} ${path}` }] : [],
    ),
  )
  const rows = (document.tags as { name: string }[]).flatMap(({ name }) =>
    operations
      .filter(({ tags }) => tags[0] === name)
      .map(
        (operation) =>
          `| [${operation.summary}](docs#${operationAnchor(operation)}) | \`${operation.request}\` |`,
      ),
  )
  return ['| Operation | Request |', '| --- | --- |', ...rows].join('\n')
}

function versionAndDate(): string {
  const heading = `## [${info.version}] - `
  const line = readFileSync(`${root}/docs/api-changes.md`, 'utf8')
    .split('\n')
    .find((line) => line.startsWith(heading))
  if (line === undefined)
    throw new Error(`Add the section "${heading}Unreleased" to docs/api-changes.md.`)
  const date = line.slice(heading.length)
  return date === 'Unreleased' ? `${info.version}, not released yet` : `${info.version} of ${date}`
}
