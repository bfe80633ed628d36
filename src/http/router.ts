import type {
  OpenAPIBackend,
  OpenAPIRouter,
  Operation,
  ParsedRequest,
  Request,
} from 'openapi-backend'

type Router = Pick<OpenAPIRouter, 'getOperations' | 'parseRequest'> & {
  matchOperation: (request: Request, strict: boolean) => Operation
}

/**
 * Gives openapi-backend a faster router, for requests that `toApiRequest` has parsed. Its own lists
 * the operations twice, compiles the pattern of each path, and parses headers, cookies and query
 * four times for each request: two thirds of what the library costs.
 */
export function replaceRouter(api: OpenAPIBackend) {
  const operations = api.getOperations()
  const routes = operations.map((operation) => ({
    operation,
    pattern: pathPattern(operation.path),
  }))
  const patterns = new Map(routes.map(({ operation, pattern }) => [operation, pattern]))
  const matchSlowly: Router['matchOperation'] = api.router.matchOperation.bind(api.router)

  const router: Router = {
    getOperations: () => operations,

    /** Leaves requests without an operation to the library, which throws 404 or 405 for them. */
    matchOperation(request, strict) {
      const { method, path } = normalize(request)
      const route = routes.find(
        ({ operation, pattern }) => operation.method === method && pattern.test(path),
      )
      return route?.operation ?? matchSlowly(request, strict)
    },

    parseRequest(request, operation): ParsedRequest {
      const { method, path } = normalize(request)
      const { query, headers, body } = request
      const groups = operation && patterns.get(operation)?.exec(path)?.groups
      const params = Object.entries(groups ?? {}).map(([name, text]) => [
        name,
        decodeURIComponent(text),
      ])
      return {
        method,
        path,
        headers,
        // ajv replaces values of these two by numbers, and adds defaults.
        query: { ...(query as object) },
        params: Object.fromEntries(params),
        // No operation has any.
        cookies: {},
        requestBody: typeof body === 'string' ? JSON.parse(body) : body,
      }
    },
  }
  Object.assign(api.router, router)
}

/** As the library does; the path has no query, and `apiRoot` is /. */
const normalize = ({ method, path }: Request) => ({
  method: method.toLowerCase(),
  path: path.trim(),
})

/** The pattern of an OpenAPI path template, with a group for each parameter. */
const pathPattern = (path: string) =>
  new RegExp(`^${path.replaceAll(/[^{}/\w]/g, '\\$&').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
