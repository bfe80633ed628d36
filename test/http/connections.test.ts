import { connect, type Socket } from 'node:net'
import express from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/db/database.ts'
import { clientBuffers } from '../../src/http/connections.ts'
import { createLogger } from '../../src/http/log.ts'
import { defaultTimeouts, listen, type Timeouts } from '../../src/http/server.ts'
import { type CheckedResponse, check, expectStatuses } from '../support/check.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { type Service, type ServiceOptions, startService } from '../support/service.ts'

const getHead = (path: string, ...headers: string[]) =>
  ['GET', path, 'HTTP/1.1'].join(' ').concat('\r\n', ['Host: x', ...headers, '', ''].join('\r\n'))

const brokenChunks =
  'POST /apps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n'

/** A client whose test decides when it sends and reads. */
class Client {
  readonly socket: Socket
  readonly closed: Promise<unknown>
  readonly #chunks: Buffer[] = []
  received = 0

  constructor({ port }: Pick<Service, 'port'>) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => {
      // The server may close the connection while the client is sending.
    })
    this.closed = new Promise((resolve) => this.socket.once('close', resolve))
  }

  send(...requests: string[]) {
    this.socket.write(requests.join(''))
  }

  read() {
    this.socket.on('data', (chunk) => {
      this.#chunks.push(chunk)
      this.received += chunk.length
    })
    return this
  }

  /** The complete responses received so far, each checked as the response to a GET of the path. */
  answers(path: string): CheckedResponse[] {
    const answers: CheckedResponse[] = []
    let rest = Buffer.concat(this.#chunks)
    for (let end = rest.indexOf('\r\n\r\n'); end >= 0; end = rest.indexOf('\r\n\r\n')) {
      const [statusLine = '', ...lines] = rest.subarray(0, end).toString().split('\r\n')
      const headers = Object.fromEntries(
        lines
          .map((line) => line.split(/: (.*)/, 2))
          .map(([name = '', value]) => [name.toLowerCase(), value]),
      )
      const length = Number(headers['content-length'] ?? 0)
      if (rest.length < end + 4 + length) break
      const text = rest.subarray(end + 4, end + 4 + length).toString()
      answers.push(
        check({ method: 'GET', path, status: Number(statusLine.split(' ')[1]), headers, text }),
      )
      rest = rest.subarray(end + 4 + length)
    }
    return answers
  }
}
/** A service whose reads by id wait until released, and the counts of started and running reads. */
async function heldService(options: ServiceOptions = {}) {
  const reads = { begun: 0, atWork: 0, mostAtWork: 0 }
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const database = (database: Database): Database => ({
    ...database,
    read: async (work, options) => {
      reads.begun++
      reads.atWork++
      reads.mostAtWork = Math.max(reads.mostAtWork, reads.atWork)
      await released
      return database.read(work, options).finally(() => reads.atWork--)
    },
  })
  // Without a cache, each request is one read.
  return { service: await startService({ cacheSize: 0, database, ...options }), reads, release }
}

const logged = (service: Service) => service.log.map((line) => JSON.parse(line))

