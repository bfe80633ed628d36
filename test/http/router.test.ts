import { OpenAPIBackend, OpenAPIRouter, type Request } from 'openapi-backend'
import { expect, test } from 'vitest'
import { readDocument } from '../../src/http/reference-routes.ts'
import { replaceRouter } from '../../src/http/router.ts'

const requests: [what: string, request: Partial<Request>][] = [
  ['a path without parameters', { path: '/apps' }],
  ['its query', { path: '/apps', query: { page: '2', search: 'a b&c', sort: ['popular', 'x'] } }],
  ['a path with a parameter', { path: '/apps/7' }],
  ['an encoded parameter', { path: '/apps/a%2Fb%20c' }],
  ['a parameter before a character that Unicode calls a space', { path: '/apps/7\u00a0' }],
  ['a slash at the end', { path: '/apps/' }],
  ['an empty parameter', { path: '/apps//' }],
  ['a longer path', { path: '/apps/7/x' }],
  ['an unknown path', { path: '/x/apps' }],
  ['an upper-case path', { path: '/APPS' }],
  ['an upper-case method', { method: 'DELETE', path: '/apps/7' }],
  ['a method without an operation', { method: 'PATCH', path: '/apps/7' }],
  ['a body', { method: 'PUT', path: '/apps/7', body: { name: 'Tiles' } }],
  ['a body that is not an object', { method: 'POST', path: '/apps', body: '"Tiles"' }],
  ['headers', { path: '/apps/7', headers: { 'if-none-match': '"x"', host: 'apps.test' } }],
]

test.for(requests)('routes and parses %s as openapi-backend does', async ([, parts]) => {
  const request = { method: 'get', path: '', query: {}, headers: {}, ...parts }
  const options = { definition: await readDocument(), ignoreTrailingSlashes: false }
  const api = new OpenAPIBackend({ ...options, quick: true })
  await api.init()
  const original = new OpenAPIRouter({ ...options, definition: api.definition })
  replaceRouter(api)
  const [actual, expected] = [api.router, original].map((router) => {
    const operation = router.matchOperation(request)
    const { method, path, params, query, headers, cookies, requestBody } = router.parseRequest(
      request,
      operation,
    )
    const parsed = { method, path, params, query, headers, cookies, requestBody }
    return { operation: operation?.operationId, parsed }
  })
  expect(actual).toEqual(expected)
})
