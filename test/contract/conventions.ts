import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { parse } from 'yaml'

/**
 * A plugin of Redocly's linter with those conventions that neither its rules nor assertions in
 * redocly.yaml can express. The older Redocly within openapi-typescript reads it too.
 */
export default () => ({
  id: 'conventions',
  rules: {
    oas3: {
      closed,
      envelope,
      files,
      headers,
      names,
      'operation-id': operationId,
      paging,
      parameters,
      samples,
    },
  },
})

/** Redocly's command line has no types; these are the parts used here. */
type Location = {
  source: { absoluteRef: string }
  pointer: string
  child: (names: string[]) => Location
}
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
type Response = Reference & {
  headers?: Record<string, Reference>
  content?: Record<string, { schema?: Schema }>
}

type Parameter = Reference & { name?: string; schema?: Schema }
type Sample = { label?: string; source?: string }
type Operation = {
  operationId?: string
  parameters?: Parameter[]
  requestBody?: Response
  responses?: Record<string, Response>
  /** A list without pages. */
  'x-unpaged'?: unknown
  /** How generated clients read all pages. */
  'x-redoclyPagination'?: { style?: string }
  'x-codeSamples'?: Sample[]
}
type PathItem = { parameters?: Parameter[] } & Partial<Record<Method, Operation>>

const verbs = {
  get: 'get',
  post: 'create',
  put: 'update',
  patch: 'update',
  delete: 'delete',
} as const
type Method = keyof typeof verbs
type Verb = (typeof verbs)[Method] | 'list'
const methods = Object.keys(verbs) as Method[]

/** The verb that an operationId begins with. */
const verbOf = (method: Method, path: string): Verb =>
  method === 'get' && !path.endsWith('}') ? 'list' : verbs[method]

/** Every JSON response is an envelope, and an error code belongs to one status. */
function envelope() {
  const reported = new Set<string>()
  const statuses = new Map<unknown, string>()
  return {
    Operation({ responses = {} }: Operation, context: Context) {
      for (const [status, response] of Object.entries(responses)) {
        const [{ content }, at] = follow(
          response,
          context.location.child(['responses', status]),
          context,
        )
        const body = content?.['application/json']
        if (!body) continue
        const place = at.child(['content', 'application/json', 'schema'])
        const [schema, location] = follow(body.schema ?? {}, place, context)
        const resolved = (node: Schema) => follow(node, location, context)[0]
        const [data, dataAt] = follow(schema.properties?.data ?? {}, location, context)
        const codes = follow(data.properties?.code ?? {}, dataAt, context)[0].enum ?? []
        const problems = [
          ...(body.schema?.$ref === undefined ? [toName] : []),
          ...envelopeProblems(schema, status, codes, resolved),
          ...(isSuccess(status) ? [] : errorProblems(nameOf(response), location, dataAt)),
        ]
        for (const code of isSuccess(status) ? [] : codes) {
          const other = statuses.get(code) ?? status
          statuses.set(code, other)
          if (other !== status)
            problems.push(`Give each status its own codes: ${code} also belongs to ${other}`)
        }
        for (const message of problems) {
          const finding = `${location.source.absoluteRef}${location.pointer} ${message}`
          // Many responses share a schema.
          if (!reported.has(finding)) context.report({ message, location })
          reported.add(finding)
        }
      }
    },
  }
}

/** A generated client in Python has no type for a schema without a name. */
const toName = 'Let the schema be the $ref of an envelope, which gives it a name'

const isSuccess = (status: string) => /^[123]/.test(status)

const parts = ['data', 'message', 'success']

function envelopeProblems(
  schema: Schema,
  status: string,
  codes: unknown[],
  resolved: (node: Schema) => Schema,
): string[] {
  const { type, required = [], properties = {} } = schema
  if (
    type !== 'object' ||
    !hasExactly(parts, required) ||
    !hasExactly(parts, Object.keys(properties))
  ) {
    return [`Write the envelope flat: ${parts.toReversed().join(', ')}, all required`]
  }
  const { success = {}, message = {}, data = {} } = properties
  const value = isSuccess(status)
  const { type: kind, enum: values = [] } = resolved(success)
  const requirements: [isMet: boolean, advice: string][] = [
    [
      kind === 'boolean' && values.length === 1 && values[0] === value,
      `Let success be a boolean with enum: [${value}]`,
    ],
    [resolved(message).type === 'string', 'Let message be a string'],
    [
      data.$ref !== undefined && resolved(data).type === 'object',
      'Let data be the $ref of an object schema, which gives it a name',
    ],
    [
      value || (codes.length > 0 && resolved(data).required?.includes('code') === true),
      'Require data.code of an error, with an enum of the codes that it can carry',
    ],
  ]
  return requirements.filter(([isMet]) => !isMet).map(([, advice]) => advice)
}

/**
 * Callers find an error's schema by its name: the response's name ends with that of its envelope
 * and data. A response without a name is written where its path is. A schema with a file of its own
 * has no name in its pointer.
 */
