import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/**
 * Our conventions, as a plugin of Redocly's linter: those that neither its own rules nor assertions in redocly.yaml express.
 * The older Redocly within openapi-typescript reads it too.
 */
export default () => ({
  id: 'conventions',
  rules: { oas3: { envelope, files, names, 'operation-id': operationId, paging, parameters, samples } },
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
  additionalProperties?: unknown
  minimum?: number
  maximum?: number
  default?: unknown
}
type Response = Reference & { content?: Record<string, { schema?: Schema }> }
type Parameter = Reference & { name?: string; schema?: Schema }
type Sample = { label?: string; source?: string | Reference }
type Operation = {
  operationId?: string
  parameters?: Parameter[]
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

/** Every JSON answer is the envelope. */
function envelope() {
  const told = new Set<string>()
  return {
    Operation({ responses = {} }: Operation, context: Context) {
      for (const [status, response] of Object.entries(responses)) {
        const [{ content }, at] = follow(response, context.location.child(['responses', status]), context)
        const body = content?.['application/json']
        if (!body) continue
        const place = at.child(['content', 'application/json', 'schema'])
        const [schema, location] = follow(body.schema ?? {}, place, context)
        for (const message of envelopeProblems(schema, status, (node) => follow(node, location, context)[0])) {
          const finding = `${location.source.absoluteRef}${location.pointer} ${message}`
          // Many answers share a schema.
          if (!told.has(finding)) context.report({ message, location })
          told.add(finding)
        }
      }
    },
  }
}

const parts = ['data', 'message', 'success']

function envelopeProblems(schema: Schema, status: string, resolved: (node: Schema) => Schema): string[] {
  const { type, additionalProperties, required = [], properties = {} } = schema
  const isClosed = type === 'object' && additionalProperties === false
  if (!isClosed || !hasExactly(parts, required) || !hasExactly(parts, Object.keys(properties))) {
    return [`Write the envelope flat: ${parts.toReversed().join(', ')}, all required, additionalProperties: false`]
  }
  const { success = {}, message = {}, data = {} } = properties
  const value = /^[123]/.test(status)
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
  ]
  return demands.filter(([isMet]) => !isMet).map(([, advice]) => advice)
}

const hasExactly = (wanted: string[], found: string[]) => found.toSorted().join() === wanted.join()

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

/** What a node is or refers to, and where that stands. An unknown reference is for another rule to report. */
function follow<T extends Reference>(node: T, at: Location, { resolve }: Context): [T, Location] {
  if (node.$ref === undefined) return [node, at]
  const { node: found, location } = resolve(node, at.source.absoluteRef)
  return found && location ? [found as T, location] : [node, at]
}
