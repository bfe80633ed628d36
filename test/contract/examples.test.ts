import { OpenAPIBackend } from 'openapi-backend'
import { describe, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { findOrAddDeveloper, issueKey } from '../../src/accounts/account-store.ts'
import { generateKey } from '../../src/accounts/keys.ts'
import { addCategory } from '../../src/catalogue/category-store.ts'
import { ServiceError } from '../../src/contract/errors.ts'
import { readDocument } from '../../src/http/reference-routes.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { required } from '../../src/util/helpers.ts'
import { importLines } from '../support/catalogue-file.ts'
import type { CheckedResponse, RequestOptions } from '../support/check.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { emptyCatalogueUrl } from '../support/database.ts'
import { checkedResponse, halfARequest } from '../support/raw-http.ts'
import { failing, type Service, type ServiceOptions, startService } from '../support/service.ts'
import { operationsOf } from './operations.ts'
import { ownerFields } from './owner-fields.ts'
import { type Call, exampleRequest } from './valid-requests.ts'

/**
 * The service returns every example of the document, for the operation and status that show it. The
 * test creates the apps that the examples are about; only times, ids and ETags may differ.
 */

type Schema = {
  example?: unknown
  properties?: Record<string, Schema>
  items?: Schema
  allOf?: Schema[]
}
type Example = { value: unknown }
type Media = { schema: Schema; example?: unknown; examples?: Record<string, Example> }
type Header = { example?: unknown }
type Operation = {
  operationId: string
  parameters?: { name: string; in: string; example?: unknown; examples?: Record<string, Example> }[]
  requestBody?: { content: { 'application/json': Media } }
  responses: Record<
    string,
    { headers: Record<string, Header>; content?: { 'application/json': Media } }
  >
}

// With its references resolved, which openapi-backend's type does not know.
const { router } = await new OpenAPIBackend({
  definition: await readDocument(),
  quick: true,
  validate: false,
}).init()
const operations = router.getOperations() as unknown as Operation[]

const requestOf = (id: string, key: string) =>
  exampleRequest(
    required(
      operationsOf(document).find(({ operationId }) => operationId === id),
      id,
    ),
    key,
  )

/** The app that the examples are about. */
const newApp = requestOf('createApp', '')[2]?.json as Record<string, unknown>

type Scene = { service: Service; key: string; others: string }

/** Creates what the examples are about, except the app that createApp creates. */
async function startScene(id: string, options: ServiceOptions = {}): Promise<Scene> {
  const databaseUrl = await emptyCatalogueUrl()
  const service = await startService({
    origin: 'https://apps.example.org',
    databaseUrl,
    ...options,
  })
  const [key, others] = await service.database.write(async (runner) => {
    const operator = { operator: 'test' }
    for (const name of ['Productivity', 'Games', 'Travel']) {
      await addCategory(runner, name.toLowerCase(), name, operator)
    }
    const developers = ['Harbour Software', 'Cliff Software'].map((name) =>
      findOrAddDeveloper(runner, name),
    )
    return Promise.all(
      developers.map(async (developer) => (await issueKey(runner, await developer, operator)).key),
    )
  })
  const reviews = [
    {
      id: 7,
      reviewer_name: 'Ada',
      rating: 5,
      comment: 'Right to the minute, every day.',
      created_at: '2026-05-11T18:22:05Z',
    },
    { id: 3, reviewer_name: 'Bo', rating: 4, comment: '', created_at: '2026-04-02T07:01:59Z' },
  ]
  const { category_id: _, ...clock } = newApp
  const ours = { developer_name: 'Harbour Software', category: 'travel' }
  const approved = {
    ...ours,
    ...clock,
    id: 42,
    total_downloads: 18250,
    reviews,
    status: 'approved',
  }
  const rejected = {
    ...ours,
    id: 57,
    name: 'Cloud Atlas',
    description: 'Names the clouds above you.',
  }
  const before = { ...rejected, id: 41 }
  const lines = id === 'createApp' ? [before] : [approved, rejected]
  expect(await importLines(service.database, lines)).toMatchObject({ rejects: [] })
  if (id !== 'createApp') {
    const reason = 'The description names features that the app does not have.'
    await service.database.write((runner) =>
      decideApp(runner, 'reject', rejected.id, { operator: 'test' }, { reason }),
    )
  }
  return { service, key: key ?? '', others: others ?? '' }
}

const withHeader = (name: string, value: string) => (options: RequestOptions) => ({
  ...options,
  headers: { ...options.headers, [name]: value },
})
const withBody = (json: object) => (options: RequestOptions) => ({
  ...options,
  json: { ...newApp, ...json },
})

type SendRequest = (scene: Scene, call: Call) => Promise<CheckedResponse>

/** Sends the request with other options. */
const changed =
  (change: (options: RequestOptions, scene: Scene) => RequestOptions): SendRequest =>
  (scene, [method, path, options = {}]) =>
    scene.service.request(method, path, change(options, scene))

/** How to get a response with each status, or with an example's name if a status has several. */
const requestsByExample: Record<string, SendRequest> = {
  '200': changed((options) => options),
  '200 nothing': ({ service }) => service.get('/apps?page=1&limit=20&search=zeppelin'),
  '200 corrected': ({ service }) => service.get('/apps?search=tide%20cloock'),
  '200 category': ({ service }) => service.get('/apps?category=Travel'),
  '200 rejected': ({ service, key }) => service.get('/apps/57', { key }),
  '201': changed((options) => options),
  '304': changed(withHeader('If-None-Match', '*')),
  '400': ({ service }, [method, path, options]) =>
    service.request(method, `${path}?colour=red&shape=round`, options),
  '400 invalid': changed(withBody({ name: '', category_id: '3' })),
  '400 malformed': changed(({ key = '' }) => ({
    key,
    headers: { 'Content-Type': 'application/json' },
    body: '{\n  "version": "2.5.0",\n}',
  })),
  '400 repeated': changed(({ key = '' }) => ({
    key,
    headers: { 'Content-Type': 'application/json' },
    body: '{\n  "version": "2.5.0",\n  "version": "2.5.1"\n}',
  })),
  '401': changed((options) => ({ ...options, key: generateKey().key })),
  '403': async ({ service }, [method, path, options]) => {
    const { key } = await service.database.write((runner) =>
      issueKey(runner, { id: 1, name: 'Harbour Software' }, { operator: 'test' }, { app_id: 57 }),
    )
    return service.request(method, path, { ...options, key })
  },
  '404': ({ service }, [method, , options]) => service.request(method, '/apps/43', options),
  '405': ({ service }, [, path, options]) => service.request('PATCH', path, options),
  '406': changed(withHeader('Accept', 'text/html')),
  '408': ({ service }, [method, path, options]) =>
    checkedResponse(service, method, path, halfARequest(method, path, options)),
  '409 own': ({ service, key }, call) => takeName(service, key, key, call),
  '409 other': ({ service, key, others }, call) => takeName(service, key, others, call),
  '412': changed(withHeader('If-Match', '"another"')),
  '412 weak': changed(withHeader('If-Match', 'W/"another"')),
  '412 unquoted': changed(withHeader('If-Match', 'another')),
  '413': changed(withBody({ description: 'a'.repeat(300_000) })),
  '415': changed(({ key = '' }) => ({ key, headers: { 'Content-Type': 'text/plain' }, body: 'A' })),
  '422': changed(withBody({ category_id: 99 })),
  '422 key': async ({ service }, [method, path, options = {}]) => {
    const keyed = withHeader('Idempotency-Key', 'k')(options)
    await service.request(method, path, keyed)
    return service.request(method, path, withBody({ version: '2.5.0' })(keyed))
  },
  '429': async ({ service }, [method, path, options]) => {
    const bad = { ...options, key: generateKey().key }
    await service.request(method, path, bad)
    wait(43_000)
    return service.request(method, path, bad)
  },
  '500': changed((options) => options),
  '503': changed((options) => options),
}

/** Asks for the examples' package name, which an app of `holder` has, with `key`. */
async function takeName(service: Service, holder: string, key: string, [method, path]: Call) {
  // For updateApp, the app of the examples exists.
  await service.request('POST', '/apps', { key: holder, json: newApp })
  const other = { ...newApp, package_name: 'org.example.other' }
  const { body } = await service.request('POST', '/apps', { key, json: other })
  const target = method === 'PUT' ? `/apps/${body.data.app_id}` : path
  return service.request(method, target, { key, json: newApp })
}

let wait: (milliseconds: number) => void

/** The service's options that a status needs. */
const optionsFor: Record<string, () => ServiceOptions> = {
  '408': () => ({ timeouts: { headers: 100, request: 100 } }),
  '429': () => ({ limits: { refusedKeyLimit: 1 } }),
  '500': () => ({ database: failing(new Error('secret')) }),
  '503': () => ({
    database: failing(
      new ServiceError('unavailable', 'The service is temporarily unavailable; try again shortly.'),
    ),
  }),
}

/**
 * Masks what differs in every response, and what differs between operations that share an example:
 * the path in `Link`, its methods, and the names of parameters. checker.ts compares the methods.
 */
const masked = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/\\"[\w-]{27}(?:-br|-gzip)?\\"/g, 'TAG')
      .replaceAll(/;r=[1-9]\d*;t=\d+/g, ';r=…;t=…')
      .replaceAll(/;q=\d+/g, ';q=…')
      .replaceAll(/<https:[^?>]*\?/g, '<PATH?')
      .replaceAll(/\b([A-Z]+, )+OPTIONS\b/g, 'METHODS')
      .replaceAll(/(?<=; )(this operation has none|use one of \w+(, \w+)*)/g, 'NAMES'),
  )

