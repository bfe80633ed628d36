import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/**
 * Our conventions, as a plugin of Redocly's linter: those that neither its own rules nor assertions in redocly.yaml express.
 * The older Redocly within openapi-typescript reads it too.
 */
export default () => ({
  id: 'conventions',
  rules: {
    oas3: { closed, envelope, files, headers, names, 'operation-id': operationId, paging, parameters, samples },
  },
})

/** Redocly's command line comes without types; this much of them is used here. */
type Location = { source: { absoluteRef: string }; pointer: string; child: (names: string[]) => Location }
type Resolved = { node?: unknown; location?: Location }
type Context = {
  key: string | number
  location: Location
  type: { name: string }
  report: (problem: { message: string; location?: Location }) => void
  resolve: (node: object, from: string) => Resolved
}

type Reference = { $ref?: string }
type Schema = Reference & {
  type?: string
  enum?: unknown[]
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  allOf?: Schema[]
  additionalProperties?: unknown
  minimum?: number
  maximum?: number
  default?: unknown
}
type Response = Reference & { headers?: Record<string, Reference>; content?: Record<string, { schema?: Schema }> }

type Parameter = Reference & { name?: string; schema?: Schema }
type Sample = { label?: string; source?: string | Reference }
type Operation = {
  operationId?: string
  parameters?: Parameter[]
  requestBody?: Response
  responses?: Record<string, Response>
  /** Of a list: it always comes whole. */
  'x-unpaged'?: unknown
  'x-codeSamples'?: Sample[]
}
type PathItem = { parameters?: Parameter[] } & Partial<Record<Method, Operation>>

const verbs = { get: 'get', post: 'create', put: 'update', patch: 'update', delete: 'delete' } as const
type Method = keyof typeof verbs
type Verb = (typeof verbs)[Method] | 'list'
const methods = Object.keys(verbs) as Method[]

/** What an operation does, in a word. */
const verbOf = (method: Method, path: string): Verb =>
  method === 'get' && !path.endsWith('}') ? 'list' : verbs[method]

/** Every JSON answer is the envelope, and that of an error tells by its codes which status it has. */
function envelope() {
  const told = new Set<string>()
  const statuses = new Map<unknown, string>()
  return {
    Operation({ responses = {} }: Operation, context: Context) {
      for (const [status, response] of Object.entries(responses)) {
        const [{ content }, at] = follow(response, context.location.child(['responses', status]), context)
        const body = content?.['application/json']
        if (!body) continue
        const place = at.child(['content', 'application/json', 'schema'])
        const [schema, location] = follow(body.schema ?? {}, place, context)
        const resolved = (node: Schema) => follow(node, location, context)[0]
        const [data, dataAt] = follow(schema.properties?.data ?? {}, location, context)
        const codes = follow(data.properties?.code ?? {}, dataAt, context)[0].enum ?? []
        const problems = [
          ...envelopeProblems(schema, status, codes, resolved),
          ...(isSuccess(status)
            ? []
            : errorProblems(nameOf(response), body.schema ?? {}, schema.properties?.data ?? {})),
        ]
        for (const code of isSuccess(status) ? [] : codes) {
          const other = statuses.get(code) ?? status
          statuses.set(code, other)
          if (other !== status) problems.push(`Give each status codes of its own: ${code} is of ${other}, too`)
        }
        for (const message of problems) {
          const finding = `${location.source.absoluteRef}${location.pointer} ${message}`
          // Many answers share a schema.
          if (!told.has(finding)) context.report({ message, location })
          told.add(finding)
        }
      }
    },
  }
}

const isSuccess = (status: string) => /^[123]/.test(status)

const parts = ['data', 'message', 'success']

function envelopeProblems(
  schema: Schema,
  status: string,
  codes: unknown[],
  resolved: (node: Schema) => Schema,
): string[] {
  const { type, required = [], properties = {} } = schema
  if (type !== 'object' || !hasExactly(parts, required) || !hasExactly(parts, Object.keys(properties))) {
    return [`Write the envelope flat: ${parts.toReversed().join(', ')}, all required`]
  }
  const { success = {}, message = {}, data = {} } = properties
  const value = isSuccess(status)
  const { type: kind, enum: values = [] } = resolved(success)
  const demands: [isMet: boolean, advice: string][] = [
    [
      kind === 'boolean' && values.length === 1 && values[0] === value,
      `Let success be a boolean with enum: [${value}]`,
    ],
    [resolved(message).type === 'string', 'Let message be a string'],
    [
      data.$ref !== undefined && resolved(data).type === 'object',
      'Let data be the $ref of an object schema with a file of its own',
    ],
    [
      value || (codes.length > 0 && resolved(data).required?.includes('code') === true),
      'Require data.code of an error, with an enum of the codes that it can carry',
    ],
  ]
  return demands.filter(([isMet]) => !isMet).map(([, advice]) => advice)
}

