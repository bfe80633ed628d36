import { once } from 'node:events'
import { Agent, get, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { openDatabase } from '../../src/db/open.ts'
import { run, serve } from '../support/process.ts'
import { copyWorld } from '../support/service.ts'

test('decisions and keys of the command line show in a running server at once', async () => {
  const file = copyWorld()
  const env = { DATABASE_URL: `sqlite:${file}` }
  const server = await serve(file)
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
  expect((await server.request('GET', `/apps/${id}`, { key })).body.data.app.rejection_reason).toBe('Dark.')
})

test('SIGTERM under keep-alive load: not ready, requests in flight are answered, and it ends in time', async () => {
  const server = await serve(copyWorld())
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  let closing = false
  let answered = 0
  const broken: unknown[] = []
  const load = async () => {
    while (!(closing && server.process.exitCode !== null)) {
      await read(server.port, agent).then(
        () => answered++,
        // A connection that the closed door cut before its request was taken; a balancer has turned away by then.
        (error) => closing || broken.push(error),
      )
    }
  }
  const clients = Array.from({ length: 20 }, load)
  const inFlight = await beginCreate(server.port, inject('world').keys.ada)
  await delay(500)

  const before = answered
  server.process.kill('SIGTERM')
  await delay(300)
  expect((await server.request('GET', '/readyz')).status).toBe(503)
  expect((await server.request('GET', '/apps')).headers.connection).toBe('close')
  expect(answered).toBeGreaterThan(before)
  await delay(500)
  closing = true
  await delay(1000)
  expect(await inFlight.finish()).toBe(201)
  const [code] = await server.exited
  expect(code).toBe(0)
  await Promise.all(clients)
  agent.destroy()
  expect(broken).toEqual([])
})

test('a client that never finishes its request does not keep the process from ending', async () => {
  const server = await serve(copyWorld())
  await beginCreate(server.port, inject('world').keys.ada)
  server.process.kill('SIGTERM')
  expect((await server.exited)[0]).toBe(0)
})

/** One GET of the list, to its last byte. */
async function read(port: number, agent: Agent) {
  const [response] = await once(get({ port, host: '127.0.0.1', path: '/apps', agent }), 'response')
  response.resume()
  await once(response, 'end')
}

/** A create whose body is half sent; `finish` sends the rest and tells the status. */
async function beginCreate(port: number, key: string) {
  const body = JSON.stringify({ name: 'Slow', description: 'Takes its time.', category_id: 1 })
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Content-Length': body.length }
  const sending = request({ port, host: '127.0.0.1', method: 'POST', path: '/apps', headers })
  sending.on('error', () => {
    // Cut, where the test means it to be.
  })
  sending.write(body.slice(0, 10))
  await delay(200)
  return {
    finish: async () => {
      sending.end(body.slice(10))
      const [response] = await once(sending, 'response')
      response.resume()
      return response.statusCode
    },
  }
}

test('kill -9 during creates: what was acknowledged is there, whole, and nothing is half there', async () => {
  const file = copyWorld()
  const { keys } = inject('world')
  const server = await serve(file)
  const acknowledged = new Map<number, string>()
  let next = 0
  const publish = async () => {
    while (next < 1000) {
      const name = `Crash ${next++}`
      const json = { name, description: `${name} is whole.`, category_id: 1 }
      const reply = await server.request('POST', '/apps', { key: keys.ada, json }).catch(() => undefined)
      if (!reply) return
      acknowledged.set(reply.body.data.app_id, name)
      if (acknowledged.size === 300) server.process.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: 8 }, publish))
  expect(acknowledged.size).toBeGreaterThanOrEqual(300)
  expect(acknowledged.size).toBeLessThan(1000)

  const database = openDatabase(`sqlite:${file}`)
  await database.write(async ({ sql }) => {
    expect(await sql.raw('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
    expect(await sql.raw('PRAGMA foreign_key_check')).toEqual([])
    const apps = await sql('apps').whereLike('name', 'Crash %')
    const stored = new Map(apps.map(({ id, name }) => [id, name]))
    for (const [id, name] of acknowledged) expect(stored.get(id)).toBe(name)
    const audited = await sql('audit')
      .where({ action: 'app create' })
      .whereIn('app_id', [...stored.keys()])
    expect(audited).toHaveLength(stored.size)
    expect(apps.every(({ name, description }) => description === `${name} is whole.`)).toBe(true)
  })
  await database.close()

  const again = await serve(file)
  expect((await again.request('GET', '/readyz')).status).toBe(200)
  expect(
    (
      await again.request('POST', '/apps', {
        key: keys.ada,
        json: { name: 'Crash 0', description: 'B', category_id: 1 },
      })
    ).status,
  ).toBe(201)
})