describe('pipelined requests', () => {
  test('are handled one at a time, in order', async () => {
    const { service, reads, release } = await heldService()
    const { apps } = service.world
    const ids = [apps.approved, 999, apps.bobs, apps.approved, 999, apps.bobs]
    const client = new Client(service).read()
    client.send(...ids.map((id) => getHead(`/apps/${id}`)))
    await expect.poll(() => reads.begun).toBe(1)
    release()
    await expect.poll(() => client.answers('/apps/1')).toHaveLength(ids.length)
    expect(client.answers('/apps/1').map(({ body }) => body.data.app?.id ?? 999)).toEqual(ids)
    expect(reads).toMatchObject({ begun: ids.length, mostAtWork: 1 })
  })

  test('cached and uncached responses do not overtake each other', async () => {
    const service = await startService()
    for (let time = 0; time < 3; time++) await service.get('/apps?limit=1')
    const client = new Client(service).read()
    const paths = [
      '/apps?limit=1',
      '/apps?limit=2',
      '/apps?limit=1',
      '/apps?search=no',
      '/apps?limit=1',
    ]
    client.send(...paths.map((path) => getHead(path)))
    await expect.poll(() => client.answers('/apps')).toHaveLength(paths.length)
    const per = client.answers('/apps').map(({ body }) => body.data.pagination.per_page)
    expect(per).toEqual([1, 2, 1, 20, 1])
  })

  test('may queue up to the limit, and the connection stays open', async () => {
    const service = await startService({ connectionLimits: { waiting: 32 } })
    const client = new Client(service).read()
    const requests = Array.from({ length: 33 }, () => getHead('/apps/999'))
    client.send(...requests)
    await expect.poll(() => client.answers('/apps/999')).toHaveLength(33)
    client.send(getHead('/apps/998'))
    await expect.poll(() => client.answers('/apps/999')).toHaveLength(34)
    expect(client.answers('/apps/999').map(({ headers }) => headers.connection)).not.toContain(
      'close',
    )
  })

  test('over the limit of all connections close the connection that sends them, and are never started', async () => {
    const { service, reads, release } = await heldService({ connectionLimits: { waiting: 50 } })
    const neighbour = new Client(service).read()
    neighbour.send(getHead('/apps/999'), getHead('/apps/999'))
    await expect.poll(() => reads.begun).toBe(1)
    const client = new Client(service).read()
    client.send(...Array.from({ length: 60 }, () => getHead('/apps/999')))
    await client.closed
    expect(reads.begun).toBe(2)
    release()
    await expect.poll(() => neighbour.answers('/apps/999')).toHaveLength(2)
    expect(client.answers('/apps/999')).toEqual([])
    expect(reads.begun).toBe(3)
    // The closed connection's share is free again.
    const next = new Client(service).read()
    for (const answered of [33, 66]) {
      next.send(...Array.from({ length: 33 }, () => getHead('/apps/999')))
      await expect.poll(() => next.answers('/apps/999')).toHaveLength(answered)
    }
  })

  test('that wait when their connection closes are never started', async () => {
    const { service, reads, release } = await heldService()
    const client = new Client(service)
    client.send(...Array.from({ length: 10 }, () => getHead('/apps/999')))
    await expect.poll(() => reads.begun).toBe(1)
    client.socket.destroy()
    await expect.poll(() => logged(service).map(({ msg }) => msg)).toEqual(['GET aborted'])
    release()
    expect((await service.get('/apps/999')).status).toBe(404)
    expect(reads.begun).toBe(2)
  })

  test('a malformed one is answered after those before it, and those after it are dropped', async () => {
    const { service, reads, release } = await heldService()
    const client = new Client(service).read()
    const good = getHead('/apps/999')
    client.send(good, good, 'GET /apps HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', good)
    await expect.poll(() => reads.begun).toBe(1)
    expect(client.answers('/apps/999')).toEqual([])
    release()
    await client.closed
    expectStatuses(client.answers('/apps/999'), [404, 404, 400])
  })

  test('one with a malformed body is answered after those before it', async () => {
    const { service, reads, release } = await heldService()
    const client = new Client(service).read()
    client.send(getHead('/apps/999'), brokenChunks)
    await expect.poll(() => reads.begun).toBe(1)
    release()
    await client.closed
    expectStatuses(client.answers('/apps/999'), [404, 400])
    expect(reads.begun).toBe(1)
  })

  test.for<{ name: string; broken: string }>([
    { name: 'is broken', broken: brokenChunks },
    {
      name: 'follows a broken one',
      broken: `GET /apps HTTP/1.1\r\nbad header\r\n\r\n${getHead('/apps/999')}`,
    },
    {
      name: 'is cut off',
      broken: 'POST /apps HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{',
    },
  ])('one that $name gives its place back, each time', async ({ broken }) => {
    const service = await startService({ connectionLimits: { waiting: 1 } })
    for (let time = 0; time < 3; time++) {
      const client = new Client(service).read()
      client.send(getHead('/apps/999'), broken)
      client.socket.end()
      await client.closed
    }
    const next = new Client(service).read()
    next.send(getHead('/apps/999'), getHead('/apps/999'))
    await expect.poll(() => next.answers('/apps/999')).toHaveLength(2)
  })

  test('during shutdown, the current response is sent and the connection closes', async () => {
    const { service, reads, release } = await heldService({ timeouts: { drainDelay: 0 } })
    const client = new Client(service).read()
    client.send(...Array.from({ length: 5 }, () => getHead('/apps/999')))
    await expect.poll(() => reads.begun).toBe(1)
    const drained = service.drain()
    release()
    await client.closed
    await drained
    expect(client.answers('/apps/999').map(({ headers }) => headers.connection)).toEqual(['close'])
    expect(reads.begun).toBe(1)
  })
})

