import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/**
 * Our conventions, as a plugin of Redocly's linter: those that neither its own rules nor assertions in redocly.yaml express.
 * The older Redocly within openapi-typescript reads it too.
 */
export default () => ({
  id: 'conventions',
  rules: { oas3: { envelope, files, 'operation-id': operationId, parameters } },
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
type Operation = { operationId?: string; parameters?: Parameter[]; responses?: Record<string, Response> }
type PathItem = { parameters?: Parameter[] } & Partial<Record<Method, Operation>>

const verbs = { get: 'get', post: 'create', put: 'update', patch: 'update', delete: 'delete' } as const
type Method = keyof typeof verbs
const methods = Object.keys(verbs) as Method[]

/** What an operation does, in a word. */
const verbOf = (method: Method, path: string) => (method === 'get' && !path.endsWith('}') ? 'list' : verbs[method])

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
  return {
    PathItem(item: PathItem, { key, location, report }: Context) {
      for (const method of methods) {
        const operation = item[method]
        const verb = verbOf(method, String(key))
        if (!operation || new RegExp(`^${verb}([A-Z][a-z0-9]*)+$`).test(operation.operationId ?? '')) continue
        report({
          message: `Begin the operationId with ${verb}, and a noun in camelCase`,
          location: location.child([method]),
        })
      }
    },
  }
}

/** Reads take If-None-Match, changes If-Match, and lists a page and a limit that are bounded. */
function parameters() {
  return {
    PathItem(item: PathItem, context: Context) {
      for (const method of methods) {
        const operation = item[method]
        if (!operation) continue
        const location = context.location.child([method])
        const found = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((parameter) =>
          follow(parameter, location, context),
        )
        for (const name of parametersOf[verbOf(method, String(context.key))]) {
          const [parameter, at] = found.find(([one]) => one.name === name) ?? []
          if (!parameter || !at) context.report({ message: `Add the parameter ${name}`, location })
          else if (bounded.includes(name) && !isBounded(follow(parameter.schema ?? {}, at, context)[0])) {
            context.report({ message: `Give ${name} a minimum, a maximum and a default`, location: at })
          }
        }
      }
    },
  }
}

const bounded = ['page', 'limit']

const parametersOf: Record<ReturnType<typeof verbOf>, string[]> = {
  list: [...bounded, 'If-None-Match'],
  get: ['If-None-Match'],
  create: [],
  update: ['If-Match'],
  delete: ['If-Match'],
}

const isBounded = ({ minimum, maximum, default: usual }: Schema) =>
  [minimum, maximum, usual].every((value) => value !== undefined)

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
          report({ message: `Delete ${relative(folder, file)} or refer to it: nothing does`, location })
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
