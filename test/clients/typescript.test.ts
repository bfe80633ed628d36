import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import type { Body } from '../support/check.ts'
import { stopTime, waitForTimer } from '../support/clock.ts'
import { freePort } from '../support/free-port.ts'
import { startService } from '../support/service.ts'
import {
  type Client,
  type ClientOptions,
  createClient,
  dataOf,
  type Result,
  type Send,
} from '../support/typescript-client.ts'

/**
 * The source of clients/typescript, with the real app, and with responses of proxies and broken
 * servers. test/judges/package.judge.ts checks the packed client and its types.
 */

const { keys, apps } = inject('world')

type Answer = 'service' | 'lost after the service' | Error | Response

/**
 * A `fetch` that has these results in turn, then those of the service. It records the requests that
 * it gets, with their paths.
 */
function recording(...answers: Answer[]) {
  const requests: { line: string; headers: Headers; init: RequestInit }[] = []
  const send: Send = async (url, init) => {
    const { pathname, search } = new URL(url)
    const headers = new Headers(init.headers)
    requests.push({ line: `${init.method} ${pathname}${search}`, headers, init })
    const answer = answers[requests.length - 1] ?? 'service'
    if (answer instanceof Error) throw answer
    if (answer instanceof Response) return answer
    const response = await fetch(url, init)
    if (answer === 'service') return response
    throw new Error('lost')
  }
  return { send, requests, lines: () => requests.map(({ line }) => line) }
}

const refusal = (status: number, headers: Record<string, string> = {}) =>
  Response.json(
    { success: false, message: 'Later.', data: { code: 'unavailable' } },
    { status, headers },
  )
const refusals = (count: number, ...[status, headers]: Parameters<typeof refusal>) =>
  Array.from({ length: count }, () => refusal(status, headers))
const emptyList = () =>
  Response.json({
    data: { apps: [], pagination: { current_page: 1, total_pages: 0, per_page: 20 } },
  })

/** Starts the real app, and a client of it that sends its requests by `recording`. */
async function start(
  { key, answers = [], ...options }: { key?: string; answers?: Answer[] } & ClientOptions = {},
  service: Parameters<typeof startService>[0] = {},
) {
  const started = await startService(service)
  const recorded = recording(...answers)
  const url = `http://127.0.0.1:${started.port}${service.prefix ?? ''}`
  return {
    ...recorded,
    service: started,
    url,
    api: createClient(url, key, { fetch: recorded.send, ...options }),
  }
}

/** A client that never reaches a service. */
function startWithout(answers: Answer[], options: ClientOptions = {}) {
  const recorded = recording(...answers)
  return {
    ...recorded,
    api: createClient('http://localhost', 'key', { fetch: recorded.send, ...options }),
  }
}

const path = (id: number) => ({ params: { path: { id } } })