function errorProblems(name: string, envelope: Location, data: Location): string[] {
  const own = basename(data.pointer).replace(/Error$/, '')
  const areNamed =
    basename(envelope.pointer) === `${own}Envelope` && basename(data.pointer) === `${own}Error`
  if (areNamed && (name === '' || name.endsWith(own))) return []
  return [
    `Give the error ${name} its own ${name}Envelope, with data in ${name}Error, both in schemas/errors.yaml`,
  ]
}

const hasExactly = (wanted: string[], found: string[]) => found.toSorted().join() === wanted.join()

const toClose = 'Close the request: additionalProperties: false'
const toOpen = 'Leave additionalProperties out of a response, so that fields can be added'

/**
 * Requests are closed, so that unknown fields are errors. Responses are open, so that fields can be
 * added; they leave `additionalProperties` out, because `true` would give generated types an index
 * signature.
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
        for (const [index, part] of parts.entries())
          look(part, location.child([String(index)]), isRequest)
      }
      const [body, bodyAt] = follow(
        requestBody ?? {},
        context.location.child(['requestBody']),
        context,
      )
      for (const { schema } of Object.values(body.content ?? {}))
        if (schema) look(schema, bodyAt, true)
      for (const [status, response] of Object.entries(responses)) {
        const [{ content = {} }, at] = follow(
          response,
          context.location.child(['responses', status]),
          context,
        )
        for (const { schema } of Object.values(content)) if (schema) look(schema, at, false)
      }
    },
  }
}

/** An operationId is a verb for the method, and a noun. */
function operationId() {
  return eachOperation(({ operation, verb, location }, { report }) => {
    if (new RegExp(`^${verb}([A-Z][a-z0-9]*)+$`).test(operation.operationId ?? '')) return
    report({ message: `Begin the operationId with ${verb}, and a noun in camelCase`, location })
  })
}

/** Reads have If-None-Match, changes If-Match. */
function parameters() {
  return eachOperation(({ verb, parameters, location }, { report }) => {
    const name = conditionOf[verb]
    if (name !== undefined && !parameters.has(name))
      report({ message: `Add the parameter ${name}`, location })
  })
}

/**
 * A list has a bounded page and limit, and says how clients read all pages; or it has `x-unpaged:
 * true`.
 */
