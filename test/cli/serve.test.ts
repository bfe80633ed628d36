import { once } from 'node:events'
import { Agent, get, type IncomingMessage, request } from 'node:http'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { stopTimers } from '../support/clock.ts'
import { copyWorld } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { expectRefusal, run, runProcess, serve, startListening } from '../support/process.ts'
import { readTwice } from '../support/raw-http.ts'
import { startService } from '../support/service.ts'

test('decisions and keys show in a running server at once', async () => {
  const address = await copyWorld()
  const env = { DATABASE_URL: address }
  const server = await serve(address)
  const key = (await run(['key', 'issue', '--developer', 'Grace'], env)).stdout.trim()
  const json = { name: 'Star Map', description: 'The sky.', category_id: 1 }
  const created = await server.request('POST', '/apps', { key, json })
  expect(created.status).toBe(201)
  const id = created.body.data.app_id
  await run(['moderation', 'approve', String(id)], env)
  expect((await server.request('GET', `/apps/${id}`)).body.data.app.developer_name).toBe('Grace')
  expect((await server.request('GET', '/apps?search=star')).body.data.apps).toHaveLength(1)
  await run(['moderation', 'reject', String(id), '--reason', 'Dark.'], env)
  expect((await server.request('GET', `/apps/${id}`)).status).toBe(404)
  expect((await server.request('GET', `/apps/${id}`, { key })).body.data.app.rejection_reason).toBe(
    'Dark.',
  )
})

test('SIGTERM makes the server not ready, finishes the requests in flight, and stops it', async () => {
  const server = await serve(await copyWorld())
  const inFlight = await beginCreate(server.port, inject('world').keys.ada)
  const ready = await readTwice(server.port, '/readyz')
  const list = await readTwice(server.port, '/apps')
  server.process.kill('SIGTERM')
  await expect.poll(() => server.log.filter((line) => line.includes('SIGTERM'))).toHaveLength(1)
  expect(await ready.second()).toMatch(/^HTTP\/1\.1 503 [\s\S]*\nConnection: close\r\n/)
  expect(await list.second()).toMatch(/^HTTP\/1\.1 200 [\s\S]*\nConnection: close\r\n/)
  expect(await inFlight.finish()).toBe(201)
  expect(await server.exited).toEqual([0, null])
})

test('clients that send request after request while the server stops get whole responses', async () => {
  const server = await serve(await copyWorld())
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  onTestFinished(() => agent.destroy())
  let responses = 0
  const readUntilRefused = async () => {
    while (await read(server.port, agent)) responses++
  }
  const clients = Array.from({ length: 20 }, readUntilRefused)
  await expect.poll(() => responses).toBeGreaterThan(40)
  server.process.kill('SIGTERM')
  await Promise.all(clients)
  expect(await server.exited).toEqual([0, null])
})

test('a server that stops still accepts connections for a time, so that a load balancer notices', async () => {
  stopTimers()
  const service = await startService({ isDraining: () => true })
  const drained = service.drain()
  expect((await service.get('/readyz')).status).toBe(503)
  await vi.runAllTimersAsync()
  await drained
})

test.for([
  ['serve', {}, 'serving http://localhost:%/apps'],
  ['serve', { BASE_URL: 'https://a.example.org/b' }, 'serving https://a.example.org/b/apps'],
  ['moderation serve', { MODERATION_PORT: '0' }, 'serving the moderation page http://localhost:%/'],
] as const)('with port 0, %s %j prints the port that it got', async ([command, env, message]) => {
  const { port, log } = await startListening(command, { DATABASE_URL: await copyWorld(), ...env })
  expect(port).toBeGreaterThan(0)
  const messages = log.map((line) => JSON.parse(line).msg)
  expect(messages).toContain(message.replace('%', String(port)))
})

test('a client that never finishes its request does not keep the process alive', async () => {
  const server = await serve(await copyWorld())
  await beginCreate(server.port, inject('world').keys.ada)
  server.process.kill('SIGTERM')
  expect((await server.exited)[0]).toBe(0)
})

test('a second signal does not abort requests in flight, and their metrics can be read', async () => {
  const METRICS_PORT = String(await freePort())
  const server = await serve(await copyWorld(), { METRICS_PORT })
  const inFlight = await beginCreate(server.port, inject('world').keys.ada)
  const ready = await readTwice(server.port, '/readyz')
  server.process.kill('SIGTERM')
  await expect.poll(() => server.log.filter((line) => line.includes('SIGTERM'))).toHaveLength(1)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) server.process.kill(signal)
  // The signals have arrived once this responds that it is not ready.
  expect(await ready.second()).toMatch(/^HTTP\/1\.1 503 /)
  expect((await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).status).toBe(200)
  expect(await inFlight.finish()).toBe(201)
  expect(await server.exited).toEqual([0, null])
})

/** One GET of the list. False if it was refused; throws if the response was truncated. */
async function read(port: number, agent: Agent | false): Promise<boolean> {
  const sending = get({ port, host: '127.0.0.1', path: '/apps', agent })
  const [response] = await once(sending, 'response').catch((): [IncomingMessage?] => [])
  if (!response) return false
  response.resume()
  await once(response, 'end')
  return true
}

/**
 * A create whose body the server has started to read; `finish` sends the rest and returns the
 * status.
 */
async function beginCreate(port: number, key: string) {
  const body = JSON.stringify({ name: 'Slow', description: 'Takes its time.', category_id: 1 })
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    Expect: '100-continue',
  }
  const sending = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/apps',
    headers,
    agent: false,
  })
  const answered = once(sending, 'response')
  answered.catch(() => {
    // If this was not intended, `finish` fails.
  })
  sending.flushHeaders()
  await once(sending, 'continue')
  sending.write(body.slice(0, 10))
  return {
    finish: async () => {
      sending.end(body.slice(10))
      const [response] = await answered
      response.resume()
      return response.statusCode
    },
  }
}

test('serves metrics only on their own port', async () => {
  const metricsPort = await freePort()
  const server = await serve(await copyWorld(), { METRICS_PORT: String(metricsPort) })
  await server.request('GET', '/apps')
  const read = (path: string, method = 'GET') =>
    fetch(`http://127.0.0.1:${metricsPort}${path}`, { method })
  const answer = await read('/metrics')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=/),
  ])
  const text = await answer.text()
  expect(text).toContain(`apps_build_info{version="${document.info.version}",schema="`)
  expect(text).toContain('http_server_request_duration_seconds_count{')
  expect((await read('/apps')).status).toBe(404)
  const posted = await read('/metrics', 'POST')
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET'])
  expect((await server.request('GET', '/metrics')).status).toBe(404)
  // A scraper's open connection does not keep the process running.
  server.process.kill('SIGTERM')
  expect(await server.exited).toEqual([0, null])
})

test('a port in use prevents the start, with an error that names its variable', async () => {
  const { port } = await serve(await copyWorld())
  const env = { DATABASE_URL: await copyWorld(), PORT: '0', METRICS_PORT: String(port) }
  const refused = await runProcess(['serve'], env)
  expectRefusal(refused, new RegExp(`^apps-service: METRICS_PORT=${port} `))
  const other = {
    DATABASE_URL: await copyWorld(),
    PORT: String(port),
    METRICS_PORT: String(await freePort()),
  }
  expect((await runProcess(['serve'], other)).code).toBe(1)
})
