import document from '../../../generated/openapi.json' with { type: 'json' }
import { type Operation, operationsOf } from '../../contract/operations.ts'
import type { Client } from './contract.ts'

/**
 * The arguments of a call by place. Query and header are present if the operation has such
 * parameters.
 */
export type Arguments = { path?: object; query?: object; header?: object; body?: unknown }

type Answer = { status: number; headers: Headers; body: unknown }

/**
 * Exported by each client's adapter.ts: connects to a service and returns a function that calls any
 * of its operations.
 */
export type Connect = (baseUrl: string, key?: string) => Call | Promise<Call>
type Call = (operation: Operation, args: Arguments) => Promise<Answer>

export const operations = operationsOf(document)

/** A client with a function for each operation of the document. */
export async function connectClient(
  connect: Connect,
  baseUrl: string,
  key?: string,
): Promise<Client> {
  const call = await connect(baseUrl, key)
  const functions = operations.map((operation) => {
    const optional = operation.parameters.filter((parameter) => parameter.in !== 'path')
    const empty: Arguments = Object.fromEntries(optional.map((parameter) => [parameter.in, {}]))
    return [operation.operationId, (args: Arguments) => call(operation, { ...empty, ...args })]
  })
  // Object.fromEntries returns any; the document's operations are those of its types.
  return Object.fromEntries(functions)
}

/** A generated function by name. */
// biome-ignore lint/suspicious/noExplicitAny: the operation is chosen at run time; types.ts compares the types
export function functionOf(client: object, name: string): (...args: unknown[]) => Promise<any> {
  const found = Reflect.get(client, name)
  if (typeof found !== 'function') throw new Error(`The client has no function ${name}`)
  return found.bind(client)
}

/** The same for clients that group functions by path or tag. */
export function groupedFunctionOf(client: object, name: string) {
  const group = Object.values(client).find(
    (one) => typeof one === 'object' && one !== null && name in one,
  )
  return functionOf(group ?? client, name)
}

/** The arguments in the order in which most clients take them. */
export const inOrder = ({ path = {}, body, query, header }: Arguments) =>
  [...Object.values(path), body, query, header].filter((one) => one !== undefined)

export const authorization = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { Authorization: `Bearer ${key}` }

/** Parameters with camelCase names: ifMatch for If-Match, packageName for package_name. */
export const camelCased = (parameters: object = {}) =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name.charAt(0).toLowerCase() +
        name.slice(1).replace(/[-_](.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )
