import { OpenAPIBackend } from 'openapi-backend'
import { describe, expect, inject, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import type { OperationId } from '../../src/contract/contract.ts'
import { createListener } from '../../src/http/app.ts'
import { readDocument } from '../../src/http/docs.ts'
import { createLogger } from '../../src/http/log.ts'
import { mock } from '../../src/http/mock.ts'
import { ResponseChecker } from '../contract/checker.ts'
import { validRequests } from '../contract/valid-requests.ts'
import type { RequestOptions } from '../support/check.ts'
import { send, startService } from '../support/service.ts'

const prefix = '/v1'
const baseUrl = `http://mock.test${prefix}`
const listener = await createListener({
  config: { ...readConfig({}), writeLimit: 0, refusedKeyLimit: 0, baseUrl, prefix, cacheSize: 0 },
  backend: mock(baseUrl),
  document: await readDocument(),
  logger: createLogger('silent'),
  isDraining: () => false,
})
const checker = new ResponseChecker()

/** Checks every response of the mock, without recording it as a response of the server. */
async function ask(method: string, path: string, options: RequestOptions = {}) {
  const answer = { ...(await send(listener, method, prefix + path, options)), path: path.split('?', 1).join() }
  expect(checker.check(answer).problems).toEqual([])
  return { ...answer, body: answer.text === '' ? undefined : JSON.parse(answer.text) }
}

const world = inject('world')
const requests = validRequests({ ...world, keys: { ...world.keys, ada: 'anything' } })

type Response = {
  content?: { 'application/json': { example?: unknown; examples?: Record<string, { value: unknown }> } }
}
type Operation = { operationId: OperationId; responses: Record<string, Response> }

// With its references resolved, which openapi-backend's type does not know.
const { router } = await new OpenAPIBackend({ definition: await readDocument(), quick: true }).init()
const operations = router.getOperations() as unknown as Operation[]

/** Every response of the document with its Prefer header: the status, and the example's name if it has one. */
const described = operations.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([code, { content }]) => {
    const row = { operationId, status: Number(code) }
    const { example, examples } = content?.['application/json'] ?? {}
    if (!examples) return [{ ...row, prefer: `code=${code}`, value: example }]
    return Object.entries(examples).map(([name, { value }]) => ({
      ...row,
      prefer: `code=${code}, example=${name}`,
      value,
    }))
  }),
)

test('the rows have a response for each operation and status', () => {
  const found = new Set(described.map(({ operationId, status }) => `${operationId} ${status}`))
  expect([...found].toSorted()).toEqual(checker.declared().toSorted())
})

test.for(described)('$operationId, Prefer: $prefer', async ({ operationId, prefer, status, value }) => {
  const [method, path, options] = requests[operationId]
  const answer = await ask(method, path, { ...options, headers: { Prefer: prefer } })
  expect([answer.status, answer.body]).toEqual([status, value])
})

test.for(operations)('$operationId returns its first success example by default', async ({ operationId }) => {
  const [method, path, options] = requests[operationId]
  const first = described.find((row) => row.operationId === operationId)
  const answer = await ask(method, path, options)
  expect([answer.status, answer.body]).toEqual([first?.status, first?.value])
})

describe('the header Prefer', () => {
  test.for<[prefer: string, status: number, message?: RegExp]>([
    ['code=404', 404],
    ['respond-async, CODE = "404"; foo', 404],
    ['code=404, code=503', 404],
    ['example=rejected', 200],
    ['return=minimal', 200],
    ['barcode=404', 200],
    ['code=418', 400, /^code must be one of 200, 304, 400, .*505$/],
    ['code=constructor', 400, /^code must be one of 200/],
    ['code=', 400, /^code must be one of 200/],
    ['example=nope', 400, /^example must be one of approved, rejected$/],
    ['code=404, example=rejected', 400, /^example must be left out/],
    ['code=304, example=approved', 400, /^example must be left out/],
  ])('%s', async ([prefer, status, message]) => {
    const answer = await ask('GET', '/apps/7', { headers: { Prefer: prefer } })
    expect(answer.status).toBe(status)
    if (message) {
      expect(answer.body.data.errors).toEqual([
        { in: 'header', field: 'Prefer', message: expect.stringMatching(message) },
      ])
    }
  })

  test('is ignored by the catalogue, and pages may send it to either', async () => {
    const service = await startService()
    expect((await service.get('/apps', { headers: { Prefer: 'code=404' } })).status).toBe(200)
    const preflight = await ask('OPTIONS', '/apps', { headers: { Origin: 'https://shop.example' } })
    expect(preflight.headers['access-control-allow-headers']).toMatch(/\bPrefer\b/)
  })
})

const json = (body: unknown): RequestOptions => ({ key: 'anything', json: body })

describe('the mock refuses like the server', () => {
  test.for<[name: string, method: string, path: string, options: RequestOptions]>([
    ['an unknown path', 'GET', '/nowhere', {}],
    ['an unknown method', 'PATCH', '/apps', {}],
    ['an unknown parameter', 'GET', '/apps?colour=red', {}],
    ['a limit that is too large', 'GET', '/apps?limit=101', {}],
    ['an id that is not a number', 'GET', '/apps/first', {}],
    ['an Accept without JSON', 'GET', '/apps', { headers: { Accept: 'text/html' } }],
    ['no key', 'DELETE', '/apps/7', {}],
    ['no key, whatever is preferred', 'DELETE', '/apps/7', { headers: { Prefer: 'code=200' } }],
    ['a key in the wrong form', 'GET', '/apps', { headers: { Authorization: 'Bearer' } }],
    ['fields that are missing or unknown', 'POST', '/apps', json({ colour: 'red' })],
    [
      'a body that is not JSON',
      'POST',
      '/apps',
      { key: 'anything', headers: { 'Content-Type': 'application/json' }, body: '{' },
    ],
    ['another media type', 'POST', '/apps', { key: 'anything', headers: { 'Content-Type': 'text/plain' }, body: 'A' }],
    ['a body that is too large', 'POST', '/apps', json({ description: 'x'.repeat(300_000) })],
  ])('%s', async ([, method, path, options]) => {
    const service = await startService()
    const { key } = options
    const server = await service.request(method, path, {
      ...options,
      ...(key !== undefined && { key: service.world.keys.ada }),
    })
    const answer = await ask(method, path, options)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect([answer.status, answer.body]).toEqual([server.status, server.body])
  })
})

test('URLs begin with the mock’s base URL', async () => {
  const list = await ask(...requests.listApps)
  expect(list.headers.link).toContain(`<${baseUrl}/apps?page=1&limit=20>; rel="first"`)
  const created = await ask(...requests.createApp)
  expect(created.headers.location).toBe(`${baseUrl}/apps/${created.body.data.app_id}`)
  expect((await ask('GET', '/openapi.json')).body.servers).toEqual([expect.objectContaining({ url: baseUrl })])
})

test('an ETag identifies one example, so another one is not a 304', async () => {
  const { headers } = await ask('GET', '/apps/7')
  const revalidate = (more: Record<string, string> = {}) =>
    ask('GET', '/apps/7', { headers: { 'If-None-Match': String(headers.etag), ...more } })
  expect((await revalidate()).status).toBe(304)
  expect((await revalidate({ Prefer: 'example=rejected' })).status).toBe(200)
})

test('supports HEAD and the health checks', async () => {
  expect((await ask('HEAD', '/apps/7')).status).toBe(200)
  for (const path of ['/healthz', '/readyz']) expect((await send(listener, 'GET', path)).status).toBe(200)
})
