import { execFile, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { generateKey, parseKeyId } from '../../src/accounts/keys.ts'
import { ServiceError } from '../../src/contract/errors.ts'
import { createLogger, redact, requestId } from '../../src/http/log.ts'
import { type Call, newApp, validRequests } from '../contract/valid-requests.ts'
import { expectStatuses, type RequestOptions } from '../support/check.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { copyWorld } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { share } from '../support/lifetime.ts'
import { executable, serve } from '../support/process.ts'
import { sendBytes } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'

const linesOf = ({ log }: Service) => log.map((line) => JSON.parse(line))

describe('the log line of a request', () => {
  let service: Service
  share(async () => {
    service = await startService({ prefix: '/v1' })
  })

  test.for<{
    name: string
    method?: string
    path: string
    options?: RequestOptions
    operation?: string
    status: number
  }>([
    { name: 'a list', path: '/apps?limit=1', operation: 'listApps', status: 200 },
    { name: 'an app', path: '/apps/1', operation: 'getApp', status: 200 },
    { name: 'HEAD', method: 'HEAD', path: '/apps/1', operation: 'getApp', status: 200 },
    {
      name: 'an unchanged app',
      path: '/apps/1',
      options: { headers: { 'If-None-Match': '*' } },
      operation: 'getApp',
      status: 304,
    },
    {
      name: 'a compressed response',
      path: '/apps',
      options: { headers: { 'Accept-Encoding': 'gzip' } },
      operation: 'listApps',
      status: 200,
    },
    { name: 'a refusal', path: '/apps?limit=0', operation: 'listApps', status: 400 },
    {
      name: 'a refused key',
      path: '/apps',
      options: { key: 'apps_nope' },
      operation: 'listApps',
      status: 401,
    },
    { name: 'no operation', path: '/nowhere', status: 404 },
    { name: 'no method', method: 'PATCH', path: '/apps', status: 405 },
  ])('for $name has the operation and the size of the body', async (row) => {
    const { method = 'GET', path, options, operation, status } = row
    // The second response is from the cache, if it can be.
    for (const isSecond of [false, true]) {
      const { headers, text } = await service.request(method, path, options)
      const { cached, ...line } = linesOf(service).at(-1)
      // Nothing else: no header, no address, no body.
      expect(line).toEqual({
        level: 30,
        time: expect.any(Number),
        pid: expect.any(Number),
        hostname: expect.any(String),
        req: { id: headers['x-request-id'], method, url: `/v1${path}` },
        res: { statusCode: status, bytes: Buffer.byteLength(text) },
        ...(operation !== undefined && { operation }),
        responseTime: expect.any(Number),
        msg: `${method} ${status}`,
      })
      if (isSecond) expect(cached).toBe([200, 304].includes(status) ? true : undefined)
    }
  })

  test('has the developer and the key id', async () => {
    const service = await startService()
    const { ada } = service.world.keys
    await service.request(...validRequests(service.world).createApp)
    const [line] = linesOf(service)
    const developers = await service.database.read(({ sql }) =>
      sql('developers').where({ name: 'Ada' }).pluck('id'),
    )
    expect(line).toMatchObject({
      operation: 'createApp',
      developer: developers[0],
      key: `apps_${parseKeyId(ada)}`,
    })
    expect(service.log.join('')).not.toContain(ada.slice(20, 40))
  })

  test('measures fractions of milliseconds', async () => {
    const wait = freezeMonotonicClock()
    const service = await startService({
      database: (database) => ({
        ...database,
        read: (work) => {
          wait(1.234)
          return database.read(work)
        },
      }),
    })
    wait(1000)
    await service.get('/apps')
    expect(linesOf(service)[0].responseTime).toBeCloseTo(1.234, 2)
    expect(linesOf(service)[0].timing).toBeUndefined()
  })
})

test('each cause of an outage is logged once a minute, not with every request', async () => {
  const wait = freezeMonotonicClock()
  const replaced = new Error('the file was replaced; restart the service')
  const full = new Error('the disk is full')
  let cause = replaced
  const service = await startService({
    database: (database) => ({
      ...database,
      read: () => Promise.reject(new ServiceError('unavailable', 'Try again.', {}, { cause })),
    }),
  })
  for (const milliseconds of [0, 0, 59_999, 1, 0]) {
    wait(milliseconds)
    expect((await service.get('/apps/1')).status).toBe(503)
  }
  cause = full
  for (let time = 0; time < 2; time++) expect((await service.get('/apps/1')).status).toBe(503)
  expect(linesOf(service).map(({ level, err }) => [level, err?.cause])).toEqual([
    [50, String(replaced)],
    [30, undefined],
    [30, undefined],
    [50, String(replaced)],
    [30, undefined],
    [50, String(full)],
    [30, undefined],
  ])
})

const id = '0123456789ab'
const secret = `${'aB3'.repeat(16)}x`
const key = `apps_${id}_${secret}`

test.for<{ name: string; text: string; redacted: string }>([
  { name: 'no key', text: 'GET /apps 200', redacted: 'GET /apps 200' },
  { name: 'a key', text: `?a=${key}&page=2`, redacted: `?a=apps_${id}_[redacted]&page=2` },
  {
    name: 'two keys',
    text: `${key}, ${key}`,
    redacted: `apps_${id}_[redacted], apps_${id}_[redacted]`,
  },
  { name: 'the id of a key', text: `apps_${id} was`, redacted: `apps_${id} was` },
  { name: 'an id and what follows it', text: `apps_${id}_`, redacted: `apps_${id}_` },
  { name: 'one more character', text: `apps_${id}_x`, redacted: `apps_${id}_[redacted]` },
  { name: 'a short name', text: 'apps_database', redacted: 'apps_database' },
  { name: 'another id', text: `apps_short_${secret}`, redacted: 'apps_[redacted]' },
  { name: 'capitals', text: `APPS_${id}_${secret}`, redacted: 'apps_[redacted]' },
  {
    name: 'a percent-encoded key',
    text: `%61%70%70%73%5F${id}_${secret}`,
    redacted: `apps_${id}_[redacted]`,
  },
  {
    name: 'a key that is encoded several times',
    text: `%2561pps%25255F${id}_${secret}`,
    redacted: `apps_${id}_[redacted]`,
  },
  {
    name: 'a percent-encoded id',
    text: `apps%5F%30${id.slice(1)}`,
    redacted: `apps%5F%30${id.slice(1)}`,
  },
  { name: 'another prefix', text: `aps_${id}_${secret}`, redacted: `aps_${id}_${secret}` },
])('redacts $name', ({ text, redacted }) => {
  expect(redact(text)).toBe(redacted)
})

const encode = (character: string) => `%${character.charCodeAt(0).toString(16)}`
const encodeAll = (text: string) => [...text].map(encode).join('')
const decode = (line: string) =>
  line.replace(/%(?:25)*([0-9a-f]{2})/gi, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )

/** A key that is mistyped or encoded at a character after its prefix, by which keys are recognized. */
test.for<{ name: string; change: (key: string, at: number) => string }>([
  { name: 'is missing', change: (key, at) => key.slice(0, at) + key.slice(at + 1) },
  { name: 'is doubled', change: (key, at) => key.slice(0, at + 1) + key.slice(at) },
  {
    name: 'is swapped with the next one',
    change: (key, at) => key.slice(0, at) + key.charAt(at + 1) + key.charAt(at) + key.slice(at + 2),
  },
  { name: 'has a hyphen before it', change: (key, at) => `${key.slice(0, at)}-${key.slice(at)}` },
  {
    name: 'is encoded',
    change: (key, at) => key.slice(0, at) + encode(key.charAt(at)) + key.slice(at + 1),
  },
  {
    name: 'ends an encoded part',
    change: (key, at) => encodeAll(key.slice(0, at)) + key.slice(at),
  },
  {
    name: 'begins an encoded part',
    change: (key, at) => key.slice(0, at) + encodeAll(key.slice(at)),
  },
  {
    name: 'ends a part in capitals',
    change: (key, at) => key.slice(0, at).toUpperCase() + key.slice(at),
  },
  {
    name: 'and all others are encoded several times',
    change: (key, at) => encodeAll(key).replaceAll('%', `%${'25'.repeat(1 + (at % 3))}`),
  },
  { name: 'is one of the last, which are missing', change: (key, at) => key.slice(0, -(at % 20)) },
])('redacts a key in which a character $name', ({ change }) => {
  const { key } = generateKey()
  const secret = key.slice('apps_'.length + 12 + 1)
  // The log must not have so much of it that the rest could be guessed.
  const parts = Array.from({ length: secret.length - 20 }, (_, at) => secret.slice(at, at + 20))
  for (let at = 'apps_'.length; at < key.length; at++) {
    const logged = decode(redact(`"url":"/apps?category=${change(key, at)}"`))
    expect(
      parts.filter((part) => logged.includes(part)),
      change(key, at),
    ).toEqual([])
  }
})

test('logs the message, code, statement and cause of an error, without keys and other properties', () => {
  const lines: string[] = []
  const log = createLogger('info', { write: (line) => lines.push(line) })
  const error = new Error(`no apps_${id}_${secret}`, { cause: new Error('no space left') })
  log.error(
    { err: Object.assign(error, { code: 'SQLITE_FULL', statement: 'select 1', sent: 'a body' }) },
    'failed',
  )
  log.error({ err: new Error('plain') }, 'failed')
  const [full, plain] = lines.map((line) => JSON.parse(line).err)
  expect(full).toEqual({
    type: 'Error',
    message: `no apps_${id}_[redacted]: no space left`,
    stack: expect.stringMatching(/^Error: no apps_0123456789ab_\[redacted\]\n/),
    code: 'SQLITE_FULL',
    statement: 'select 1',
    cause: 'Error: no space left',
  })
  expect(Object.keys(plain)).toEqual(['type', 'message', 'stack'])
})

test.for<{ target: string; logged: string }>([
  { target: '/apps?search=100%25&limit=1', logged: '/apps?search=100%25&limit=1' },
  { target: '/apps?k=v&limit=1&key&page=2', logged: '/apps?limit=1&page=2&[redacted]' },
  { target: '/apps?secret', logged: '/apps?[redacted]' },
  { target: '/apps?search=a?b', logged: '/apps?search=a?b' },
  { target: `/apps_${id}_${secret}`, logged: `/apps_${id}_[redacted]` },
  { target: `/apps?search=${key}`, logged: `/apps?search=apps_${id}_[redacted]` },
  { target: `/${'A'.repeat(10_000)}`, logged: `/${'A'.repeat(2047)}` },
])('logs the target $target as $logged', async ({ target, logged }) => {
  const service = await startService()
  await service.get(target, { headers: { 'X-Request-Id': 'mine' } })
  expect(linesOf(service)[0].req).toEqual({ id: 'mine', method: 'GET', url: logged })
})

test.for<{ sent: string | string[] | undefined; isKept: boolean }>([
  { sent: undefined, isKept: false },
  { sent: '', isKept: false },
  { sent: 'a', isKept: true },
  { sent: '7f3c.A_b-9', isKept: true },
  { sent: 'a b', isKept: false },
  { sent: 'é', isKept: false },
  { sent: 'x'.repeat(128), isKept: true },
  { sent: 'x'.repeat(129), isKept: false },
  { sent: key, isKept: false },
  { sent: ['a', 'b'], isKept: false },
])('keeps $sent as a request id: $isKept', ({ sent, isKept }) => {
  const id = requestId(sent)
  expect(id === sent).toBe(isKept)
  if (!isKept) expect(id).toMatch(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/)
})

describe('a failed readiness check', () => {
  test('is not logged as an error during shutdown', async () => {
    const service = await startService({ isDraining: () => true })
    expect((await service.get('/readyz')).status).toBe(503)
    expect(linesOf(service)).toEqual([expect.objectContaining({ level: 30, msg: 'GET 503' })])
    expect(service.log.join('')).not.toMatch(/stack/)
  })

  test('is logged as an error if the database is missing', async () => {
    const service = await startService()
    await service.database.close()
    expect((await service.get('/readyz')).status).toBe(503)
    expect(linesOf(service)).toEqual([
      expect.objectContaining({ level: 50, err: expect.any(Object) }),
    ])
  })
})

test('logs nothing at LOG_LEVEL=warn if nothing is wrong, from the start to the end', async () => {
  const server = await serve(await copyWorld(), {
    PORT: String(await freePort()),
    LOG_LEVEL: 'warn',
    WRITE_LIMIT: '1',
  })
  const { keys } = inject('world')
  const create: Call = ['POST', '/apps', { key: keys.ada, json: newApp }]
  const calls: Call[] = [
    ['GET', '/nowhere'],
    ['GET', '/apps', { key: keys.expired }],
    create,
    create,
  ]
  const replies = []
  for (const call of calls) replies.push(await server.request(...call))
  expectStatuses(replies, [404, 401, 201, 429])
  // A client that does not speak HTTP.
  await sendBytes(server, 'no HTTP\r\n\r\n')
  server.process.kill('SIGTERM')
  expect(await server.exited).toEqual([0, null])
  // The docs page may not be built in this checkout.
  expect(server.log.filter((line) => !line.includes('generated/docs.html is missing'))).toEqual([])
})

test('logs each SQL statement at LOG_LEVEL=debug, without the values that callers send', async () => {
  const server = await serve(await copyWorld(), {
    PORT: String(await freePort()),
    LOG_LEVEL: 'debug',
  })
  const { keys, apps } = inject('world')
  const json = { name: 'xyzzy', description: 'xyzzy' }
  const reply = await server.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
  expect(reply.status).toBe(200)
  await expect.poll(() => server.log.at(-1)).toContain('PUT 200')
  const lines = server.log.map((line) => JSON.parse(line))
  const statements = lines.filter(({ level }) => level === 20).map(({ msg }) => msg)
  for (const statement of [/^update .apps. set /, /^update .catalogue_version. set /, /^commit/i])
    expect(statements).toContainEqual(expect.stringMatching(statement))
  expect(statements.join()).not.toContain('xyzzy')
})

test('a log that nobody reads delays no response, and is complete when it is read', async () => {
  const server = await serve(await copyWorld())
  server.process.stdout?.pause()
  // With the longest logged path, several times what a pipe holds (pipe(7)).
  const path = `/${'A'.repeat(2047)}`
  const requests = 300
  for (let sent = 0; sent < requests; sent += 20) {
    const answers = Array.from({ length: 20 }, () => server.request('GET', path))
    expectStatuses(await Promise.all(answers), Array(20).fill(404))
  }
  server.process.stdout?.resume()
  const countLogged = () => server.log.filter((line) => line.includes(path)).length
  await expect.poll(countLogged).toBe(requests)
})

describe('a process that exits writes its whole log', () => {
  /** The lines that another process prints. */
  async function printed(program: string): Promise<string[]> {
    const http = `${import.meta.dirname}/../../src/http`
    const text = `
      import { createLogger } from ${JSON.stringify(`${http}/log.ts`)}
      import { standardOutput } from ${JSON.stringify(`${http}/standard-output.ts`)}
      const log = createLogger('info', standardOutput())
      ${program}`
    const args = ['--input-type=module', '--eval', text]
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      maxBuffer: 16 * 2 ** 20,
    })
    return stdout.trimEnd().split('\n')
  }
  const message = (line: string) => JSON.parse(line).msg

  test('up to the last line', async () => {
    const program = `log.info('one'); log.info('two'); process.exit()`
    expect((await printed(program)).map(message)).toEqual(['one', 'two'])
  })

  test('if it is larger than a pipe buffer', async () => {
    const program = `for (let n = 0; n < 300; n++) log.info(n + ' '.repeat(1000)); process.exit()`
    expect((await printed(program)).map((line) => message(line).trim())).toEqual(
      Array.from({ length: 300 }, (_, index) => `${index}`),
    )
  })

  test('except lines dropped while 8 MiB waited, and logs how many', async () => {
    const program = `for (let n = 0; n < 12; n++) log.info(n + ' '.repeat(2 ** 20))`
    const lines = await printed(program)
    const texts = lines.map((line) => message(line).trim())
    const last = 'the reader of standard output was too slow; log lines were lost'
    expect(texts).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', last])
    const expected = {
      level: 40,
      time: expect.any(Number),
      pid: expect.any(Number),
      lost: 4,
      msg: last,
    }
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(expected)
  })
})

test.skipIf(!existsSync('/dev/full'))('survives a log on a full disk', async () => {
  const port = await freePort()
  const log = openSync('/dev/full', 'w')
  onTestFinished(() => closeSync(log))
  const child = spawn(executable, ['serve'], {
    env: { PATH: process.env.PATH, PORT: String(port), DATABASE_URL: await copyWorld() },
    stdio: ['ignore', log, 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const healthy = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ status }) => status,
      () => child.exitCode,
    )
  await expect.poll(healthy).toBe(200)
  expect(await healthy()).toBe(200)
})

test('logs a thrown value that is not an Error', async () => {
  const service = await startService({
    database: (database) => ({ ...database, read: () => Promise.reject('a text') }),
  })
  expect((await service.get('/apps')).status).toBe(500)
  expect(linesOf(service)).toEqual([
    expect.objectContaining({ err: expect.objectContaining({ message: 'a text' }) }),
  ])
})