describe('slow readers', () => {
  /** More than the system's buffers of a connection hold, ten megabytes by default (tcp(7)). */
  const body = Buffer.alloc(16 * 2 ** 20, 'x')
  const request = getHead('/')

  /** A server that answers each request with the long body. */
  async function startLongServer(timeouts: Partial<Timeouts> = {}) {
    const app = express().use((_request, response) => void response.end(body))
    const logger = createLogger('silent', { write: () => {} })
    const { server, port, drain } = await listen(app, readConfig({ PORT: '0' }), logger, {
      ...defaultTimeouts,
      ...timeouts,
    })
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return { port, drain }
  }

  /** A client that sends requests and does not read. Returns when a response waits for it. */
  async function startStalled(port: number, ...requests: string[]) {
    const before = clientBuffers.size
    const client = new Client({ port })
    client.send(...requests)
    await expect.poll(() => clientBuffers.size).toBe(before + 1)
    return client
  }

  test('get the whole response, however late they begin, and its memory is free again', async () => {
    const { port } = await startLongServer()
    const before = clientBuffers.size
    const client = await startStalled(port, request)
    client.read()
    await expect.poll(() => client.received).toBeGreaterThan(body.length)
    await expect.poll(() => clientBuffers.size).toBe(before)
  })

  test('are disconnected if they read nothing for too long', async () => {
    const { port } = await startLongServer({ idle: 100 })
    const before = clientBuffers.size
    const client = await startStalled(port, request)
    await expect.poll(() => clientBuffers.size).toBe(before)
    await client.read().closed
    expect(client.received).toBeLessThan(body.length)
  })

  test('are disconnected, those that stopped first, if 48 MiB wait for all', async () => {
    const { port } = await startLongServer()
    const [first, second] = [await startStalled(port, request), await startStalled(port, request)]
    // With their headers, there is room for two of these responses.
    const third = new Client({ port })
    third.send(request)
    await first.read().closed
    expect(first.received).toBeLessThan(body.length)
    for (const client of [second, third]) {
      client.read()
      await expect.poll(() => client.received).toBeGreaterThan(body.length)
    }
  })

  test('get the whole current response during shutdown, and none after it', async () => {
    // Long, because a connection is cut afterwards if its client has not read everything.
    const { port, drain } = await startLongServer({ drainDelay: 10_000 })
    const client = await startStalled(port, request, request)
    void drain()
    await client.read().closed
    expect(client.received).toBeGreaterThan(body.length)
    expect(client.received).toBeLessThan(2 * body.length)
  })
})

test('closes connections over the limit, and logs that once a minute', async () => {
  const wait = freezeMonotonicClock()
  const service = await startService({ connectionLimits: { connections: 1 } })
  const first = new Client(service).read()
  first.send(getHead('/apps/999'))
  await expect.poll(() => first.answers('/apps/999')).toHaveLength(1)
  const warnings = () => logged(service).filter(({ level }) => level === 40)
  for (const milliseconds of [0, 0, 59_999, 1, 0]) {
    wait(milliseconds)
    await new Client(service).read().closed
  }
  const msg = 'the maximum number of connections is open; further ones were closed'
  expect(warnings()).toMatchObject([
    { dropped: 1, msg },
    { dropped: 3, msg },
  ])
  first.send(getHead('/apps/999'))
  await expect.poll(() => first.answers('/apps/999')).toHaveLength(2)
  first.socket.destroy()
  await first.closed
  await expect.poll(() => service.connections()).toBe(0)
  expect((await service.get('/apps')).status).toBe(200)
})

test('closes connections whose requests are not answered in time during shutdown', async () => {
  const { service, reads, release } = await heldService({
    timeouts: { drainDelay: 0, drainLimit: 100 },
  })
  const client = new Client(service).read()
  client.send(getHead('/apps/999'))
  await expect.poll(() => reads.begun).toBe(1)
  await service.drain()
  await client.closed
  expect(client.answers('/apps/999')).toEqual([])
  release()
})

test('answers a request in flight during shutdown with Connection: close', async () => {
  const { service, reads, release } = await heldService({ timeouts: { drainDelay: 0 } })
  const client = new Client(service).read()
  client.send(getHead('/apps/999'))
  await expect.poll(() => reads.begun).toBe(1)
  const drained = service.drain()
  release()
  await drained
  await client.closed
  expect(client.answers('/apps/999').map(({ headers }) => headers.connection)).toEqual(['close'])
})
