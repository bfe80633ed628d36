import { OpenAPIBackend, type Operation } from 'openapi-backend'
import { expect, test } from 'vitest'
import { describeOperations, readTarget } from '../../src/http/operations.ts'
import { readDocument } from '../../src/http/reference-routes.ts'
import { share } from '../support/lifetime.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
share(async () => {
  service = await startService()
})

/** openapi-backend with the document. */
async function backend() {
  const api = new OpenAPIBackend({
    definition: await readDocument(),
    ignoreTrailingSlashes: false,
    quick: true,
  })
  await api.init()
  return api
}

test.for<{ name: string; path: string; method?: string }>([
  { name: 'a path without parameters', path: '/apps' },
  { name: 'a path with a parameter', path: '/apps/7' },
  { name: 'an encoded parameter', path: '/apps/a%2Fb%20c' },
  { name: 'a parameter before a character that Unicode calls a space', path: '/apps/7\u00a0' },
  { name: 'a slash at the end', path: '/apps/' },
  { name: 'an empty parameter', path: '/apps//' },
  { name: 'a longer path', path: '/apps/7/x' },
  { name: 'an unknown path', path: '/x/apps' },
  { name: 'an upper-case path', path: '/APPS' },
  { name: 'another method of the same path', path: '/apps/7', method: 'DELETE' },
  { name: 'a method without an operation', path: '/apps/7', method: 'PATCH' },
])('finds the operation of $name as openapi-backend does', async ({ path, method = 'GET' }) => {
  const { router } = await backend()
  const target = readTarget(describeOperations(router.getOperations(), ''), { method, url: path })
  const expected = router.matchOperation({ method, path, headers: {} })
  const { params } = router.parseRequest({ method, path, headers: {} }, expected)
  const decoded = Object.entries(target.pathParameters).map(([name, text]) => [
    name,
    decodeURIComponent(text),
  ])
  expect([target.operation?.id, Object.fromEntries(decoded)]).toEqual([
    expected?.operationId,
    params ?? {},
  ])
})

test.for<{ url: string; path: string; search?: string }>([
  { url: '/apps?limit=1&sort=latest', path: '/apps', search: 'limit=1&sort=latest' },
  { url: '/apps?search=a?b', path: '/apps', search: 'search=a?b' },
  { url: '/apps?', path: '/apps' },
  { url: '', path: '' },
  { url: 'http://apps.test:3000/apps?limit=1', path: '/apps', search: 'limit=1' },
  { url: 'HTTPS://apps.test/apps', path: '/apps' },
  { url: 'http://apps.test?limit=1', path: '', search: 'limit=1' },
  { url: '/to/http://apps.test/apps', path: '/to/http://apps.test/apps' },
  { url: '/apps/%31', path: '/apps/%31' },
  { url: '/apps/%', path: '/apps/%25' },
  { url: '/apps/%FF%31', path: '/apps/%25FF%2531' },
])('the target "$url"', ({ url, path, search = '' }) => {
  expect(readTarget([], { method: 'GET', url })).toMatchObject({ path, search })
})

test('HEAD is a GET', async () => {
  const { router } = await backend()
  const operations = describeOperations(router.getOperations(), '/store')
  expect(readTarget(operations, { method: 'HEAD', url: '/apps/7' }).operation).toMatchObject({
    id: 'getApp',
    route: '/store/apps/{id}',
  })
})

test.for<{ security: object[] | undefined; isPublic: boolean }>([
  { security: undefined, isPublic: true },
  { security: [], isPublic: true },
  { security: [{}, { apiKey: [] }], isPublic: true },
  { security: [{ apiKey: [] }], isPublic: false },
])('with the security $security, an operation is public: $isPublic', async (row) => {
  const operation = {
    method: 'get',
    path: '/things',
    ...(row.security && { security: row.security }),
  }
  // Only these properties of an operation matter here.
  const [facts] = describeOperations([operation as Operation], '')
  expect(facts?.isPublic).toBe(row.isPublic)
})

test.for<{ accept: string; isAnswered: boolean }>([
  { accept: 'application/json', isAnswered: true },
  { accept: 'Application/JSON; Charset=UTF-8', isAnswered: true },
  { accept: 'application/*', isAnswered: true },
  { accept: '*/*', isAnswered: true },
  { accept: 'text/html, application/json;q=0.1', isAnswered: true },
  { accept: 'text/html, */*;q=0.1', isAnswered: true },
  { accept: 'application/json;q=0.01', isAnswered: true },
  { accept: 'application/json;seq=0', isAnswered: true },
  { accept: 'text/html', isAnswered: false },
  { accept: 'application/xml, text/*', isAnswered: false },
  { accept: 'application/json;q=0', isAnswered: false },
  { accept: 'application/json; Q=0.000', isAnswered: false },
  { accept: 'application/json;q=0, */*', isAnswered: false },
  { accept: '*/*, application/*;q=0.0', isAnswered: false },
  { accept: '*/*;q=0', isAnswered: false },
  { accept: '*/*;q=0, application/*', isAnswered: true },
  { accept: '', isAnswered: true },
  { accept: ' ', isAnswered: true },
  { accept: ' , ,', isAnswered: true },
  { accept: ', text/html', isAnswered: false },
])('Accept: "$accept" is answered: $isAnswered', async ({ accept, isAnswered }) => {
  const { status } = await service.get('/apps', { headers: { Accept: accept } })
  expect(status).toBe(isAnswered ? 200 : 406)
})
