/** The operations of a document, with references resolved. */

export type Schema = {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  enum?: unknown[]
  minLength?: number
  maxLength?: number
  pattern?: string
  minimum?: number
  maximum?: number
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: boolean
  minProperties?: number
  items?: Schema
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  default?: unknown
  description?: string
  example?: unknown
  'x-characters'?: string
}
export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  schema: Schema
  required?: boolean
  example?: unknown
}
export type Operation = {
  operationId: string
  method: string
  /** A template with `{name}` for parameters. */
  path: string
  parameters: Parameter[]
  body?: Schema | undefined
  /** Example bodies of a request. */
  examples: unknown[]
  needsKey: boolean
  /** All methods of its path. */
  methods: string[]
}

/** The keywords that requests.ts supports. Others throw, so that nothing stays untested. */
const keywords = [
  ...[
    'type',
    'enum',
    'minLength',
    'maxLength',
    'pattern',
    'minimum',
    'maximum',
    'required',
    'properties',
  ],
  ...[
    'additionalProperties',
    'minProperties',
    'items',
    'minItems',
    'maxItems',
    'uniqueItems',
    'default',
  ],
  // These forbid nothing. The format of an integer is covered by its bounds, which the linter
  // requires.
  ...['example', 'description', 'format', 'title'],
]
const formats = ['int32', 'int64', undefined]

type Json = Record<string, unknown>
type PathItem = { parameters?: Parameter[] } & Record<string, RawOperation>
type RawOperation = {
  operationId: string
  parameters?: Parameter[]
  requestBody?: {
    content: {
      'application/json': { schema: Schema; examples?: Record<string, { value: unknown }> }
    }
  }
  security?: object[]
}

export function operationsOf(document: { paths: object; security?: object[] }): Operation[] {
  return Object.entries<PathItem>(resolved(document.paths, document)).flatMap(([path, item]) => {
    const own = ['get', 'post', 'put', 'patch', 'delete'].filter((method) => item[method])
    const methods = own.map((method) => method.toUpperCase())
    return own.flatMap((method) => {
      const operation = item[method]
      if (!operation) return []
      const {
        operationId,
        parameters = [],
        requestBody,
        security = document.security ?? [],
      } = operation
      const { schema: body, examples = {} } = requestBody?.content['application/json'] ?? {}
      const all = [...(item.parameters ?? []), ...parameters]
      for (const { schema } of all) assertKnownKeywords(schema)
      if (body) assertKnownKeywords(body)
      const needsKey =
        security.length > 0 && security.every((requirement) => Object.keys(requirement).length > 0)
      return [
        {
          operationId,
          method: method.toUpperCase(),
          path,
          parameters: all,
          body,
          examples: Object.values(examples).map(({ value }) => value),
          needsKey,
          methods,
        },
      ]
    })
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the linters guarantee the types above
export function resolved(value: unknown, document: object): any {
  if (Array.isArray(value)) return value.map((item) => resolved(item, document))
  if (typeof value !== 'object' || value === null) return value
  const { $ref, allOf, ...own } = value as Json & { $ref?: string; allOf?: object[] }
  if ($ref !== undefined) return resolved(at(document, $ref), document)
  const parts = (allOf ?? []).map((part) => resolved(part, document))
  const entries = Object.entries(own).map(([name, part]) => [name, resolved(part, document)])
  return [...parts, Object.fromEntries(entries)].reduce(merged)
}

function at(document: object, reference: string): unknown {
  let found: unknown = document
  for (const segment of reference.slice(2).split('/')) found = (found as Json)[segment]
  return found
}

/** Merges the schemas of an allOf. */
function merged(one: Json, other: Json): Json {
  const both = Object.keys(one).filter(
    (name) => name in other && !['description', 'example'].includes(name),
  )
  if (both.length > 0) throw new Error(`allOf with ${both.join(', ')} twice is not attacked yet`)
  return { ...one, ...other }
}

function assertKnownKeywords(schema: Schema & { format?: string }) {
  const unknown = Object.keys(schema).filter(
    (name) => !keywords.includes(name) && !name.startsWith('x-'),
  )
  if (!formats.includes(schema.format)) unknown.push(`format ${schema.format}`)
  if (schema.type === undefined) unknown.push('a schema without a type')
  if (unknown.length > 0)
    throw new Error(`the document has ${unknown.join(', ')}, which is not attacked yet`)
  for (const part of [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
  ]) {
    assertKnownKeywords(part)
  }
}