describe('calls', () => {
  test('create, read, update and delete an app, and list', async () => {
    const { api, lines } = await start({ key: keys.ada })
    const { app_id } = dataOf(await api.POST('/apps', { body: newApp }))
    const read = await api.GET('/apps/{id}', path(app_id))
    expect([read.response.status, read.data?.data.app.name]).toEqual([200, newApp.name])
    const version = '2.0.0'
    const updated = await api.PUT('/apps/{id}', { ...path(app_id), body: { version } })
    expect(dataOf(updated).app).toMatchObject({ id: app_id, version })
    expect(dataOf(await api.DELETE('/apps/{id}', path(app_id)))).toEqual({ app_id })
    expect((await api.GET('/apps/{id}', path(app_id))).error?.data.code).toBe('not_found')
    expect(dataOf(await api.GET('/categories')).categories).toHaveLength(3)
    expect(lines()).toEqual([
      'POST /apps',
      `GET /apps/${app_id}`,
      `PUT /apps/${app_id}`,
      `DELETE /apps/${app_id}`,
      `GET /apps/${app_id}`,
      'GET /categories',
    ])
  })

  test.for([
    ['', ''],
    ['', '/'],
    ['/catalogue/v1', ''],
    ['/catalogue/v1', '/'],
  ])('go to a base URL with the path "%s" and "%s" at its end', async ([prefix = '', end]) => {
    const { url, send, lines } = await start({}, { prefix })
    const api = createClient(`${url}${end}`, undefined, { fetch: send })
    expect((await api.GET('/apps/{id}', path(apps.approved))).response.status).toBe(200)
    expect((await api.GET('/apps', { params: { query: { page: 2 } } })).response.status).toBe(200)
    expect(lines()).toEqual([`GET ${prefix}/apps/${apps.approved}`, `GET ${prefix}/apps?page=2`])
  })

  test.for([
    'localhost:3000',
    'example.org',
    '/v1',
    '',
    'http://',
    'ftp://example.org',
    'http://a:b@example.org',
  ])('are refused with the base URL "%s"', (url) => {
    expect(() => createClient(url)).toThrow(
      expect.objectContaining({
        name: 'TypeError',
        message: expect.stringMatching(`^Invalid base URL "${url}"; .* http://`),
      }),
    )
  })

  test.for<[query: object, sent: string]>([
    [{}, '/apps'],
    [{ search: 'c++ & d', sort: undefined, limit: 2 }, '/apps?search=c%2B%2B+%26+d&limit=2'],
    [{ search: '', page: 0, slug: null }, '/apps?search=&page=0'],
    [{ search: '100 %', category: 'a=b#c' }, '/apps?search=100+%25&category=a%3Db%23c'],
  ])('have the query %j as %s', async ([query, sent]) => {
    const { api, lines } = startWithout([emptyList()])
    await api.GET('/apps', { params: { query } })
    expect(lines()).toEqual([`GET ${sent}`])
  })

  test.for<[id: unknown, sent: string]>([
    [7, '/apps/7'],
    [0, '/apps/0'],
    ['a/b?c#d é', '/apps/a%2Fb%3Fc%23d%20%C3%A9'],
  ])('have %j in the path as %s', async ([id, sent]) => {
    const { api, lines } = startWithout([emptyList()])
    await api.GET('/apps/{id}', { params: { path: { id } } })
    expect(lines()).toEqual([`GET ${sent}`])
  })

  test('pass on the options of fetch, and the signal among them', async () => {
    const { api, requests } = startWithout([emptyList()])
    const { signal } = new AbortController()
    await api.GET('/apps', { cache: 'no-store', redirect: 'error', keepalive: true, signal })
    expect(requests[0]?.init).toMatchObject({
      method: 'GET',
      cache: 'no-store',
      redirect: 'error',
      keepalive: true,
    })
    expect(requests[0]?.init).not.toHaveProperty('body')
  })

  const names = ['user-agent', 'traceparent', 'authorization', 'content-type', 'if-match']
  test.for<[what: string, options: object, sent: (string | null)[]]>([
    ['those of the client', {}, ['shop/1.0', '00-1', 'Bearer key', null, null]],
    [
      'those of a call, beside them',
      { headers: { 'X-Other': '1' } },
      ['shop/1.0', '00-1', 'Bearer key', null, null],
    ],
    [
      'those of a call, in place of them',
      { headers: { traceparent: '00-2', authorization: 'Bearer other' } },
      ['shop/1.0', '00-2', 'Bearer other', null, null],
    ],
    [
      'those of a call as Headers',
      { headers: new Headers({ traceparent: '00-2' }) },
      ['shop/1.0', '00-2', 'Bearer key', null, null],
    ],
    [
      'those of a call as pairs',
      { headers: [['Traceparent', '00-2']] },
      ['shop/1.0', '00-2', 'Bearer key', null, null],
    ],
    [
      'parameters, in place of headers of the call',
      { headers: { 'If-Match': '"a"' }, params: { header: { 'If-Match': '"b"' } } },
      ['shop/1.0', '00-1', 'Bearer key', null, '"b"'],
    ],
    [
      'no undefined parameters',
      { headers: { 'If-Match': '"a"' }, params: { header: { 'If-Match': undefined } } },
      ['shop/1.0', '00-1', 'Bearer key', null, '"a"'],
    ],
    [
      'the type of a body',
      { body: {} },
      ['shop/1.0', '00-1', 'Bearer key', 'application/json', null],
    ],
    [
      'another type of a body, if the call has one',
      { body: {}, headers: { 'Content-Type': 'application/json; v=2' } },
      ['shop/1.0', '00-1', 'Bearer key', 'application/json; v=2', null],
    ],
  ])('send %s', async ([, options, sent]) => {
    const headers = { 'User-Agent': 'shop/1.0', Traceparent: '00-1', Authorization: 'Basic proxy' }
    const { api, requests } = startWithout([emptyList(), emptyList()], { headers })
    const call = { ...path(1), ...options }
    await api.PUT('/apps/{id}', {
      ...call,
      params: { ...path(1).params, ...('params' in call && call.params) },
    })
    expect(names.map((name) => requests[0]?.headers.get(name))).toEqual(sent)
    // Headers of one call are not those of the next.
    await api.GET('/apps')
    expect(names.map((name) => requests[1]?.headers.get(name))).toEqual([
      ...['shop/1.0', '00-1', 'Bearer key'],
      ...[null, null],
    ])
  })

  test('send a given Authorization if there is no key', async () => {
    const { send, requests } = recording(emptyList())
    const headers = { Authorization: 'Basic proxy' }
    await createClient('http://localhost', undefined, { fetch: send, headers }).GET('/apps')
    expect(requests[0]?.headers.get('Authorization')).toBe('Basic proxy')
  })

  test('get a 304 with neither data nor error, until something has changed', async () => {
    const { api, service } = await start({ key: keys.ada })
    const ask = (etag: string | null) =>
      api.GET('/apps/{id}', { ...path(apps.pending), headers: { 'If-None-Match': etag ?? '' } })
    const first = await ask(null)
    const etag = first.response.headers.get('ETag')
    for (const _ of ['once', 'again']) {
      const unchanged = await ask(etag)
      expect([unchanged.response.status, unchanged.data]).toEqual([304, undefined])
      expect(unchanged.error).toBeFalsy()
      expect(() => dataOf(unchanged)).toThrow('The service responded with status 304.')
    }
    await service.decide('approve', apps.pending)
    expect(dataOf(await ask(etag)).app.status).toBe('approved')
  })

  test('update with If-Match only what has not changed meanwhile', async () => {
    const { api } = await start({ key: keys.ada })
    const id = path(apps.approved)
    const etag = (await api.GET('/apps/{id}', id)).response.headers.get('ETag')
    const update = (version: string) =>
      api.PUT('/apps/{id}', {
        body: { version },
        params: { ...id.params, header: { 'If-Match': etag } },
      })
    expect(dataOf(await update('2.0.0')).app.version).toBe('2.0.0')
    const { error, response } = await update('3.0.0')
    expect([response.status, error?.data.code]).toEqual([412, 'precondition_failed'])
    expect(dataOf(await api.GET('/apps/{id}', id)).app.version).toBe('2.0.0')
  })
})

