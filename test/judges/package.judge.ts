import { execFile, type StdioOptions, spawnSync } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { commandLine, serve } from '../support/process.ts'
import { typeErrors } from './tools.ts'

/**
 * clients/typescript as published: packed, installed beside a consumer's program, compiled and run.
 */

const root = `${import.meta.dirname}/../..`
const home = `${root}/clients/typescript`
const run = promisify(execFile)
const manifest = JSON.parse(readFileSync(`${home}/package.json`, 'utf8'))
const env = {
  ...process.env,
  PATH: `${root}/node_modules/.bin:${process.env.PATH}`,
  npm_config_offline: 'true',
}

let packed: string

beforeAll(async () => {
  await run('npm', ['pack', '--silent'], { cwd: home, env })
  packed = join(home, `${manifest.name}-${manifest.version}.tgz`)
})

/** Runs a program with the package installed, and returns its output. */
async function consume(source: string): Promise<string> {
  const folder = consumer(await unpacked(), source)
  const { stdout } = await run(process.execPath, [join(folder, 'program.ts')], { cwd: folder })
  return stdout.trimEnd()
}

async function unpacked(): Promise<string> {
  const folder = temporaryFolder()
  const installed = join(folder, 'node_modules', manifest.name)
  mkdirSync(installed, { recursive: true })
  await run('tar', ['xzf', packed, '-C', installed, '--strip-components', '1'])
  return folder
}

function consumer(folder: string, source: string): string {
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'program.ts'), source)
  return folder
}

test('publint and attw find nothing wrong in the packed file', async () => {
  expect(lint(packed)).toEqual([])
})

test('publint and attw find types that exports names and the file lacks', async () => {
  const folder = temporaryFolder()
  await run('tar', ['xzf', packed, '-C', folder])
  const exports = { '.': { types: './dist/missing.d.ts', default: './dist/index.js' } }
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ ...manifest, exports }))
  await run('tar', ['czf', 'broken.tgz', 'package'], { cwd: folder })
  expect(lint(join(folder, 'broken.tgz'))).toEqual([
    expect.stringMatching(/types is .*missing\.d\.ts.* but the file does not exist/),
    expect.stringMatching(/FallbackCondition/),
  ])
})

/** The output of each tool that finds a mistake in a packed file. */
function lint(file: string): string[] {
  const commands = [
    ['publint', '--strict'],
    // The package is for ES modules only.
    ['attw', '--profile', 'esm-only'],
  ]
  const outputs = []
  for (const [tool, ...options] of commands) {
    const program = `${import.meta.dirname}/node_modules/.bin/${tool}`
    // To a file, since attw exits without waiting until a pipe has taken its output.
    const output = join(temporaryFolder(), 'output')
    const stdio: StdioOptions = ['ignore', openSync(output, 'w'), 'inherit']
    // publint colours its output if the variable CI is set.
    const { status } = spawnSync(program, [file, ...options], {
      env: { ...env, NO_COLOR: '1' },
      stdio,
    })
    if (status !== 0) outputs.push(readFileSync(output, 'utf8'))
  }
  return outputs
}

const readme = readFileSync(`${home}/README.md`, 'utf8')

/** The first example of its README, with a server's address and a key. */
const firstApp = (baseUrl: string, key: string) =>
  (/```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '')
    .replace('http://localhost:3000', baseUrl)
    .replace('apps_YOUR_KEY', key)

/** The other examples, which continue the first. */
const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, source = '']) => source)

async function start() {
  const databaseFile = await copyWorld()
  const server = await serve(databaseFile)
  return { server, baseUrl: `http://127.0.0.1:${server.port}`, databaseFile, ...inject('world') }
}

test('runs the first example of its README after npm init -y', async () => {
  const { baseUrl, keys } = await start()
  const program = firstApp(baseUrl, keys.ada)
  expect(program.trim().split('\n').filter(Boolean)).toHaveLength(4)
  const folder = await unpacked()
  await run('npm', ['init', '-y'], { cwd: folder, env })
  writeFileSync(join(folder, 'first-app.mjs'), program)
  const { stdout } = await run(process.execPath, ['first-app.mjs'], { cwd: folder })
  expect(stdout).toMatch(/^{ app_id: \d+, slug: 'star-map', status: 'pending' }\n$/)
})

