import { execFile, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { parseKeyId } from '../../src/accounts/keys.ts'
import { ServiceError } from '../../src/contract/errors.ts'
import { createLogger, redact, requestId } from '../../src/http/log.ts'
import { type Call, newApp, validRequests } from '../contract/valid-requests.ts'
import { expectStatuses, type RequestOptions } from '../support/check.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { copyWorld } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { executable, serve } from '../support/process.ts'
import { readTwice } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'

const linesOf = ({ log }: Service) => log.map((line) => JSON.parse(line))

describe('the log line of a request', () => {
  type Row = [
    what: string,
    method: string,
    path: string,
    options: (service: Service) => RequestOptions,
    operation: string | undefined,
    status: number,
  ]
  const nothing = () => ({})
  test.for<Row>([
    ['a list', 'GET', '/apps?limit=1', nothing, 'listApps', 200],
    ['an app', 'GET', '/apps/1', nothing, 'getApp', 200],
    ['HEAD', 'HEAD', '/apps/1', nothing, 'getApp', 200],
    [
      'an unchanged app',
      'GET',
      '/apps/1',
      () => ({ headers: { 'If-None-Match': '*' } }),
      'getApp',
      304,
    ],
    [
      'a compressed response',
      'GET',
      '/apps',
      () => ({ headers: { 'Accept-Encoding': 'gzip' } }),
      'listApps',
      200,
    ],
    ['a refusal', 'GET', '/apps?limit=0', nothing, 'listApps', 400],
    ['a refused key', 'GET', '/apps', () => ({ key: 'apps_nope' }), 'listApps', 401],
    ['no operation', 'GET', '/nowhere', nothing, undefined, 404],
    ['no method', 'PATCH', '/apps', nothing, undefined, 405],
  ])(
    'for %s has the operation and the size of the body',
    async ([, method, path, options, operation, status]) => {
      const service = await startService({ prefix: '/v1' })
      // The second response is from the cache, if it can be.
      for (let time = 0; time < 2; time++) {
        const answer = await service.request(method, path, options(service))
        // Nothing else: no header, no address, no body.
        expect(linesOf(service).at(-1)).toEqual({
          level: 30,
          time: expect.any(Number),
          pid: expect.any(Number),
          hostname: expect.any(String),
          req: { id: answer.headers['x-request-id'], method, url: `/v1${path}` },
          res: { statusCode: status, bytes: Buffer.byteLength(answer.text) },
          operation,
          cached: time === 1 && (status === 200 || status === 304) ? true : undefined,
          responseTime: expect.any(Number),
          msg: `${method} ${status}`,
        })
      }
    },
  )

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

test.for<[what: string, text: string, redacted: string]>([
  ['no key', 'GET /apps 200', 'GET /apps 200'],
  ['an underscore', 'review_count is 7', 'review_count is 7'],
  ['a key', `key=apps_${id}_${secret}&page=2`, `key=apps_${id}_[redacted]&page=2`],
  [
    'two keys',
    `apps_${id}_${secret}, apps_${id}_${secret}`,
    `apps_${id}_[redacted], apps_${id}_[redacted]`,
  ],
  ['the id of a key', `apps_${id} was revoked`, `apps_${id} was revoked`],
  ['an id and what follows it', `apps_${id}_`, `apps_${id}_`],
  ['an id and one more character', `apps_${id}_x`, `apps_${id}_[redacted]`],
  ['a short name', 'apps_database', 'apps_database'],
  ['another id', `apps_short_${secret}`, 'apps_[redacted]'],
  ['capitals', `APPS_${id}_${secret}`, 'apps_[redacted]'],
  ['a percent-encoded key', `%61%70%70%73%5F${id}_${secret}`, `apps_${id}_[redacted]`],
  ['a percent-encoded id', `apps%5F%30${id.slice(1)}`, `apps%5F%30${id.slice(1)}`],
  ['a partly percent-encoded key', `apps_${id}_%41${secret}`, `apps_${id}_[redacted]`],
  ['another prefix', `aps_${id}_${secret}`, `aps_${id}_${secret}`],
])('redacts %s', ([, text, redacted]) => {
  expect(redact(text)).toBe(redacted)
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

test.for<[target: string, logged: string]>([
  ['/apps?search=100%25&limit=1', '/apps?search=100%25&limit=1'],
  ['/apps?k=v&limit=1&key&page=2', '/apps?limit=1&page=2&[redacted]'],
  ['/apps?secret', '/apps?[redacted]'],
  ['/apps?search=a?b', '/apps?search=a?b'],
  [`/apps_${id}_${secret}`, `/apps_${id}_[redacted]`],
  [`/apps?search=%61pps%5F${id}%5F${secret}`, `/apps?search=apps_${id}_[redacted]`],
  [`/apps?search=%2561pps%25255F${id}_${secret}`, `/apps?search=apps_${id}_[redacted]`],
])('logs the target %s as %s', async ([target, logged]) => {
  const service = await startService()
  await service.get(target)
  expect(linesOf(service)[0].req.url).toBe(logged)
})

test('logs the first 2,048 characters of a long target', async () => {
  const service = await startService()
  await service.get(`/${'A'.repeat(10_000)}`)
  expect(linesOf(service)[0].req.url).toBe(`/${'A'.repeat(2047)}`)
})

test.for<[sent: string | string[] | undefined, isKept: boolean]>([
  [undefined, false],
  ['', false],
  ['a', true],
  ['7f3c.A_b-9', true],
  ['a b', false],
  ['é', false],
  ['x'.repeat(128), true],
  ['x'.repeat(129), false],
  [['a', 'b'], false],
])('accepts %j as a request id: %s', ([sent, isKept]) => {
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

test('logs nothing at LOG_LEVEL=warn if nothing is wrong', async () => {
  const port = await freePort()
  const server = await serve(await copyWorld(), {
    PORT: String(port),
    LOG_LEVEL: 'warn',
    WRITE_LIMIT: '2',
  })
  const { keys, apps } = inject('world')
  const calls: Call[] = [
    ['GET', '/apps'],
    ['GET', '/apps'],
    ['GET', '/apps'],
    ['GET', '/apps?limit=0'],
    ['GET', '/nowhere'],
    ['GET', '/apps', { key: keys.expired }],
    ['POST', '/apps', { key: keys.ada, json: newApp }],
    ['DELETE', `/apps/${apps.bobs}`, { key: keys.ada }],
    ['POST', '/apps', { key: keys.ada, json: newApp }],
    ['GET', '/readyz'],
  ]
  const replies = []
  for (const call of calls) replies.push(await server.request(...call))
  expectStatuses(replies, [200, 200, 200, 400, 404, 401, 201, 403, 429, 200])
  // A client that disconnects, and one that does not speak HTTP.
  const socket = connect(port, '127.0.0.1')
  socket.end('no HTTP\r\n\r\n')
  socket.resume()
  const ready = await readTwice(port, '/readyz')
  server.process.kill('SIGTERM')
  // On a busy machine, the server may have stopped listening by now.
  const isUnready = async () => (await server.request('GET', '/readyz')).status === 503
  const isRefused = (error: unknown) => error instanceof TypeError || expect.fail(String(error))
  await expect.poll(() => isUnready().catch(isRefused)).toBe(true)
  expect(await ready.second()).toMatch(/^HTTP\/1\.1 503 /)
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
  const text = 'xyzzy'
  const calls: Call[] = [
    ['GET', `/apps?search=${text}`],
    ['POST', '/apps', { key: keys.ada, json: { ...newApp, name: text } }],
    ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { name: text, description: text } }],
  ]
  const replies = []
  for (const call of calls) replies.push(await server.request(...call))
  expectStatuses(replies, [200, 201, 200])
  await expect.poll(() => server.log.at(-1)).toContain('PUT 200')
  const lines = server.log.map((line) => JSON.parse(line))
  const statements = lines.filter(({ level }) => level === 20).map(({ msg }) => msg)
  for (const statement of [/^update .apps. set /, /^update .catalogue_version. set /, /^commit/i])
    expect(statements).toContainEqual(expect.stringMatching(statement))
  expect(statements.join()).not.toContain(text)
})

test('a log that nobody reads delays no response, and is complete when it is read', async () => {
  const server = await serve(await copyWorld())
  server.process.stdout?.pause()
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  onTestFinished(() => agent.destroy())
  // More than any pipe's buffer.
  const requests = 5000
  const statuses = await Promise.all(
    Array.from({ length: requests }, () => statusOf(server.port, agent)),
  )
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(answered(server.log).length).toBeLessThan(requests)
  server.process.stdout?.resume()
  await expect.poll(() => answered(server.log).length).toBe(requests)
})

const answered = (log: string[]) => log.filter((line) => JSON.parse(line).msg === 'GET 200')

const statusOf = (port: number, agent: Agent) =>
  new Promise<number | undefined>((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: '/apps/1', agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    }).on('error', reject)
  })

describe('a process that exits writes its whole log', () => {
  /** The lines that another process prints. */
  async function printed(program: string): Promise<string[]> {
    const logger = JSON.stringify(`${import.meta.dirname}/../../src/http/log.ts`)
    const text = `import { createLogger } from ${logger}\nconst log = createLogger('info')\n${program}`
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
