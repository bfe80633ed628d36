import { writeFileSync } from 'node:fs'
import { OpenAPIBackend, type Operation } from 'openapi-backend'
import { describeOperation } from '../src/http/operations.ts'

/**
 * Generates what the server relies on and openapi.d.ts, which is for callers, cannot say: which
 * operations need a key, which parameters validation fills in, what a success of a handler has; and
 * the status of each error, which responses are sent with.
 */

/** Of a response, as openapi-backend has resolved it. */
type Declared = {
  headers?: Record<string, unknown>
  content?: {
    'application/json': {
      schema: { properties: { data: { properties: { code?: { enum: string[] } } } } }
    }
  }
}

/** Headers that http/ adds; to reads, also the ETag. */
const added = [
  'X-Request-Id',
  'Access-Control-Allow-Origin',
  'Cache-Control',
  'Vary',
  'Content-Encoding',
  'RateLimit-Policy',
  'RateLimit',
]

const generated = `${import.meta.dirname}/../generated`
const api = new OpenAPIBackend({ definition: `${generated}/openapi.json`, quick: true })
await api.init()
const operations = api.getOperations()

const responsesOf = ({ responses }: Operation) =>
  Object.entries(responses as Record<string, Declared>)

const union = (names: string[]) => names.map((name) => `'${name}'`).join(' | ') || 'never'

const facts = operations.map((operation) => {
  const { id, isPublic, isRead, parameters } = describeOperation(operation, '')
  const filledIn = parameters
    .filter(({ in: place, schema = {} }) => place === 'query' && 'default' in schema)
    .map(({ name }) => name)
  const [[status, { headers = {} }] = ['', {}]] = responsesOf(operation)
  const own = Object.keys(headers)
    .filter((name) => !added.includes(name) && !(isRead && name === 'ETag'))
    .toSorted()
  const said = `needsKey: ${!isPublic}; query: ${union(filledIn)}`
  return `  ${id}: { ${said}; status: ${status}; headers: ${union(own)} }`
})

const statuses = operations.flatMap(responsesOf).flatMap(([status, { content }]) => {
  const codes = content?.['application/json'].schema.properties.data.properties.code?.enum ?? []
  return codes.map((code): [string, number] => [code, Number(status)])
})

writeFileSync(
  `${generated}/server.d.ts`,
  `/**
 * By operation: whether it needs a key, which parameters have a default, its success, and the
 * headers of that which its handler sets. scripts/server-types.ts writes this.
 */
export interface ServerFacts {
${facts.join('\n')}
}
`,
)

writeFileSync(
  `${generated}/error-statuses.json`,
  `${JSON.stringify(Object.fromEntries(statuses.toSorted()), null, 2)}\n`,
)