test('runs the other examples of its README', async () => {
  const { baseUrl, keys, apps, databaseFile, server } = await start()
  const [categories = '', lists = '', errors = '', decision = ''] = examples
  expect(examples).toHaveLength(4)
  const example = (source: string) =>
    consume(firstApp(baseUrl, keys.ada).replace(/^console.*$/m, '') + source)
  expect(await example(categories)).toBe('3 Empty 0\n2 Games 1\n1 Tools 1')
  expect(await example(lists)).toBe(`${apps.approved} Tide Clock\nBroken Compass It points south.`)
  expect(await example(errors)).toBe('star-map')

  const waiting = example(decision.replace('101', `${apps.pending}`).replace('60_000', '10'))
  const statuses = () => server.log.map((line) => JSON.parse(line).res?.statusCode)
  await expect.poll(statuses).toContain(304)
  await commandLine(databaseFile).run('moderation', 'approve', String(apps.pending))
  expect(await waiting).toBe('approved undefined')
})

test('the examples of its README compile', async () => {
  const program = [firstApp('http://localhost', 'key'), ...examples.map((one) => `{\n${one}}\n`)]
  expect(await compile(program.join(''))).toBe('')
})

test('iterates over all pages', async () => {
  const { baseUrl, keys, databaseFile } = await start()
  const program = `
    import { createClient, dataOf } from 'apps-service-client'
    const api = createClient('${baseUrl}', '${keys.ada}')
    const body = { description: 'Tides.', category_id: 1 }
    for (let i = 0; i < 5; i++) console.log(dataOf(await api.POST('/apps', { body: { ...body, name: 'Shore ' + i } })).app_id)`
  const ids = (await consume(program)).split('\n')
  expect((await commandLine(databaseFile).run('moderation', 'approve', ...ids)).code).toBe(0)
  const names = await consume(`
    import { createClient } from 'apps-service-client'
    for await (const { name } of createClient('${baseUrl}').allApps({ search: 'shore', limit: 2 })) console.log(name)`)
  expect(names.split('\n').toSorted()).toEqual([
    'Shore 0',
    'Shore 1',
    'Shore 2',
    'Shore 3',
    'Shore 4',
  ])
})

test("iterates over all pages of a developer's own apps", async () => {
  const { baseUrl, keys } = await start()
  const printed = await consume(`
    import { createClient, dataOf } from 'apps-service-client'
    const api = createClient('${baseUrl}', '${keys.ada}')
    for await (const { name, status } of api.allOwnApps({ limit: 1 })) console.log(name, status)
    for await (const { name, rejection_reason } of api.allOwnApps({ status: 'rejected' }))
      console.log(name, rejection_reason)
    await createClient('${baseUrl}').allOwnApps().next().catch((error) => console.log(error.data.code))`)
  const [broken, ...others] = printed.split('\n').toSorted()
  expect([broken, ...others]).toEqual([
    'Broken Compass It points south.',
    'Broken Compass rejected',
    'Cloud Atlas pending',
    'Tide Clock approved',
    'unauthorized',
  ])
})

test('reads pages of 100 apps, unless it is told otherwise', async () => {
  const { server, baseUrl } = await start()
  await consume(`
    import { createClient } from 'apps-service-client'
    const { allApps } = createClient('${baseUrl}')
    for (const query of [undefined, { sort: 'rating' }, { limit: 7 }] as const) await allApps(query).next()`)
  const requested = () =>
    server.log.map((line) => JSON.parse(line).req?.url).filter((url) => url !== undefined)
  const expected = [
    '/apps?limit=100&page=1',
    '/apps?sort=rating&limit=100&page=1',
    '/apps?limit=7&page=1',
  ]
  await expect.poll(requested).toEqual(expected)
})

test('refuses a base URL that no request can be sent to', async () => {
  const urls = [
    'localhost:3000',
    'example.org',
    '/v1',
    '',
    'http://',
    'ftp://example.org',
    'http://a:b@example.org',
  ]
  const printed = await consume(`
    import { createClient } from 'apps-service-client'
    for (const url of ${JSON.stringify(urls)}) {
      try {
        createClient(url)
      } catch (error) {
        console.log(String(error))
      }
    }`)
  expect(printed.split('\n')).toEqual(
    urls.map((url) => expect.stringMatching(`^TypeError: Invalid base URL "${url}"; .* http://`)),
  )
})