describe('errors', () => {
  test.for<[what: string, call: (api: Client) => Promise<Result>, status: number, data: object]>([
    ['a missing app', (api) => api.GET('/apps/{id}', path(999_999)), 404, { code: 'not_found' }],
    [
      'an app of somebody else',
      (api) => api.DELETE('/apps/{id}', path(apps.bobs)),
      403,
      { code: 'forbidden' },
    ],
    [
      'an invalid body',
      (api) => api.POST('/apps', { body: { ...newApp, name: '' } }),
      400,
      {
        code: 'invalid_request',
        errors: [{ in: 'body', field: '/name', message: expect.any(String) }],
      },
    ],
    [
      'an unknown category',
      (api) => api.POST('/apps', { body: { ...newApp, category_id: 999 } }),
      422,
      {
        code: 'unknown_category',
        categories: ['empty', 'games', 'tools'].map((slug) => expect.objectContaining({ slug })),
      },
    ],
  ])(
    '%s throws an AppsError with its status, message, data and request',
    async ([, call, status, data]) => {
      const { api } = await start({ key: keys.ada })
      const result = await call(api)
      expect(() => dataOf(result)).toThrow(
        expect.objectContaining({
          name: 'AppsError',
          message: result.error.message,
          status,
          data: expect.objectContaining(data),
          requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        }),
      )
    },
  )

  test.for<[what: string, body: object, message: string]>([
    ['one problem', { name: '' }, 'name must not be empty.'],
    [
      'three problems',
      { name: '', version: '', colour: 'red' },
      [
        'colour is not a field that can be set; there are category_id, description, license, name, package_name, short_description, source_code_url, version, website_url. There are 2 more problems; see data.errors.',
        '  /name must not be empty',
        '  /version must not be empty',
      ].join('\n'),
    ],
  ])('the message of an AppsError names each of %s', async ([, body, message]) => {
    const { api } = await start({ key: keys.ada })
    const result = await api.PUT('/apps/{id}', { ...path(apps.approved), body })
    expect(() => dataOf(result)).toThrow(expect.objectContaining({ name: 'AppsError', message }))
  })

  test('the message of an AppsError names a problem of a whole part', async () => {
    const errors = ['query', 'body'].map((part) => ({ in: part, field: '', message: 'is wrong' }))
    const data = { code: 'invalid_request', errors }
    const body = { success: false, message: 'The query is wrong.', data }
    const { api } = startWithout([Response.json(body, { status: 400 })])
    const result = await api.GET('/apps')
    const message = 'The query is wrong.\n  body is wrong'
    expect(() => dataOf(result)).toThrow(expect.objectContaining({ message }))
  })

  test.for<[body: string, error: unknown]>([
    ['<h1>Forbidden</h1>', '<h1>Forbidden</h1>'],
    ['{"message":"No."}', { message: 'No.' }],
    ['{"data":{}}', { data: {} }],
    ['null', null],
    ['', ''],
  ])('dataOf throws the status of a proxy that sends %j', async ([body, error]) => {
    const { api } = startWithout([new Response(body, { status: 403 })])
    const result = await api.GET('/apps')
    expect(result.error).toEqual(error)
    expect(() => dataOf(result)).toThrow(
      expect.objectContaining({ name: 'Error', message: 'The service responded with status 403.' }),
    )
  })
})