const rows = operations.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([status, { headers, content }]) => {
    const { schema, example, examples } = content?.['application/json'] ?? {}
    const all = Object.entries(examples ?? { '': { value: example } })
    return all.map(([name, { value }], index) => {
      const sendRequest = requestsByExample[`${status} ${name}`] ?? requestsByExample[status]
      return {
        operationId,
        status,
        name,
        value,
        headers,
        isFirst: index === 0,
        sendRequest,
        schema,
        all,
      }
    })
  }),
)

describe('the service returns the example', () => {
  test.for(rows)(
    '$operationId $status $name',
    async ({ operationId, status, value, headers, sendRequest, isFirst }) => {
      wait = status === '429' ? freezeMonotonicClock() : () => {}
      const scene = await startScene(operationId, optionsFor[status]?.())
      if (!sendRequest) throw new Error('Say in this file how to get this status.')
      const answer = await sendRequest(scene, requestOf(operationId, scene.key))
      expect([String(answer.status), masked(answer.body ?? null)]).toEqual([
        status,
        masked(value ?? null),
      ])
      if (!isFirst) return
      for (const [name, { example }] of Object.entries(headers)) {
        const text = answer.headers[name.toLowerCase()]
        if (example === undefined || text === undefined || name === 'X-Request-Id') continue
        expect([name, masked(text)]).toEqual([name, masked(String(example))])
      }
    },
  )
})