test('throws an error response with its code', async () => {
  const { baseUrl } = await start()
  const program = `
    import { AppsError, createClient, dataOf } from 'apps-service-client'
    try {
      dataOf(await createClient('${baseUrl}').GET('/apps/{id}', { params: { path: { id: 999999 } } }))
    } catch (error) {
      if (error instanceof AppsError) console.log(error.status, error.data.code, error.message, error.requestId?.length)
    }`
  expect(await consume(program)).toBe('404 not_found Not found; check the path and the id. 36')
})

test('sends parameters and headers encoded, and omits undefined ones', async () => {
  const { server, baseUrl } = await start()
  const printed = await consume(`
    import { createClient } from 'apps-service-client'
    const query = { search: 'c++ & d', sort: undefined, limit: 2 }
    const params = { query, header: { 'If-None-Match': undefined } }
    const { response } = await createClient('${baseUrl}/').GET('/apps', { params, headers: { 'X-Request-Id': 'own' } })
    console.log(response.status, response.headers.get('X-Request-Id'))`)
  expect(printed).toBe('200 own')
  const requested = () =>
    server.log.map((line) => JSON.parse(line).req?.url).filter((url) => url !== undefined)
  await expect.poll(requested).toEqual(['/apps?search=c%2B%2B+%26+d&limit=2'])
})