describe('iterators', () => {
  async function startWithShores(count: number, options: Parameters<typeof start>[0] = {}) {
    const started = await start({ key: keys.ada, ...options })
    const { api, requests, service } = started
    const ids: number[] = []
    for (let index = 0; index < count; index++) {
      const body = { ...newApp, name: `Shore ${index}` }
      ids.push(dataOf(await api.POST('/apps', { body })).app_id)
    }
    for (const id of ids) await service.decide('approve', id)
    requests.length = 0
    return { ...started, ids }
  }
  const namesOf = async (list: AsyncGenerator<Body, void>) =>
    (await Array.fromAsync(list)).map(({ name }) => name)
  const shores = { search: 'shore', sort: 'latest' }
  const linesOf = (...pages: number[]) =>
    pages.map((page) => `GET /apps?search=shore&sort=latest&limit=2&page=${page}`)

  test.for([
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
    [5, 3],
  ])('read %d apps from %d pages, each once, and again', async ([count = 0, pages = 0]) => {
    const { api, lines } = await startWithShores(count)
    const expected = Array.from({ length: count }, (_, index) => `Shore ${index}`)
    const numbers = Array.from({ length: pages }, (_, index) => index + 1)
    for (const _ of ['once', 'again'])
      expect((await namesOf(api.allApps({ ...shores, limit: 2 }))).toSorted()).toEqual(expected)
    expect(lines()).toEqual(linesOf(...numbers, ...numbers))
  })

  test('request no page before the iteration reaches it', async () => {
    const { api, lines } = await startWithShores(5)
    const list = api.allApps({ ...shores, limit: 2 })
    expect(lines()).toEqual([])
    for (const pages of [[1], [1], [1, 2]]) {
      await list.next()
      expect(lines()).toEqual(linesOf(...pages))
    }
    for await (const { name } of list) if (name) break
    expect(await list.next()).toEqual({ done: true, value: undefined })
    expect(lines()).toEqual(linesOf(1, 2))
  })

  test('read the pages that there are when they get there', async () => {
    const { api, service, ids, lines } = await startWithShores(4)
    const growing = api.allApps({ ...shores, sort: 'popular', limit: 2 })
    for (const _ of [1, 2]) await growing.next()
    const more = dataOf(await api.POST('/apps', { body: { ...newApp, name: 'Shore 4' } }))
    await service.decide('approve', more.app_id)
    expect(await namesOf(growing)).toHaveLength(3)

    const shrinking = api.allApps({ ...shores, limit: 2 })
    for (const _ of [1, 2]) await shrinking.next()
    for (const id of ids.slice(0, 3)) await service.decide('reject', id)
    expect(await namesOf(shrinking)).toEqual([])
    expect(lines().slice(-2)).toEqual(linesOf(1, 2))
  })

  test.for<[options: object | undefined, sent: string]>([
    [undefined, 'limit=100&page=1'],
    [{ sort: 'rating' }, 'sort=rating&limit=100&page=1'],
    [{ limit: 7 }, 'limit=7&page=1'],
    [{ sort: undefined, limit: undefined }, 'limit=100&page=1'],
  ])('read pages of 100 apps, unless the query says otherwise: %j', async ([query, sent]) => {
    const { api, lines } = startWithout([emptyList(), emptyList()])
    await api.allApps(query).next()
    await api.allOwnApps(query).next()
    expect(lines()).toEqual([`GET /apps?${sent}`, `GET /developer/apps?${sent}`])
  })

  test("read the apps of the key's developer, in every state or one", async () => {
    const { api, url } = await start({ key: keys.ada })
    expect((await namesOf(api.allOwnApps({ limit: 1 }))).toSorted()).toEqual([
      'Broken Compass',
      'Cloud Atlas',
      'Tide Clock',
    ])
    expect(await namesOf(api.allOwnApps({ status: 'rejected' }))).toEqual(['Broken Compass'])
    const names = await namesOf(createClient(url, keys.bob).allOwnApps())
    expect(names.toSorted()).toEqual(['Bird Song', 'Night Train'])
    await expect(createClient(url).allOwnApps().next()).rejects.toThrow(
      expect.objectContaining({ name: 'AppsError', status: 401 }),
    )
  })

  test('throw the error of any page', async () => {
    const page = (number: number) =>
      Response.json({ data: { apps: [{ name: `App ${number}` }], pagination: { total_pages: 3 } } })
    const { api, lines } = startWithout([page(1), refusal(500)])
    const list = api.allApps()
    expect((await list.next()).value).toEqual({ name: 'App 1' })
    await expect(list.next()).rejects.toThrow(expect.objectContaining({ status: 500 }))
    expect(lines()).toHaveLength(2)
  })

  test.for(['allApps', 'allOwnApps'] as const)('%s stops at an aborted signal', async (name) => {
    const page = () =>
      Response.json({ data: { apps: [{ name: 'App' }], pagination: { total_pages: 3 } } })
    const controller = new AbortController()
    const { send, requests } = recording(page(), page(), page())
    const api = createClient('http://localhost', 'key', {
      fetch: async (url, init) => {
        init.signal?.throwIfAborted()
        return send(url, init)
      },
    })
    const list = api[name]({}, { signal: controller.signal })
    await list.next()
    controller.abort(new Error('enough'))
    await expect(list.next()).rejects.toThrow('enough')
    expect(requests).toHaveLength(1)
  })
})

