import { writeFileSync } from 'node:fs'
import { OpenAPIBackend } from 'openapi-backend'
import { describeOperation } from '../src/http/operations.ts'

/**
 * Generates what handlers rely on and openapi.d.ts, which is for callers, cannot say: which
 * operations need a key, and which parameters validation fills in.
 */

const generated = `${import.meta.dirname}/../generated`
const api = new OpenAPIBackend({ definition: `${generated}/openapi.json`, quick: true })
await api.init()
const facts = api.getOperations().map((operation) => {
  const { id, isPublic, parameters } = describeOperation(operation, '')
  const filledIn = parameters
    .filter(({ in: place, schema = {} }) => place === 'query' && 'default' in schema)
    .map(({ name }) => `'${name}'`)
  return `  ${id}: { needsKey: ${!isPublic}; query: ${filledIn.join(' | ') || 'never'} }`
})

writeFileSync(
  `${generated}/server.d.ts`,
  `/** By operation: whether it needs a key, and which parameters have a default. scripts/server-types.ts writes this. */
export interface ServerFacts {
${facts.join('\n')}
}
`,
)