/** A caller who knows the answer knows by these names what to read. What comes before them tells of a variant of the answer. */
function errorProblems(name: string, envelope: Reference, data: Reference): string[] {
  const own = nameOf(data).replace(/Error$/, '')
  if (nameOf(envelope) === `${own}Envelope` && nameOf(data) === `${own}Error` && name.endsWith(own)) return []
  return [`Give the error ${name} an envelope of its own, schemas/${name}Envelope.yaml, with data in ${name}Error.yaml`]
}

const hasExactly = (wanted: string[], found: string[]) => found.toSorted().join() === wanted.join()

const toClose = 'Close what a request has: additionalProperties: false'
const toOpen = 'Leave additionalProperties out of an answer: fields may come'

/**
 * A request is closed: what it says and nobody knows is refused. An answer is open, for fields may come; `true` would say
 * the same, and gives generated types an index, so that any name may be read from them or set.
 */
function closed() {
  const seen = new Set<string>()
  return {
    Operation({ requestBody, responses = {} }: Operation, context: Context) {
      const look = (node: Schema, at: Location, isRequest: boolean) => {
        const [schema, location] = follow(node, at, context)
        const place = `${location.source.absoluteRef}${location.pointer} ${isRequest}`
        // Many bodies share a schema.
        if (seen.has(place)) return
        seen.add(place)
        const { type, additionalProperties, properties = {}, items, allOf = [] } = schema
        if (type === 'object' && additionalProperties !== (isRequest ? false : undefined)) {
          context.report({ message: isRequest ? toClose : toOpen, location })
        }
        const parts = [...Object.values(properties), ...(items ? [items] : []), ...allOf]
        for (const [index, part] of parts.entries()) look(part, location.child([String(index)]), isRequest)
      }
      const [body, bodyAt] = follow(requestBody ?? {}, context.location.child(['requestBody']), context)
      for (const { schema } of Object.values(body.content ?? {})) if (schema) look(schema, bodyAt, true)
      for (const [status, response] of Object.entries(responses)) {
        const [{ content = {} }, at] = follow(response, context.location.child(['responses', status]), context)
        for (const { schema } of Object.values(content)) if (schema) look(schema, at, false)
      }
    },
  }
}

/** operationId says what the method does, and to what. */
function operationId() {
  return eachOperation(({ operation, verb, location }, { report }) => {
    if (new RegExp(`^${verb}([A-Z][a-z0-9]*)+$`).test(operation.operationId ?? '')) return
    report({ message: `Begin the operationId with ${verb}, and a noun in camelCase`, location })
  })
}

/** Reads take If-None-Match, changes If-Match. */
function parameters() {
  return eachOperation(({ verb, parameters, location }, { report }) => {
    const name = conditionOf[verb]
    if (name !== undefined && !parameters.has(name)) report({ message: `Add the parameter ${name}`, location })
  })
}

/** A list has a page and a limit that are bounded, or says `x-unpaged: true`: it always comes whole. */
function paging() {
  return eachOperation(({ verb, parameters, location, operation }, context) => {
    const { 'x-unpaged': unpaged } = operation
    const report = (message: string, at = location) => context.report({ message, location: at })
    if (unpaged !== undefined && (verb !== 'list' || unpaged !== true)) {
      report('Let x-unpaged be true, of a list, or leave it out')
    }
    if (verb !== 'list') return
    for (const name of ['page', 'limit']) {
      const [parameter, at] = parameters.get(name) ?? []
      if (!parameter || !at) {
        if (!unpaged) report(`Add the parameter ${name}, or x-unpaged: true where the list always comes whole`)
      } else if (unpaged) report(`Delete x-unpaged or ${name}: a list that always comes whole has none`, at)
      else if (!isBounded(follow(parameter.schema ?? {}, at, context)[0])) {
        report(`Give ${name} a minimum, a maximum and a default`, at)
      }
    }
  })
}

type Visited = {
  operation: Operation
  verb: Verb
  location: Location
  /** Its own and its path's, by name. */
  parameters: Map<string | undefined, [Parameter, Location]>
}

function eachOperation(visit: (visited: Visited, context: Context) => void) {
  return {
    PathItem(item: PathItem, context: Context) {
      for (const method of methods) {
        const operation = item[method]
        if (!operation) continue
        const location = context.location.child([method])
        const found = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((parameter) =>
          follow(parameter, location, context),
        )
        const parameters = new Map(found.map((one) => [one[0].name, one]))
        visit({ operation, verb: verbOf(method, String(context.key)), location, parameters }, context)
      }
    },
  }
}

const conditionOf: Partial<Record<Verb, string>> = {
  list: 'If-None-Match',
  get: 'If-None-Match',
  update: 'If-Match',
  delete: 'If-Match',
}

const isBounded = ({ minimum, maximum, default: usual }: Schema) =>
  [minimum, maximum, usual].every((value) => value !== undefined)

/** By the label of a sample, how its file's name ends. */
const languages = { curl: 'sh', TypeScript: 'ts', Python: 'py' }