/** A time at which the clock of the client stands. */
const now = Date.UTC(2026, 5, 1, 12)
const dateIn = (seconds: number) => new Date(now + seconds * 1000).toUTCString()

/** Retries are sent after a millisecond in place of the second without Retry-After. */
function skipWaits() {
  const { setTimeout } = globalThis
  const shortened = (work: (...args: unknown[]) => void, time?: number, ...args: unknown[]) =>
    setTimeout(work, time === 1000 ? 1 : time, ...args)
  vi.stubGlobal('setTimeout', shortened)
  onTestFinished(() => void vi.unstubAllGlobals())
}

/** The next request is sent after this time, and not before. */
async function expectWait(milliseconds: number, lines: () => string[]) {
  await waitForTimer()
  const before = lines()
  await vi.advanceTimersByTimeAsync(milliseconds - 1)
  expect(lines(), `after ${milliseconds - 1} ms`).toEqual(before)
  await vi.advanceTimersByTimeAsync(1)
  expect(lines(), `after ${milliseconds} ms`).toEqual([...before, before.at(-1)])
}

const repeatedStatuses = [408, 429, 502, 503, 504]

describe('a retry', () => {
  describe.for(repeatedStatuses)('after a %d', (status) => {
    test.for<[what: string, headers: Record<string, string>, seconds: number]>([
      ['without Retry-After', {}, 1],
      ['with seconds', { 'Retry-After': '7' }, 7],
      ['with a fraction of seconds', { 'Retry-After': '1.5' }, 1.5],
      ['with no seconds', { 'Retry-After': '0' }, 1],
      ['with negative seconds', { 'Retry-After': '-5' }, 1],
      ['with a minute', { 'Retry-After': '60' }, 60],
      ['with more than a minute', { 'Retry-After': '61' }, 60],
      ['with very many seconds', { 'Retry-After': '9'.repeat(400) }, 60],
      ['with a word', { 'Retry-After': 'soon' }, 1],
      ['with an empty value', { 'Retry-After': '' }, 1],
      ['with a date', { 'Retry-After': dateIn(7) }, 7],
      ['with a date in another form', { 'Retry-After': 'Monday, 01-Jun-26 12:00:07 GMT' }, 7],
      ['with a date that is now', { 'Retry-After': dateIn(0) }, 1],
      ['with a date in the past', { 'Retry-After': dateIn(-3600) }, 1],
      ['with a date far ahead', { 'Retry-After': dateIn(86_400) }, 60],
      ['with a date that does not exist', { 'Retry-After': 'Mon, 32 Jun 2026 12:00:07 GMT' }, 1],
      [
        'with a date of a server whose clock is an hour ahead',
        { 'Retry-After': dateIn(3607), Date: dateIn(3600) },
        7,
      ],
      [
        'with a date of a server whose clock is an hour behind',
        { 'Retry-After': dateIn(-3593), Date: dateIn(-3600) },
        7,
      ],
      ['with a date beside an invalid Date', { 'Retry-After': dateIn(7), Date: 'today' }, 7],
    ])('%s', async ([, headers, seconds]) => {
      stopTime(now)
      const other = { 'Retry-After': '2' }
      const { api, lines } = startWithout([
        refusal(status, headers),
        refusal(status, other),
        emptyList(),
      ])
      const result = api.GET('/apps')
      await expectWait(seconds * 1000, lines)
      await expectWait(2000, lines)
      expect((await result).response.status).toBe(200)
      expect(lines()).toHaveLength(3)
    })
  })

  test.for<[what: string, options: ClientOptions, requests: number]>([
    ['three times by default', {}, 4],
    ['once with retries: 1', { retries: 1 }, 2],
    ['not with retries: 0', { retries: 0 }, 1],
  ])('happens %s, then the last response counts', async ([, options, requests]) => {
    stopTime(now)
    const { api, lines } = startWithout(refusals(8, 503, { 'Retry-After': '7' }), options)
    for (const sent of [requests, requests * 2]) {
      const result = api.GET('/apps')
      for (let retry = 1; retry < requests; retry++) await expectWait(7000, lines)
      const { response, error } = await result
      expect([response.status, error?.data.code]).toEqual([503, 'unavailable'])
      expect(lines()).toHaveLength(sent)
    }
  })

  const others = [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 431, 500, 501, 505]
  test.for(others)('does not follow a %d, whatever Retry-After says', async (status) => {
    const { api, lines } = startWithout([refusal(status, { 'Retry-After': '7' })])
    const { response } = await api.GET('/apps')
    expect([response.status, ...lines()]).toEqual([status, 'GET /apps'])
  })

  const item = '/apps/{id}'
  const { params } = path(1)
  describe.for<['PUT' | 'DELETE', object]>([
    ['PUT', { params, body: { version: '2' } }],
    ['DELETE', { params }],
  ])('of a %s', ([method, options]) => {
    test('follows each 429', async () => {
      stopTime(now)
      const { api, lines } = startWithout([
        ...refusals(2, 429, { 'Retry-After': '7' }),
        emptyList(),
      ])
      const result = api[method](item, options)
      for (const _ of [1, 2]) await expectWait(7000, lines)
      expect((await result).response.status).toBe(200)
    })

    const otherStatuses = repeatedStatuses.filter((status) => status !== 429)
    test.for(otherStatuses)('does not follow a %d', async (status) => {
      const { api, lines } = startWithout([refusal(status)])
      const { response } = await api[method](item, options)
      expect([response.status, ...lines()]).toEqual([status, `${method} /apps/1`])
    })

    test('does not follow a 503 after a 429', async () => {
      stopTime(now)
      const { api, lines } = startWithout([refusal(429), refusal(503)])
      const result = api[method](item, options)
      await expectWait(1000, lines)
      expect((await result).response.status).toBe(503)
    })

    test('does not follow a request without a response', async () => {
      const { api, lines } = startWithout([new Error('lost')])
      await expect(api[method](item, options)).rejects.toThrow(
        expect.objectContaining({
          name: 'ConnectionError',
          message: `${method} http://localhost/apps/1: no complete response (lost)`,
        }),
      )
      expect(lines()).toHaveLength(1)
    })
  })

  describe('of a create', () => {
    test.for<[what: string, Answer]>([
      ['is lost', 'lost after the service'],
      ...repeatedStatuses.map((status): [string, Answer] => [`is a ${status}`, refusal(status)]),
    ])('whose response %s makes one app', async ([, answer]) => {
      const { api, requests, lines } = await start({ key: keys.ada, answers: [answer] })
      const names = async () => (await Array.fromAsync(api.allOwnApps())).map(({ name }) => name)
      skipWaits()
      const { app_id } = dataOf(await api.POST('/apps', { body: newApp }))
      expect(lines()).toEqual(['POST /apps', 'POST /apps'])
      const [first, second] = requests
      expect(first?.headers.get('Idempotency-Key')).toMatch(/^[0-9a-f-]{36}$/)
      expect([...(second?.headers ?? [])]).toEqual([...(first?.headers ?? [])])
      expect(second?.init.body).toBe(first?.init.body)
      expect((await names()).filter((name) => name === newApp.name)).toHaveLength(1)

      // Another create, though equal, is another app.
      expect(dataOf(await api.POST('/apps', { body: newApp })).app_id).not.toBe(app_id)
      expect((await names()).filter((name) => name === newApp.name)).toHaveLength(2)
    })

    test.for([
      ['as a parameter', { params: { header: { 'Idempotency-Key': 'own' } } }],
      ['as a header', { headers: { 'Idempotency-Key': 'own' } }],
    ] as const)('has the key that the call has %s', async ([, options]) => {
      const { api, requests } = await start({ key: keys.ada })
      const create = async () => dataOf(await api.POST('/apps', { body: newApp, ...options }))
      const { app_id } = await create()
      expect((await create()).app_id).toBe(app_id)
      expect(requests.map(({ headers }) => headers.get('Idempotency-Key'))).toEqual(['own', 'own'])
    })

    test('leaves other requests without a key', async () => {
      const { api, requests } = startWithout(Array.from({ length: 4 }, emptyList))
      await api.POST('/apps', { body: newApp })
      await api.GET('/apps')
      await api.PUT(item, { ...path(1), body: {} })
      await api.DELETE(item, path(1))
      expect(requests.map(({ headers }) => headers.has('Idempotency-Key'))).toEqual([
        true,
        false,
        false,
        false,
      ])
    })
  })
})

