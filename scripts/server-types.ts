import { readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript'

/**
 * Generates the types for the server. Values with a default are required here, because the
 * validator fills them in; in openapi.d.ts, which is for callers, they are optional.
 */

type Reference = { $ref?: string }
type Schema = Reference & {
  default?: unknown
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  allOf?: Schema[]
}
type Parameter = Reference & { in?: string; required?: boolean; schema?: Schema }
type Operation = {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  security?: object[]
}
const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
type PathItem = { parameters?: Parameter[] } & Partial<Record<(typeof methods)[number], Operation>>

const generated = `${import.meta.dirname}/../generated`
const document = JSON.parse(readFileSync(`${generated}/openapi.json`, 'utf8'))

const items = Object.values<PathItem>(document.paths)
const operations = items.flatMap((item) => methods.flatMap((method) => item[method] ?? []))
for (const { parameters = [] } of [...items, ...operations]) parameters.forEach(requireDefaulted)
for (const { requestBody } of operations) {
  if (requestBody) requireDefaultedWithin(requestBody.content['application/json'].schema)
}
const keyed = operations.filter(needsKey).map(({ operationId }) => `'${operationId}'`)

const types = await openapiTS(document, {
  defaultNonNullable: false,
  inject: `export type KeyedOperationId = ${keyed.join(' | ') || 'never'}`,
})
writeFileSync(`${generated}/server.d.ts`, COMMENT_HEADER + astToString(types))

/**
 * Only query parameters: openapi-backend discards the copy of the headers into which it fills
 * defaults.
 */
function requireDefaulted(reference: Parameter) {
  const parameter = resolved(reference)
  if (parameter.in === 'query' && hasDefault(parameter.schema)) parameter.required = true
}

/** ajv does not fill in defaults within anyOf, oneOf and not. */
function requireDefaultedWithin(reference: Schema) {
  const schema = resolved(reference)
  const { properties = {}, items, allOf = [], required = [] } = schema
  const defaulted = Object.keys(properties).filter((name) => hasDefault(properties[name]))
  if (defaulted.length > 0) schema.required = [...new Set([...required, ...defaulted])]
  for (const part of [...Object.values(properties), ...(items ? [items] : []), ...allOf])
    requireDefaultedWithin(part)
}

function hasDefault(schema: Schema = {}): boolean {
  return resolved(schema).default !== undefined
}

/** The node that a reference points to, not a copy, so that changes apply to all its references. */
function resolved<Node extends Reference>(node: Node): Node {
  if (node.$ref === undefined) return node
  const names = node.$ref.split('/').slice(1)
  return resolved(names.reduce((found, name) => found[name], document))
}

function needsKey({ security = document.security ?? [] }: Operation): boolean {
  return security.length > 0 && security.every((requirement) => Object.keys(requirement).length > 0)
}