/** A field's example at each path, and the values at each path of a body. */
const fieldExamples = (
  { example, properties = {}, items, allOf = [] }: Schema,
  path = '',
): [string, unknown][] => [
  ...(example === undefined ? [] : ([[path, example]] as [string, unknown][])),
  ...Object.entries(properties).flatMap(([name, schema]) =>
    fieldExamples(schema, `${path}/${name}`),
  ),
  ...[...(items ? [items] : []), ...allOf].flatMap((schema) =>
    fieldExamples(schema, items ? `${path}/*` : path),
  ),
]

const valuesOf = (value: unknown, path = ''): [string, unknown][] => [
  [path, value],
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, part]) =>
        valuesOf(part, `${path}/${Array.isArray(value) ? '*' : name}`),
      )
    : []),
]

describe("the example of a response's field is in an example of the response", () => {
  test.for(rows.filter(({ isFirst, schema }) => isFirst && schema))(
    '$operationId $status',
    (row) => {
      const { status, schema = {}, all } = row
      const shown = all
        .flatMap(([, { value }]) => valuesOf(value))
        .map((pair) => JSON.stringify(pair))
      // Examples show different data.
      const own = fieldExamples(schema).filter(
        ([path]) => status >= '400' || !path.startsWith('/data/'),
      )
      expect(
        own.map((pair) => JSON.stringify(pair)).filter((pair) => !shown.includes(pair)),
      ).toEqual([])
    },
  )
})

test('the example of a new app has each field', () => {
  expect(Object.keys(newApp).toSorted()).toEqual(ownerFields.toSorted())
})

describe('the service accepts the example of a request', () => {
  const bodies = operations.flatMap(({ operationId, requestBody }) =>
    Object.entries(requestBody?.content['application/json'].examples ?? {}).map(
      ([name, { value }]) => ({
        operationId,
        name,
        value,
      }),
    ),
  )
  test.for(bodies)('$operationId $name', async ({ operationId, value }) => {
    const scene = await startScene(operationId)
    const [method, path, options] = requestOf(operationId, scene.key)
    const { status } = await scene.service.request(method, path, { ...options, json: value })
    expect(status).toBe(method === 'POST' ? 201 : 200)
  })

  const parameters = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters.flatMap(({ name, in: place, example, examples = { '': { value: example } } }) =>
      Object.values(examples).map(({ value }) => ({
        operationId,
        name,
        in: place,
        example: value,
      })),
    ),
  )
  test.for(parameters)('$operationId $name', async ({ operationId, name, in: place, example }) => {
    const scene = await startScene(operationId)
    const [method, path, options] = requestOf(operationId, scene.key)
    const to = {
      path: path.replace('42', String(example)),
      query: `${path}?${new URLSearchParams({ [name]: String(example) })}`,
      header: path,
    }[place]
    const headers = { ...options?.headers, ...(place === 'header' && { [name]: String(example) }) }
    const answer = await scene.service.request(method, to ?? path, { ...options, headers })
    // The example's ETag is stale.
    expect(answer.status, answer.text).toBe(
      name === 'If-Match' ? 412 : method === 'POST' ? 201 : 200,
    )
    if (['category', 'search'].includes(name)) expect(answer.body.data.apps).not.toEqual([])
  })
})
