import type { Operation } from 'openapi-backend'

/** Reads the document's operations: their parameters, and who may call them. */

type ParameterObject = { name: string; in: string; schema?: { type?: string } }

// openapi-backend has resolved the document's references; its type does not say so.
export const parametersOf = ({ parameters = [] }: Operation) => parameters as ParameterObject[]

export const parameterNames = (operations: Operation[], place: 'query' | 'header'): string[] =>
  operations
    .flatMap(parametersOf)
    .flatMap((parameter) => (parameter.in === place ? [parameter.name] : []))

/**
 * Whether the operation takes anonymous requests: it has no security requirement, or an empty one.
 */
export const isPublic = ({ security = [] }: Operation) =>
  security.length === 0 || security.some((requirement) => Object.keys(requirement).length === 0)