describe('options', () => {
  test('fetch replaces the global one, and gets the URL and the request', async () => {
    const { baseUrl, keys } = await start()
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const send = async (url, init) => {
        console.log(init.method, new URL(url).pathname, init.headers.get('Content-Type'), init.body)
        return fetch(url, init)
      }
      const api = createClient('${baseUrl}', '${keys.ada}', { fetch: send })
      await api.POST('/apps', { body: { name: '' } })
      console.log((await api.GET('/categories')).response.status)`)
    expect(printed.split('\n')).toEqual([
      'POST /apps application/json {"name":""}',
      'GET /categories null undefined',
      '200',
    ])
  })

  test('a fetch that fails is repeated', async () => {
    const { baseUrl } = await start()
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      let calls = 0
      const send = async () => {
        throw new Error('failure ' + ++calls)
      }
      const api = createClient('${baseUrl}', undefined, { fetch: send, retries: 1 })
      await api.GET('/apps').catch((error) => console.log(String(error)))`)
    expect(printed).toBe(`ConnectionError: GET ${baseUrl}/apps: no complete response (failure 2)`)
  })

  test('headers are sent with every request, unless a call or the key has others', async () => {
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const send = async (url, { headers }) => {
        console.log(['user-agent', 'traceparent', 'authorization'].map((name) => headers.get(name)).join())
        return Response.json({})
      }
      const headers = { 'User-Agent': 'shop/1.0', traceparent: '00-1', Authorization: 'Basic proxy' }
      const withKey = createClient('http://localhost', 'apps_key', { fetch: send, headers })
      await withKey.GET('/apps')
      await withKey.GET('/apps', { headers: { traceparent: '00-2', Authorization: 'Bearer other' } })
      await createClient('http://localhost', undefined, { fetch: send, headers }).GET('/apps')`)
    expect(printed.split('\n')).toEqual([
      'shop/1.0,00-1,Bearer apps_key',
      'shop/1.0,00-2,Bearer other',
      'shop/1.0,00-1,Basic proxy',
    ])
  })

  test('a response may take 30 seconds, unless told otherwise', async () => {
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const send = async () => Response.json({})
      AbortSignal.timeout = (milliseconds) => {
        console.log(milliseconds)
        return new AbortController().signal
      }
      await createClient('http://localhost', undefined, { fetch: send }).GET('/apps')
      await createClient('http://localhost', undefined, { fetch: send, timeout: 7 }).GET('/apps')`)
    expect(printed).toBe('30000\n7')
  })

  test('a retry waits a minute at most, whatever Retry-After says', async () => {
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const { setTimeout } = globalThis
      globalThis.setTimeout = (callback, milliseconds) => {
        console.log(milliseconds)
        return setTimeout(callback, 0)
      }
      const send = async () => new Response('', { status: 503, headers: { 'Retry-After': '3600' } })
      await createClient('http://localhost', undefined, { fetch: send, retries: 1 }).GET('/apps')`)
    expect(printed).toBe('60000')
  })

  test('are typed', async () => {
    const program = `
      import { createClient, type Options } from 'apps-service-client'
      const headers = new Headers({ 'User-Agent': 'shop/1.0' })
      createClient('http://localhost', 'key', { fetch, headers, retries: 0, timeout: 5000 })
      createClient('http://localhost', undefined, { headers: { traceparent: '00-1' } })
      const counted: Options['fetch'] = (url, init) => fetch(url.toLowerCase(), { ...init, cache: 'no-store' })
      createClient('http://localhost', 'key', { fetch: counted })
      // @ts-expect-error a response is missing
      createClient('http://localhost', 'key', { fetch: async () => {} })
      // @ts-expect-error no such option
      createClient('http://localhost', 'key', { retry: 1 })`
    expect(await compile(program)).toBe('')
  })
})

describe('retries', () => {
  type Reply =
    | [status: number, retryAfter?: string]
    | 'lost'
    | 'half'
    | 'stalled'
    | 'nonsense'
    | 'page'
    | 'never'
  /** A server that sends these responses in turn, or none, and then an empty list. */
  async function startAnswering(...answers: Reply[]) {
    let count = 0
    const keys: unknown[] = []
    const server = createServer((request, response) => {
      keys.push(request.headers['idempotency-key'])
      const answer = answers[count++] ?? [200]
      if (answer === 'never') return
      if (answer === 'lost') return void request.socket.destroy()
      if (answer === 'nonsense') return void request.socket.end('Hello.\r\n')
      if (answer === 'page') return void response.writeHead(403).end('<h1>Forbidden</h1>')
      if (answer === 'half' || answer === 'stalled') {
        response.writeHead(200, { 'Content-Length': 100 })
        return void response.write('{', () => answer === 'half' && request.socket.destroy())
      }
      const [status, retryAfter] = answer
      response.writeHead(status, {
        'Content-Type': 'application/json',
        ...(retryAfter && { 'Retry-After': retryAfter }),
      })
      const data = {
        apps: [],
        pagination: { current_page: 1, total_pages: 0, per_page: 20 },
        code: 'unavailable',
      }
      response.end(JSON.stringify({ success: status === 200, message: 'So.', data }))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    await new Promise((resolve) => server.once('listening', resolve))
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      requests: () => count,
      keys: () => keys,
    }
  }

  test.for<[what: string, answers: Reply[], options: string, waits: number, status: number]>([
    [
      '429 until another status',
      [
        [429, '7'],
        [429, '7'],
      ],
      '{}',
      2,
      200,
    ],
    [
      '503 as often as configured',
      [
        [503, '7'],
        [503, '7'],
        [503, '7'],
      ],
      '{ retries: 1 }',
      1,
      503,
    ],
    ['503 three times by default', [[503], [503], [503], [503]], '{}', 3, 503],
    ['nothing with retries: 0', [[503, '7']], '{ retries: 0 }', 0, 503],
    ['503 without Retry-After after a second', [[503]], '{}', 1, 200],
    [
      '503 with a date in Retry-After after a second',
      [[503, new Date().toUTCString()]],
      '{}',
      1,
      200,
    ],
    ['408, 502 and 504', [[408], [502], [504]], '{}', 3, 200],
    ['no other errors', [[500, '7']], '{}', 0, 500],
    ['503 after at most a minute', [[503, '3600']], '{}', 1, 200],
    ['a GET after a lost connection', ['lost', 'lost'], '{}', 2, 200],
    ['a GET after half a response', ['half'], '{}', 1, 200],
    ['a GET after a timeout', ['never'], '{ timeout: 1500 }', 1, 200],
    ['a GET after a timeout in the body', ['stalled'], '{ timeout: 1500 }', 1, 200],
  ])('%s', async ([, answers, options, waits, status]) => {
    const server = await startAnswering(...answers)
    // The program counts waits instead of waiting.
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const { setTimeout } = globalThis
      let waits = 0
      globalThis.setTimeout = (work, time, ...more) =>
        [1000, 7000, 60_000].includes(time) ? setTimeout(work, 0, waits++) : setTimeout(work, time, ...more)
      const { response } = await createClient('${server.url}', undefined, ${options}).GET('/apps')
      console.log(response.status, waits)`)
    expect([printed, server.requests()]).toEqual([`${status} ${waits}`, waits + 1])
  })

  describe.for(['PUT', 'DELETE'])('a %s only after a 429', (method) => {
    test.for<[what: string, answer: Reply, options: string, isRepeated: boolean, printed: string]>([
      ['a 429', [429], '{}', true, '200'],
      ['a 408', [408], '{}', false, '408'],
      ['a 502', [502], '{}', false, '502'],
      ['a 503', [503, '7'], '{}', false, '503'],
      ['a 504', [504], '{}', false, '504'],
      [
        'a lost connection, but throws a ConnectionError',
        'lost',
        '{}',
        false,
        'ConnectionError: the connection was lost',
      ],
      [
        'half a response, but throws a ConnectionError',
        'half',
        '{}',
        false,
        'ConnectionError: the connection was lost',
      ],
      [
        'nonsense, but throws a ConnectionError',
        'nonsense',
        '{}',
        false,
        'ConnectionError: no complete response',
      ],
      ...(['never', 'stalled'] as const).map((answer): [string, Reply, string, boolean, string] => [
        `a timeout (${answer}), but throws a ConnectionError`,
        answer,
        '{ timeout: 1500 }',
        false,
        'ConnectionError: no response within 1500 ms',
      ]),
    ])('%s', async ([, answer, options, isRepeated, expected]) => {
      const server = await startAnswering(answer)
      const printed = await consume(`
        import { createClient } from 'apps-service-client'
        const request = { params: { path: { id: 1 } }, body: {} }
        await createClient('${server.url}', 'key', ${options}).${method}('/apps/{id}', request).then(
          ({ response }) => console.log(response.status),
          (error) => console.log(error.name + error.message.replace(/^${method} \\S+:/, ':').replace(/ \\(.*\\)$/, '')))`)
      expect([printed, server.requests()]).toEqual([expected, isRepeated ? 2 : 1])
    })
  })

  test('a DELETE that could not connect throws a ConnectionError that says so', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const path = { params: { path: { id: 1 } } }
      await createClient('${url}', 'key').DELETE('/apps/{id}', path).catch((error) => console.log(String(error)))`)
    const reason = `connect ECONNREFUSED ${new URL(url).host}`
    expect(printed).toBe(`ConnectionError: DELETE ${url}/apps/1: could not connect (${reason})`)
  })

  test('a create with one key of its own, or with the given one', async () => {
    const server = await startAnswering('lost', [502], [200], 'lost', [200])
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const api = createClient('${server.url}', 'key')
      const body = { name: 'A', description: 'A', category_id: 1 }
      const params = { header: { 'Idempotency-Key': 'own' } }
      for (const more of [{}, { params }]) console.log((await api.POST('/apps', { body, ...more })).response.status)`)
    expect([printed, server.requests()]).toEqual(['200\n200', 5])
    const [first, ...others] = server.keys()
    expect(first).toMatch(/^[0-9a-f-]{36}$/)
    expect(others).toEqual([first, first, 'own', 'own'])
  })

  test('no error of a proxy without the envelope, which dataOf throws with its status', async () => {
    const server = await startAnswering('page')
    const printed = await consume(`
      import { createClient, dataOf } from 'apps-service-client'
      const { error, response } = await createClient('${server.url}').GET('/apps')
      console.log(error)
      try {
        dataOf({ error, response })
      } catch (error) {
        console.log(String(error))
      }`)
    expect(printed).toBe('<h1>Forbidden</h1>\nError: The service responded with status 403.')
  })

  test('not an aborted request, which throws the reason', async () => {
    const server = await startAnswering('never')
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const apps = createClient('${server.url}').allApps({}, { signal: AbortSignal.abort(new Error('enough')) })
      await apps.next().catch((error) => console.log(error.message))`)
    expect([printed, server.requests()]).toEqual(['enough', 0])
  })

  test.for<[what: string, answer: Reply, send: string, options: string]>([
    [
      'while it waits for the response',
      'never',
      'const sent = fetch(url, init); setTimeout(abort, 0); return sent',
      'retries: 0',
    ],
    [
      'while the body arrives',
      'stalled',
      'const response = await fetch(url, init); setTimeout(abort, 0); return response',
      'retries: 0',
    ],
    ['while it waits for a retry', [503, '7'], 'return fetch(url, init)', 'retries: 3'],
    ['while it waits for a retry after a loss', 'lost', 'return fetch(url, init)', 'retries: 3'],
  ])('not a request that is aborted %s', async ([, answer, send, options]) => {
    const server = await startAnswering(answer)
    const printed = await consume(`
      import { createClient } from 'apps-service-client'
      const { setTimeout } = globalThis
      const controller = new AbortController()
      const abort = () => controller.abort(new Error('enough'))
      // A wait for a retry is aborted when it begins, and would not end otherwise.
      globalThis.setTimeout = (work, time, ...more) =>
        [1000, 7000].includes(time) ? setTimeout(abort, 0) : setTimeout(work, time, ...more)
      const send = async (url, init) => { ${send} }
      const api = createClient('${server.url}', undefined, { fetch: send, ${options} })
      await api.GET('/apps', { signal: controller.signal }).then(
        ({ response }) => console.log(response.status),
        (error) => console.log(error === controller.signal.reason, error.message))`)
    expect(printed).toBe('true enough')
    expect(server.requests()).toBeLessThanOrEqual(1)
  })
})

test('compiles under strict, and a switch over the codes of an operation is exhaustive', async () => {
  const codes = [
    ...[
      'invalid_request',
      'unauthorized',
      'not_found',
      'method_not_allowed',
      'not_acceptable',
      'request_timeout',
    ],
    ...['rate_limited', 'headers_too_large', 'internal_error', 'not_implemented', 'unavailable'],
    'http_version_not_supported',
  ]
  const advice = (name: string, cases: string[]) => `
    export async function ${name}(): Promise<string> {
      const { data, error } = await api.GET('/apps/{id}', { params: { path: { id: 1 } } })
      if (data) return data.data.app.name
      switch (error.data.code) {
        ${cases.map((code) => `case '${code}':`).join('\n')}
          return error.message
      }
    }`
  const program = `
    import { AppsError, createClient } from 'apps-service-client'
    const api = createClient('http://localhost')
    export function fields(error: unknown): string[] {
      if (!(error instanceof AppsError)) return []
      // @ts-expect-error data is not any
      error.data.colour
      return error.data.code === 'package_name_taken' ? error.data.errors.map(({ field }) => field) : []
    }
    ${advice('whole', codes)}
    // @ts-expect-error a code is left out
    ${advice('leftOut', codes.slice(1)).trim()}`
  expect(await compile(program)).toBe('')
})

test('a comparison of the code tells which fields the data has', async () => {
  const program = `
    import { AppsError, createClient } from 'apps-service-client'
    const api = createClient('http://localhost')
    const body = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
    const { error } = await api.POST('/apps', { body })
    if (error?.data.code === 'unknown_category') error.data.categories.map(({ slug }) => slug)
    if (error?.data.code === 'invalid_request') error.data.errors.map(({ message }) => message)
    if (error?.data.code === 'package_name_taken') error.data.app_id?.toFixed()
    if (error?.data.code === 'malformed_json') error.data.errors?.map(({ field }) => field)
    if (error?.data.code === 'idempotency_key_reused') error.data.errors.map(({ field }) => field)
    // @ts-expect-error only with one of its codes
    if (error?.data.code === 'malformed_json') error.data.errors.map(({ field }) => field)
    // @ts-expect-error only with unknown_category
    if (error?.data.code === 'idempotency_key_reused') error.data.categories.length
    // @ts-expect-error a read has no such code
    if ((await api.GET('/apps')).error?.data.code === 'unknown_category') throw error
    const updated = await api.PUT('/apps/{id}', { params: { path: { id: 1 } }, body: {} })
    if (updated.error?.data.code === 'unknown_category') updated.error.data.categories.length
    export function describe(error: unknown): string {
      if (!(error instanceof AppsError)) throw error
      switch (error.data.code) {
        case 'unknown_category':
          return error.data.categories.map(({ name }) => name).join()
        case 'invalid_request':
        case 'package_name_taken':
          return error.data.errors.map(({ field }) => field).join()
        default:
          return error.message
      }
    }`
  expect(await compile(program)).toBe('')
})

test('an unknown category comes with the known ones', async () => {
  const { baseUrl, keys } = await start()
  const printed = await consume(`
    import { createClient } from 'apps-service-client'
    const body = { name: 'Star Map', description: 'The sky above you.', category_id: 999 }
    const { error } = await createClient('${baseUrl}', '${keys.ada}').POST('/apps', { body })
    if (error?.data.code === 'unknown_category') console.log(error.data.categories.map(({ slug }) => slug).join())`)
  expect(printed).toBe('empty,games,tools')
})

test('refuses calls that the document does not describe when they are compiled', async () => {
  const program = `
    import { type CountedCategory, createClient, type OwnApp, type OwnListQuery } from 'apps-service-client'
    const api = createClient('http://localhost')
    const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
    const path = { id: 1 }
    api.GET('/apps')
    api.GET('/apps', { params: { query: { slug: 'star-map', package_name: 'org.example.starmap' } } })
    api.GET('/categories').then(({ data }) => data?.data.categories.map(({ app_count }) => app_count.toFixed()))
    api.GET('/developer/apps', { params: { query: { status: 'pending', page: 2 } } })
    const own: OwnListQuery = { status: 'rejected', limit: 10 }
    api.allOwnApps(own, { signal: AbortSignal.timeout(1000) }).next().then(({ value }) => value?.rejection_reason?.length)
    export const counts = (categories: CountedCategory[]) => categories.map(({ app_count }) => app_count)
    export const first = async (): Promise<OwnApp | void> => (await api.allOwnApps().next()).value
    api.GET('/apps', { params: { query: { sort: 'popular', page: 2 } }, headers: { traceparent: 'x' }, cache: 'no-store' })
    api.POST('/apps', { body: app, params: { header: { 'Idempotency-Key': 'own' } } })
    api.PUT('/apps/{id}', { body: { version: '2.0.0' }, params: { path, header: { 'If-Match': '"x"' } } })
    api.DELETE('/apps/{id}', { params: { path } }).then(({ data }) => data?.data.app_id.toFixed())
    // @ts-expect-error categories have no pages
    api.GET('/categories', { params: { query: { page: 2 } } })
    // @ts-expect-error no such status
    api.GET('/developer/apps', { params: { query: { status: 'deleted' } } })
    // @ts-expect-error own apps cannot be searched
    api.allOwnApps({ search: 'tide' })
    // @ts-expect-error the iteration chooses the page
    api.allOwnApps({ page: 2 })
    // @ts-expect-error a public list has no status
    api.allApps().next().then(({ value }) => value?.status)
    // @ts-expect-error no such path
    api.GET('/app')
    // @ts-expect-error no such method of the path
    api.DELETE('/apps')
    // @ts-expect-error no such order
    api.GET('/apps', { params: { query: { sort: 'newest' } } })
    // @ts-expect-error no such parameter
    api.GET('/apps', { params: { query: { colour: 'red' } } })
    // @ts-expect-error the id is missing
    api.GET('/apps/{id}')
    // @ts-expect-error the id is missing
    api.GET('/apps/{id}', { params: {} })
    // @ts-expect-error an id is a number
    api.GET('/apps/{id}', { params: { path: { id: '1' } } })
    // @ts-expect-error a read has no body
    api.GET('/apps/{id}', { params: { path }, body: app })
    // @ts-expect-error the body is missing
    api.POST('/apps')
    // @ts-expect-error the description is missing
    api.POST('/apps', { body: { name: 'Star Map', category_id: 1 } })
    // @ts-expect-error no such field
    api.POST('/apps', { body: { ...app, colour: 'red' } })
    // @ts-expect-error an ETag is text
    api.PUT('/apps/{id}', { body: {}, params: { path, header: { 'If-Match': 1 } } })
    // @ts-expect-error no such option
    api.GET('/apps', { retries: 1 })
    // @ts-expect-error the data of a deletion has no slug
    api.DELETE('/apps/{id}', { params: { path } }).then(({ data }) => data?.data.slug)`
  expect(await compile(program)).toBe('')
})

const strict = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext']
const stricter = [...strict, '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']

/**
 * The errors of tsc for a program with the package installed, also with options that are stricter
 * than strict.
 */
async function compile(program: string): Promise<string> {
  const folder = consumer(await unpacked(), program)
  const errors = [strict, stricter].map((options) => typeErrors(folder, ...options, 'program.ts'))
  return (await Promise.all(errors)).join('')
}