/** Every operation has a sample in each language, in a file that is named after it. */
function samples() {
  return {
    Operation({ operationId, 'x-codeSamples': found = [] }: Operation, { location, report }: Context) {
      // A bundle has the samples themselves.
      if (location.source.absoluteRef.endsWith('.json')) return
      for (const [label, extension] of Object.entries(languages)) {
        const file = `../samples/${operationId}.${extension}`
        const sample = found.find((one) => one.label === label)
        if (typeof sample?.source === 'object' && sample.source.$ref === file) continue
        report({ message: `Add a sample to x-codeSamples: label ${label}, source $ref ${file}`, location })
      }
    },
  }
}

/** What http/ adds to every answer, or where a limit counted it. */
const addedHeaders = [
  ...['RateLimit-Policy', 'RateLimit', 'Cache-Control', 'Vary', 'Content-Encoding'],
  ...['X-Request-Id', 'Access-Control-Allow-Origin'],
]

/** A page shows headers in the document's order, so what is particular to an answer stands before what all have. */
function headers() {
  return {
    Response({ headers: found = {} }: Response, { location, report }: Context) {
      const names = Object.keys(found)
      const added = names.findIndex((name) => addedHeaders.includes(name))
      const late = names.findLast((name, index) => index > added && !addedHeaders.includes(name))
      if (added !== -1 && late !== undefined) {
        report({ message: `Move ${late} up, before ${names[added]}, which many answers have`, location })
      }
    },
  }
}

const folders: Record<string, string> = {
  Example: 'examples',
  Header: 'headers',
  Parameter: 'parameters',
  PathItem: 'paths',
  Response: 'responses',
  Schema: 'schemas',
}

/** A file a thing, in the folder of its kind, with the name that it has in the bundle; and none that nothing refers to. */
function files() {
  const used = new Set<string>()
  return {
    ref: {
      enter({ $ref }: { $ref: string }, { key, location, type, report }: Context, target: Resolved) {
        const file = target.location?.source.absoluteRef
        if (file === undefined || file === location.source.absoluteRef) return
        used.add(file)
        const folder = folders[type.name]
        if (folder === undefined) return
        const name = basename(file, '.yaml')
        const own = type.name === 'PathItem' ? String(key).slice(1).replaceAll('/', '_') : pascalCase(name)
        if ($ref.includes('#') || basename(dirname(file)) !== folder || name !== own) {
          report({ message: `Keep this in openapi/${folder}/${own}.yaml, and refer to the whole file`, location })
        }
      },
    },
    Root: {
      leave(_root: unknown, { location, report }: Context) {
        // A bundle has no files of its own to look for.
        if (used.size === 0) return
        const folder = dirname(location.source.absoluteRef)
        for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
          const file = join(entry.parentPath, entry.name)
          // What lies beside the root is a document of its own.
          if (!entry.isFile() || entry.parentPath === folder || used.has(file)) continue
          report({ message: `Refer to ${relative(folder, file)} or delete it: nothing does`, location })
        }
      },
    },
  }
}

/** Kinds of components that generators write into one name space. */
const namedKinds = ['Header', 'Parameter', 'Response', 'Schema']

/** https://tc39.es/ecma262/#prod-ReservedWord, and those of strict mode. */
const reservedWords = new Set(
  `await break case catch class const continue debugger default delete do else enum export extends false finally for
  function if implements import in instanceof interface let new null package private protected public return static
  super switch this throw true try typeof var void while with yield`.split(/\s+/),
)

/** No two components have the same name, whatever its case; no list of values has one that is a word of the language. */
function names() {
  const files = new Map<string, Set<string>>()
  return {
    ref: {
      enter(_ref: unknown, { location, type }: Context, target: Resolved) {
        const file = target.location?.source.absoluteRef
        if (file === undefined || file === location.source.absoluteRef || !namedKinds.includes(type.name)) return
        const name = basename(file, '.yaml').toLowerCase()
        files.set(name, (files.get(name) ?? new Set()).add(`${basename(dirname(file))}/${basename(file)}`))
      },
    },
    Schema({ properties = {} }: Schema, { location, report }: Context) {
      for (const [name, { enum: values }] of Object.entries(properties)) {
        if (values === undefined || !reservedWords.has(name)) continue
        const message = `Give the values of ${name} a file of their own: generators name them after the field, a reserved word`
        report({ message, location: location.child(['properties', name]) })
      }
    },
    Root: {
      leave(_root: unknown, { location, report }: Context) {
        for (const alike of files.values()) {
          if (alike.size === 1) continue
          report({
            message: `Rename all but one: ${[...alike].toSorted().join(', ')} are one name to generators`,
            location,
          })
        }
      },
    },
  }
}

const pascalCase = (name: string) =>
  name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]?)/g, (_, letter: string) => letter.toUpperCase())

/** As a reference names it, in a file or in a bundle. */
const nameOf = ({ $ref = '' }: Reference) => basename($ref, '.yaml')

/** What a node is or refers to, and where that stands. An unknown reference is for another rule to report. */
function follow<T extends Reference>(node: T, at: Location, { resolve }: Context): [T, Location] {
  if (node.$ref === undefined) return [node, at]
  const { node: found, location } = resolve(node, at.source.absoluteRef)
  return found && location ? [found as T, location] : [node, at]
}