function paging() {
  return eachOperation(({ verb, parameters, location, operation }, context) => {
    const { 'x-unpaged': unpaged } = operation
    const report = (message: string, at = location) => context.report({ message, location: at })
    if (unpaged !== undefined && (verb !== 'list' || unpaged !== true)) {
      report('Use x-unpaged only in a list, with the value true')
    }
    if (verb !== 'list') return
    if (!unpaged && operation['x-redoclyPagination']?.style !== 'link') {
      report('Add x-redoclyPagination with style: link, by which generated clients read all pages')
    }
    for (const name of ['page', 'limit']) {
      const [parameter, at] = parameters.get(name) ?? []
      if (!parameter || !at) {
        if (!unpaged)
          report(
            `Add the parameter ${name}, or x-unpaged: true if the list is always returned whole`,
          )
      } else if (unpaged)
        report(`Delete x-unpaged or ${name}: a list without pages has neither`, at)
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
  /** Those of the operation and its path, by name. */
  parameters: Map<string | undefined, [Parameter, Location]>
}

function eachOperation(visit: (visited: Visited, context: Context) => void) {
  return {
    PathItem(item: PathItem, context: Context) {
      for (const method of methods) {
        const operation = item[method]
        if (!operation) continue
        const location = context.location.child([method])
        const found = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(
          (parameter) => follow(parameter, location, context),
        )
        const parameters = new Map(found.map((one) => [one[0].name, one]))
        visit(
          { operation, verb: verbOf(method, String(context.key)), location, parameters },
          context,
        )
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

/** The characters of a line that /docs shows without scrolling. */
const sampleWidth = 56

/** Every operation has a sample in each language. */
function samples() {
  return {
    Operation({ 'x-codeSamples': samples = [] }: Operation, { location, report }: Context) {
      for (const label of ['curl', 'TypeScript', 'Python']) {
        const { source } = samples.find((sample) => sample.label === label) ?? {}
        if (source === undefined)
          report({ message: `Add a sample with the label ${label} to x-codeSamples`, location })
        else if (source.split('\n').some((line) => line.length > sampleWidth)) {
          report({
            message: `Break the lines of the ${label} sample at ${sampleWidth} characters`,
            location,
          })
        }
      }
    },
  }
}

/** Headers that http/ adds to every response, or to those that a limit counted. */
const addedHeaders = [
  ...['RateLimit-Policy', 'RateLimit', 'Cache-Control', 'Vary', 'Content-Encoding'],
  ...['X-Request-Id', 'Access-Control-Allow-Origin'],
]

/**
 * The docs page shows headers in the document's order, so a response's particular headers come
 * first.
 */
function headers() {
  return {
    Response({ headers: found = {} }: Response, { location, report }: Context) {
      const names = Object.keys(found)
      const added = names.findIndex((name) => addedHeaders.includes(name))
      const late = names.findLast((name, index) => index > added && !addedHeaders.includes(name))
      if (added !== -1 && late !== undefined) {
        report({
          message: `Move ${late} up, before ${names[added]}, which many responses have`,
          location,
        })
      }
    },
  }
}

/** Files in openapi/ that hold several components. */
const sharedFiles = [
  ...['headers.yaml', 'parameters.yaml', 'responses.yaml', 'schemas/errors.yaml'],
  'examples/tide-clock.yaml',
]

/** The places in openapi/ that a component of each kind may have. */
const placesOf: Record<string, (name: string) => [string, ...string[]]> = {
  Example: (name) => [`examples/${name}.yaml`, `examples/tide-clock.yaml#/${name}`],
  Header: (name) => [`headers.yaml#/${name}`],
  Parameter: (name) => [`parameters.yaml#/${name}`],
  PathItem: (name) => [`paths/${name}.yaml`],
  Response: (name) => [`responses.yaml#/${name}`],
  Schema: (name) => [`schemas/${name}.yaml`, `schemas/errors.yaml#/${name}`],
}

/** Each component is in the place of its kind, under its name in the bundle. None is unused. */
function files() {
  let folder = ''
  const used = new Set<string>()
  return {
    ref: {
      enter(
        _ref: unknown,
        { key, location, type, report }: Context,
        { location: target }: Resolved,
      ) {
        // A bundle is a single file.
        if (target === undefined || target.pointer.startsWith('#/components/')) return
        const place = placeOf(target, folder)
        used.add(place)
        const name =
          type.name === 'PathItem'
            ? String(key).slice(1).replaceAll('/', '_')
            : pascalCase(nameAt(target))
        const places = placesOf[type.name]?.(name) ?? [place]
        if (!places.includes(place)) {
          report({ message: `Keep this in openapi/${places[0]}, and refer to it there`, location })
        }
      },
    },
    Root: {
      enter(_root: unknown, { location }: Context) {
        folder = dirname(location.source.absoluteRef)
      },
      leave(_root: unknown, { location, report }: Context) {
        if (used.size === 0) return
        for (const place of placesIn(folder)) {
          if (!used.has(place))
            report({ message: `Refer to ${place} or delete it: nothing does`, location })
        }
      },
    },
  }
}

/** The components in a folder, as `placeOf` returns them. */
function placesIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  return files.flatMap((file) => {
    if (sharedFiles.includes(file)) {
      const entries: object = parse(readFileSync(join(folder, file), 'utf8'))
      return Object.keys(entries).map((name) => `${file}#/${name}`)
    }
    // Other files beside the root are separate documents.
    return basename(file) === file ? [] : [file]
  })
}

/** A file in the folder, and the pointer into it unless the whole file is meant. */
const placeOf = ({ source, pointer }: Location, folder: string) =>
  `${relative(folder, source.absoluteRef)}${pointer === '#/' ? '' : pointer}`

/** The name of a component in the bundle: that of its entry or file. */
const nameAt = ({ source, pointer }: Location) =>
  basename(pointer === '#/' ? source.absoluteRef : pointer, '.yaml')

/** Kinds of components that generators put into one namespace. */
const namedKinds = ['Header', 'Parameter', 'Response', 'Schema']

/** https://tc39.es/ecma262/#prod-ReservedWord, and those of strict mode. */
const reservedWords = new Set(
  `await break case catch class const continue debugger default delete do else enum export extends false finally for
  function if implements import in instanceof interface let new null package private protected public return static
  super switch this throw true try typeof var void while with yield`.split(/\s+/),
)

/** Component names are unique regardless of case, and no enum is named after a reserved word. */
function names() {
  const components = new Map<string, Set<string>>()
  return {
    ref: {
      enter(_ref: unknown, { type }: Context, { location: target }: Resolved) {
        if (target === undefined || !namedKinds.includes(type.name)) return
        const name = nameAt(target)
        const alike = components.get(name.toLowerCase()) ?? new Set()
        components.set(name.toLowerCase(), alike.add(`the ${type.name.toLowerCase()} ${name}`))
      },
    },
    Schema({ properties = {} }: Schema, { location, report }: Context) {
      for (const [name, { enum: values }] of Object.entries(properties)) {
        if (values === undefined || !reservedWords.has(name)) continue
        const message = `Give the values of ${name} their own file: generators name them after the field, a reserved word`
        report({ message, location: location.child(['properties', name]) })
      }
    },
    Root: {
      leave(_root: unknown, { location, report }: Context) {
        for (const alike of components.values()) {
          if (alike.size === 1) continue
          report({
            message: `Rename all but one: ${[...alike].toSorted().join(', ')} have the same name for generators`,
            location,
          })
        }
      },
    },
  }
}

const pascalCase = (name: string) =>
  name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]?)/g, (_, letter: string) => letter.toUpperCase())

/** The name that a reference gives a component, in files and in a bundle. */
const nameOf = ({ $ref = '' }: Reference) => basename($ref, '.yaml')

/** A node, or what it refers to, and its location. Another rule reports unknown references. */
function follow<T extends Reference>(node: T, at: Location, { resolve }: Context): [T, Location] {
  if (node.$ref === undefined) return [node, at]
  const { node: found, location } = resolve(node, at.source.absoluteRef)
  return found && location ? [found as T, location] : [node, at]
}
