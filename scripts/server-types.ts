import { readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript'

/**
 * Makes the document's types as the server has them. What a caller may leave out and the validator then fills in, since
 * it has a default, is required here; in openapi.d.ts, which callers take, it is optional.
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
for (const { parameters = [] } of [...items, ...operations]) parameters.forEach(requireFilledIn)
for (const { requestBody } of operations) {
  if (requestBody) requireFilledInWithin(requestBody.content['application/json'].schema)
}
const keyed = operations.filter(needsKey).map(({ operationId }) => `'${operationId}'`)

const types = await openapiTS(document, {
  defaultNonNullable: false,
  inject: `export type KeyedOperationId = ${keyed.join(' | ') || 'never'}`,
})
writeFileSync(`${generated}/server.d.ts`, COMMENT_HEADER + astToString(types))

/** Of the query alone: defaults of headers are filled into a copy that openapi-backend throws away. */
function requireFilledIn(reference: Parameter) {
  const parameter = resolved(reference)
  if (parameter.in === 'query' && hasDefault(parameter.schema)) parameter.required = true
}

/** Where ajv fills in: not within anyOf, oneOf and not. */
function requireFilledInWithin(reference: Schema) {
  const schema = resolved(reference)
  const { properties = {}, items, allOf = [], required = [] } = schema
  const filledIn = Object.keys(properties).filter((name) => hasDefault(properties[name]))
  if (filledIn.length > 0) schema.required = [...new Set([...required, ...filledIn])]
  for (const part of [...Object.values(properties), ...(items ? [items] : []), ...allOf]) requireFilledInWithin(part)
}

function hasDefault(schema: Schema = {}): boolean {
  return resolved(schema).default !== undefined
}

/** What a reference names is changed in its place, for all who name it. */
function resolved<Node extends Reference>(node: Node): Node {
  if (node.$ref === undefined) return node
  const names = node.$ref.split('/').slice(1)
  return resolved(names.reduce((found, name) => found[name], document))
}

function needsKey({ security = document.security ?? [] }: Operation): boolean {
  return security.length > 0 && security.every((requirement) => Object.keys(requirement).length > 0)
}
