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

test.for<[what: string, path: string, method?: string]>([
  ['a path without parameters', '/apps'],
  ['a path with a parameter', '/apps/7'],
  ['an encoded parameter', '/apps/a%2Fb%20c'],
  ['a parameter before a character that Unicode calls a space', '/apps/7\u00a0'],
  ['a slash at the end', '/apps/'],
  ['an empty parameter', '/apps//'],
  ['a longer path', '/apps/7/x'],
  ['an unknown path', '/x/apps'],
  ['an upper-case path', '/APPS'],
  ['another method of the same path', '/apps/7', 'DELETE'],
  ['a method without an operation', '/apps/7', 'PATCH'],
])('finds the operation of %s as openapi-backend does', async ([, path, method = 'GET']) => {
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

test.for<[url: string, path: string, search?: string]>([
  ['/apps?limit=1&sort=latest', '/apps', 'limit=1&sort=latest'],
  ['/apps?search=a?b', '/apps', 'search=a?b'],
  ['/apps?', '/apps'],
  ['', ''],
  ['http://apps.test:3000/apps?limit=1', '/apps', 'limit=1'],
  ['HTTPS://apps.test/apps', '/apps'],
  ['http://apps.test?limit=1', '', 'limit=1'],
  ['/to/http://apps.test/apps', '/to/http://apps.test/apps'],
  ['/apps/%31', '/apps/%31'],
  ['/apps/%', '/apps/%25'],
  ['/apps/%FF%31', '/apps/%25FF%2531'],
])('the target "%s"', ([url, path, search = '']) => {
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
