import { writeFileSync } from 'node:fs'
import { OpenAPIBackend } from 'openapi-backend'
import { describeOperation } from '../src/http/operations.ts'

/**
 * Generates what handlers rely on and openapi.d.ts, which is for callers, cannot say: which
 * operations need a key, and which values validation fills in. A default deeper within a body is
 * left out, so its value stays optional.
 */

type Value = { name: string; schema?: object }
type Body = { content: { 'application/json': { schema: { properties?: Record<string, object> } } } }

const generated = `${import.meta.dirname}/../generated`
const api = new OpenAPIBackend({ definition: `${generated}/openapi.json`, quick: true })
await api.init()
const facts = api.getOperations().map((operation) => {
  const { id, isPublic, parameters } = describeOperation(operation, '')
  const query = parameters.filter((parameter) => parameter.in === 'query')
  // openapi-backend has resolved the document's references; its type does not say so.
  const body = operation.requestBody as Body | undefined
  const fields = Object.entries(body?.content['application/json'].schema.properties ?? {})
  const bodyFields = fields.map(([name, schema]) => ({ name, schema }))
  return `  ${id}: { needsKey: ${!isPublic}; query: ${defaulted(query)}; body: ${defaulted(bodyFields)} }`
})

writeFileSync(
  `${generated}/server.d.ts`,
  `/** By operation: whether it needs a key, and what has a default. scripts/server-types.ts writes this. */
export interface ServerFacts {
${facts.join('\n')}
}
`,
)

function defaulted(values: Value[]): string {
  const names = values
    .filter(({ schema = {} }) => 'default' in schema)
    .map(({ name }) => `'${name}'`)
  return names.join(' | ') || 'never'
}