/** What a broken server does with a request. */
type Break = 'lost' | 'half' | 'stalled' | 'nonsense' | 'never'

/** A server that breaks the first requests, and then sends an empty list. */
async function startBreaking(...breaks: Break[]) {
  let count = 0
  const server = createServer((request, response) => {
    const broken = breaks[count++]
    if (broken === 'never') return
    if (broken === 'lost') return void request.socket.destroy()
    if (broken === 'nonsense') return void request.socket.end('Hello.\r\n')
    if (broken === undefined) return void response.end(JSON.stringify({ data: { apps: [] } }))
    response.writeHead(200, { 'Content-Length': 100 })
    response.write('{', () => broken === 'half' && request.socket.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests: () => count }
}

describe('without a complete response', () => {
  const cases: [Break, timeout: number, reason: RegExp][] = [
    ['lost', 30_000, /: the connection was lost \(.+\)$/],
    ['half', 30_000, /: the connection was lost \(.+\)$/],
    ['nonsense', 30_000, /: no complete response \(.+\)$/],
    ['never', 100, /: no response within 100 ms$/],
    ['stalled', 100, /: no response within 100 ms$/],
  ]

  test.for(cases)('(%s) a read is repeated, with its own time', async ([broken]) => {
    skipWaits()
    const { url, requests } = await startBreaking(broken)
    const { send, lines } = recording()
    const first = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(first.signal)
    onTestFinished(() => timeout.mockRestore())
    const result = createClient(url, undefined, { fetch: send }).GET('/apps')
    await expect.poll(requests).toBeGreaterThan(0)
    first.abort()
    expect([(await result).response.status, ...lines()]).toEqual([200, 'GET /apps', 'GET /apps'])
  })

  test.for(cases)('(%s) the last retry throws an error', async ([broken, timeout, reason]) => {
    skipWaits()
    const { url } = await startBreaking(broken, broken)
    const { send, lines } = recording()
    const api = createClient(url, undefined, { fetch: send, retries: 1, timeout })
    await expect(api.GET('/apps')).rejects.toThrow(
      expect.objectContaining({ name: 'ConnectionError', message: expect.stringMatching(reason) }),
    )
    expect(lines()).toHaveLength(2)
  })

  describe.for(['PUT', 'DELETE'] as const)('a %s is not repeated', (method) => {
    test.for(cases)('(%s)', async ([broken, timeout, reason]) => {
      const { url } = await startBreaking(broken)
      const { send, lines } = recording()
      const api = createClient(url, 'key', { fetch: send, timeout })
      await expect(api[method]('/apps/{id}', { ...path(1), body: {} })).rejects.toThrow(reason)
      expect(lines()).toHaveLength(1)
    })
  })

  test('a DELETE that could not connect says so', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    await expect(createClient(url, 'key').DELETE('/apps/{id}', path(1))).rejects.toThrow(
      `DELETE ${url}/apps/1: could not connect (connect ECONNREFUSED ${new URL(url).host})`,
    )
  })

  test('a DELETE that could connect to one address of several does not say so', async () => {
    const failures = [
      Object.assign(new Error('connect ECONNREFUSED ::1:80'), { syscall: 'connect' }),
      Object.assign(new Error('read ECONNRESET'), { syscall: 'read', code: 'ECONNRESET' }),
    ]
    const cause = new AggregateError(failures)
    const send = () => Promise.reject(new TypeError('fetch failed', { cause }))
    const api = createClient('http://service.test', 'key', { fetch: send })
    await expect(api.DELETE('/apps/{id}', path(1))).rejects.toThrow(
      ': the connection was lost (connect ECONNREFUSED ::1:80, read ECONNRESET)',
    )
  })
})

describe('a timeout', () => {
  test.for<[options: ClientOptions, milliseconds: number]>([
    [{}, 30_000],
    [{ timeout: 7 }, 7],
  ])('with the options %j is %d ms', async ([options, milliseconds]) => {
    const timeout = vi.spyOn(AbortSignal, 'timeout')
    onTestFinished(() => timeout.mockRestore())
    const { api } = startWithout([emptyList()], options)
    await api.GET('/apps')
    expect(timeout.mock.calls).toEqual([[milliseconds]])
  })

  const { signal } = new AbortController()
  test.for<[what: string, call: (api: Client) => Promise<unknown>]>([
    ['a read', (api) => api.GET('/apps', { signal })],
    ['an update', (api) => api.PUT('/apps/{id}', { ...path(1), body: {}, signal })],
    ['a list of pages', (api) => api.allApps({}, { signal }).next()],
    ['a list of own pages', (api) => api.allOwnApps({}, { signal }).next()],
  ])('ends %s that has a signal, too', async ([, call]) => {
    for (const broken of ['never', 'stalled'] as const) {
      const { url } = await startBreaking(broken)
      const api = createClient(url, 'key', { retries: 0, timeout: 100 })
      await expect(call(api)).rejects.toThrow('no response within 100 ms')
    }
  })
})

describe('an aborted signal', () => {
  const reason = new Error('enough')

  test('sends nothing if it was aborted before', async () => {
    const { url, requests } = await startBreaking()
    const signal = AbortSignal.abort(reason)
    await expect(createClient(url).GET('/apps', { signal })).rejects.toBe(reason)
    expect(requests()).toBe(0)
  })

  describe.for<['GET' | 'PUT', retries: number]>([
    ['GET', 3],
    ['GET', 0],
    ['PUT', 3],
  ])('ends a %s with %d retries', ([method, retries]) => {
    const item = { ...path(1), ...(method === 'PUT' && { body: {} }) }

    test.for<[Break, isAbortedBefore: boolean]>([
      ['never', true],
      ['stalled', false],
    ])('that is %s', async ([broken, isAbortedBefore]) => {
      const { url, requests } = await startBreaking(broken)
      const controller = new AbortController()
      const send: Send = async (url, init) => {
        const sent = fetch(url, init)
        await (isAbortedBefore ? expect.poll(requests).toBe(1) : sent)
        controller.abort(reason)
        return sent
      }
      const api = createClient(url, undefined, { fetch: send, retries })
      const { signal } = controller
      await expect(api[method]('/apps/{id}', { ...item, signal })).rejects.toBe(reason)
      expect(requests()).toBe(1)
    })
  })

  test('ends the wait for a retry that has not begun', async () => {
    const controller = new AbortController()
    const { send, lines } = recording(refusal(503), emptyList())
    const api = createClient('http://localhost', undefined, {
      fetch: (url, init) => {
        controller.abort(reason)
        return send(url, init)
      },
    })
    await expect(api.GET('/apps', { signal: controller.signal })).rejects.toBe(reason)
    expect(lines()).toEqual(['GET /apps'])
  })

  test.for<[what: string, Answer]>([
    ['a 429', refusal(429, { 'Retry-After': '7' })],
    ['a 503', refusal(503, { 'Retry-After': '7' })],
    ['a lost response', new Error('lost')],
  ])('ends the wait after %s, of this call alone', async ([, answer]) => {
    stopTime(now)
    const controller = new AbortController()
    const { api, lines } = startWithout([
      answer instanceof Response ? answer.clone() : answer,
      answer,
      emptyList(),
    ])
    const aborted = api.GET('/apps', { signal: controller.signal })
    await waitForTimer()
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    expect([vi.getTimerCount(), ...lines()]).toEqual([0, 'GET /apps'])

    const other = api.GET('/categories', { signal: new AbortController().signal })
    await waitForTimer()
    await vi.advanceTimersByTimeAsync(7000)
    expect((await other).response.status).toBe(200)
  })

  test('has no listeners of calls that have ended', async () => {
    stopTime(now)
    const { signal } = new AbortController()
    const { api, lines } = startWithout([...refusals(2, 503), emptyList()])
    const result = api.GET('/apps', { signal })
    for (const _ of [1, 2]) await expectWait(1000, lines)
    await result
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
