import document from '../../generated/openapi.json' with { type: 'json' }
import type { OperationId } from '../../src/contract/contract.ts'
import type { RequestOptions } from '../support/check.ts'
import type { World } from '../support/world.ts'
import { type Operation, operationsOf } from './operations.ts'

/** A request, as service.request takes it. */
export type Call = [method: string, path: string, options?: RequestOptions]

export const newApp = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }

/**
 * The request that an operation's examples describe: its required parameters, its first body, and a
 * key if it needs one.
 */
export function exampleRequest(
  { method, path, parameters, examples: [json], needsKey }: Operation,
  key: string,
): Call {
  const target = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((target, { name, example }) => target.replace(`{${name}}`, String(example)), path)
  return [method, target, { ...(needsKey && { key }), ...(json !== undefined && { json }) }]
}

/**
 * A request for each operation that succeeds in the world of support/world.ts. The world has the
 * category of the document's examples, and an app with the package name of the full example: the
 * shortest one has none.
 */
export function validRequests({ apps, keys }: World): Record<OperationId, Call> {
  const calls = operationsOf(document).map((operation) => {
    const parameters = operation.parameters.map((one) =>
      one.name === 'id' ? { ...one, example: apps.approved } : one,
    )
    const examples = operation.examples.toSorted(
      (one, other) => JSON.stringify(one).length - JSON.stringify(other).length,
    )
    return [operation.operationId, exampleRequest({ ...operation, parameters, examples }, keys.ada)]
  })
  // Object.fromEntries returns any; the document's operations are those of its types.
  return Object.fromEntries(calls)
}
