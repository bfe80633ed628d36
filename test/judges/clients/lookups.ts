import document from '../../../generated/openapi.json' with { type: 'json' }

/**
 * Types that generators name after operations. TypeScript cannot compute a type's name, so the
 * judge writes a module.
 */

type Lookup = {
  imports: string
  typesOf: (name: string, operation: Operation, path: string) => string
}
type Operation = { operationId: string; responses: object }

const lookups: Record<string, Lookup> = {
  'hey-api': {
    imports: "* as api from './apps-api/index.js'",
    typesOf: (name, { operationId }) =>
      `{ data: api.${name}Data; answers: api.${name}Responses & api.${name}Errors; call: typeof api.${operationId}<false> }`,
  },
  'openapi-client-axios': {
    imports: "{ Paths } from './apps-api.d.ts'",
    typesOf: (name, { responses }) =>
      `{ ${Object.keys(responses)
        .map((status) => `${status}: Paths.${name}.Responses.$${status}`)
        .join('; ')} }`,
  },
  'swagger-typescript-api': {
    imports: "* as api from './apps-api.ts'",
    typesOf: (name, _, path) =>
      `api.${capitalized(path.split('/')[1] ?? '')}.${name}.RequestHeaders`,
  },
}

/** Source of a module with these types by operationId; undefined for clients that need none. */
export function lookupsOf(client: string): string | undefined {
  const lookup = lookups[client]
  if (lookup === undefined) return undefined
  const lines = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, item]) =>
    Object.values(item).map(
      (operation) =>
        `  ${operation.operationId}: ${lookup.typesOf(capitalized(operation.operationId), operation, path)}\n`,
    ),
  )
  return `import type ${lookup.imports}\n\nexport type Lookups = {\n${lines.join('')}}\n`
}

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)
