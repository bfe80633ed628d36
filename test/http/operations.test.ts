import type { Operation } from 'openapi-backend'
import { expect, test } from 'vitest'
import { describeOperation, readTarget } from '../../src/http/operations.ts'
import { share } from '../support/lifetime.ts'
import { sendBytes } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
share(async () => {
  service = await startService()
})

test.for<{ name: string; line: string; operation?: string; status: number }>([
  { name: 'a path without parameters', line: 'GET /apps', operation: 'listApps', status: 200 },
  { name: 'a path with a parameter', line: 'GET /apps/1', operation: 'getApp', status: 200 },
  { name: 'another number', line: 'GET /apps/999', operation: 'getApp', status: 404 },
  { name: 'an encoded parameter', line: 'GET /apps/%31', operation: 'getApp', status: 200 },
  { name: 'an encoded slash', line: 'GET /apps/a%2Fb%20c', operation: 'getApp', status: 400 },
  { name: 'a percent sign', line: 'GET /apps/%', operation: 'getApp', status: 400 },
  { name: 'bytes that are no UTF-8', line: 'GET /apps/%FF', operation: 'getApp', status: 400 },
  {
    name: 'a longer path than is remembered',
    line: `GET /apps/${'x'.repeat(200)}`,
    operation: 'getApp',
    status: 400,
  },
  { name: 'HEAD', line: 'HEAD /apps/1', operation: 'getApp', status: 200 },
  { name: 'another method', line: 'DELETE /apps/1', operation: 'deleteApp', status: 401 },
  {
    name: 'an absolute URL',
    line: 'GET HTTPS://x:1/apps?limit=1',
    operation: 'listApps',
    status: 200,
  },
  { name: 'an absolute URL without a path', line: 'GET http://x?limit=1', status: 200 },
  { name: 'a URL in a path', line: 'GET /to/http://x/apps', status: 404 },
  {
    name: 'a second ? in a search',
    line: 'GET /apps?search=a?b',
    operation: 'listApps',
    status: 200,
  },
  { name: 'a parameter without a name', line: 'GET /apps?=1', operation: 'listApps', status: 400 },
  { name: 'a method without an operation', line: 'PATCH /apps/1', status: 405 },
  { name: 'a slash at the end', line: 'GET /apps/', status: 404 },
  { name: 'an empty parameter', line: 'GET /apps//', status: 404 },
  { name: 'a longer path', line: 'GET /apps/1/x', status: 404 },
  { name: 'an unknown path', line: 'GET /x/apps', status: 404 },
  { name: 'a number after a path', line: 'GET /apps2', status: 404 },
  { name: 'an upper-case path', line: 'GET /APPS', status: 404 },
])('finds the operation of $name, again the second time', async ({ line, operation, status }) => {
  for (const _ of ['first', 'second']) {
    await sendBytes(service, `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    const logged = JSON.parse(service.log.at(-1) ?? '')
    expect([logged.operation, logged.res.statusCode]).toEqual([operation, status])
  }
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
  expect(readTarget({ method: 'GET', url })).toEqual({ method: 'GET', path, search })
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
  expect(describeOperation(operation as Operation, '').isPublic).toBe(row.isPublic)
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
