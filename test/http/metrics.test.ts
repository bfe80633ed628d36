import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { generateKey } from '../../src/accounts/keys.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { type Call, newApp, validRequests } from '../contract/valid-requests.ts'
import { closed, connected } from '../faults/sockets.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { freePort } from '../support/free-port.ts'
import { sendBytes } from '../support/raw-http.ts'
import { concurrency, saturate } from '../support/saturate.ts'
import { type ServiceOptions, startService } from '../support/service.ts'

/** A service with metrics, read as lines of Prometheus' text format. */
async function measured(options: ServiceOptions = {}) {
  const metrics = new Metrics({ version: '1.0.0' })
  const port = await freePort()
  const stop = await metrics.listen({ host: '127.0.0.1', port })
  onTestFinished(stop)
  const service = await startService({ ...options, metrics })
  const ask = () => fetch(`http://127.0.0.1:${port}/metrics`)
  const read = async () => {
    const lines = (await (await ask()).text()).split('\n')
    return new Map(
      lines.filter((line) => /^[a-z]/.test(line)).map((line) => [line.replace(/ \S+$/, ''), line]),
    )
  }
  /** The value of a metric, by its name and labels as written. */
  const value = async (name: string) => Number((await read()).get(name)?.replace(/.* /, ''))
  return { metrics, service, ask, read, value }
}

test('counts requests by operation and status, with the names and buckets of OpenTelemetry', async () => {
  const { service, read } = await measured({ prefix: '/v1' })
  for (const call of Object.values(validRequests(service.world))) await service.request(...call)
  for (let time = 0; time < 3; time++) await service.get('/apps')
  for (const path of ['/apps?limit=0', '/apps/999', '/nowhere', '/elsewhere'])
    await service.get(path)
  const lines = await read()
  for (const { method, status, route, count } of [
    { method: 'GET', status: 200, route: '/v1/apps', count: 4 },
    { method: 'GET', status: 400, route: '/v1/apps', count: 1 },
    { method: 'GET', status: 200, route: '/v1/apps/{id}', count: 1 },
    { method: 'GET', status: 404, route: '/v1/apps/{id}', count: 1 },
    { method: 'POST', status: 201, route: '/v1/apps', count: 1 },
    { method: 'PUT', status: 200, route: '/v1/apps/{id}', count: 1 },
    { method: 'DELETE', status: 200, route: '/v1/apps/{id}', count: 1 },
    { method: 'GET', status: 404, route: undefined, count: 2 },
  ]) {
    const labels = `http_request_method="${method}",http_response_status_code="${status}"`
    const all = route === undefined ? labels : `${labels},http_route="${route}"`
    const name = `http_server_request_duration_seconds_count{${all}}`
    expect(lines.get(name)).toBe(`${name} ${count}`)
  }
  const bounds = [...lines.keys()].flatMap(
    (name) => /_bucket\{le="([^"]+)".*"POST"/.exec(name)?.[1] ?? [],
  )
  expect(bounds).toEqual(
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, '+Inf'].map(String),
  )
})

test('counts requests whose clients disconnect, without a status', async () => {
  const { service, read } = await measured()
  const { database, world, port } = service
  const release = await saturate((work) => database.write(work), concurrency.write)
  for (const count of [1, 2]) {
    const socket = await connected(port)
    const json = JSON.stringify(newApp)
    const headers = [
      'POST /apps HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${world.keys.ada}`,
      'Content-Type: application/json',
      `Content-Length: ${json.length}`,
    ]
    socket.write(`${headers.join('\r\n')}\r\n\r\n${json}`)
    // The first write of a key records its use, too.
    await expect.poll(() => database.usage().pools[1]?.queued).toBe(2)
    socket.resetAndDestroy()
    await expect.poll(() => service.log.join('').match(/POST aborted/g)).toHaveLength(count)
  }
  await release()
  const counted = [...(await read()).values()].filter((line) =>
    /_seconds_count\{.*"POST"/.test(line),
  )
  expect(counted).toEqual([
    'http_server_request_duration_seconds_count{http_request_method="POST",http_route="/apps"} 2',
  ])
})

test('counts each method that the parser knows by itself, and no others', async () => {
  const { service, read } = await measured()
  const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PROPFIND', 'PUT', 'TRACE']
  for (const method of [...methods, 'UNKNOWN']) {
    await sendBytes(service, `${method} /apps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  }
  const counted = [...(await read()).values()].flatMap(
    (line) =>
      /^http_server_request_duration_seconds_count\{http_request_method="(\w+)".* (\d+)$/
        .exec(line)
        ?.slice(1) ?? [],
  )
  expect(counted).toEqual(methods.flatMap((method) => [method, '1']))
})

test('every metric has a help text', async () => {
  const { ask } = await measured()
  const text = await (await ask()).text()
  const helps = new Map(
    [...text.matchAll(/^# HELP ((?:apps|db|http)_\S+) (.*)$/gm)].map(([, name, help]) => [
      name,
      help,
    ]),
  )
  expect([...helps.keys()].toSorted()).toEqual([
    'apps_build_info',
    'apps_by_status',
    'apps_data_versions_total',
    'apps_database_writes_total',
    'apps_limited_requests_total',
    'apps_oldest_pending_seconds',
    'apps_response_cache_requests_total',
    'apps_shed_requests_total',
    'db_client_connection_count',
    'db_client_connection_pending_requests',
    'http_server_request_duration_seconds',
  ])
  for (const [name, help] of helps) expect(help, name).toMatch(/^[A-Z].*\.$/)
  for (const kind of ['cheap', 'expensive', 'write'])
    expect(text).toContain(`\napps_shed_requests_total{kind="${kind}"} 0\n`)
})

test('counts the apps in each state, and how long the oldest pending one has waited', async () => {
  const { service, value } = await measured()
  const counts = async () =>
    Promise.all(
      ['pending', 'changed', 'approved', 'rejected', 'deleted'].map((state) =>
        value(`apps_by_status{status="${state}"}`),
      ),
    )
  expect(await counts()).toEqual([2, 0, 2, 1, 1])
  const years = (Date.now() - Date.parse('2020-01-01')) / 1000
  expect(years - (await value('apps_oldest_pending_seconds'))).toBeLessThan(3600)
  const { apps, keys } = service.world
  await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { version: '2' } })
  for (const id of [apps.pending, apps.bobsPending]) await service.decide('reject', id)
  expect(await counts()).toEqual([0, 1, 2, 3, 1])
  expect(await value('apps_oldest_pending_seconds')).toBe(0)
})

test('has all other metrics while the database cannot be read', async () => {
  const { ask } = await measured({
    database: (database) => ({
      ...database,
      snapshot: () => Promise.reject(new Error('gone')),
    }),
  })
  const text = await (await ask()).text()
  expect(text).toContain('\napps_build_info{')
  expect(text).not.toMatch(/^apps_(by_status|oldest_pending_seconds)[ {]/m)
})

test('measures durations in seconds', async () => {
  const wait = freezeMonotonicClock()
  const { service, value } = await measured({
    database: (database) => ({
      ...database,
      read: (work) => {
        wait(1500)
        return database.read(work)
      },
    }),
  })
  await service.get('/apps/1')
  const labels = 'http_request_method="GET",http_response_status_code="200",http_route="/apps/{id}"'
  expect(await value(`http_server_request_duration_seconds_sum{${labels}}`)).toBeCloseTo(1.5, 3)
})

test('answers 500 while a metric cannot be collected, and recovers', async () => {
  const { metrics, ask } = await measured()
  let isBroken = true
  metrics.addGauge('apps_broken', 'Not always.', [], () => {
    if (isBroken) throw new Error('broken')
    return [[{}, 7]]
  })
  const broken = await ask()
  expect([broken.status, await broken.text()]).toEqual([500, ''])
  isBroken = false
  expect(await (await ask()).text()).toContain('\napps_broken 7\n')
})

test('closes its port and connections', async () => {
  const port = await freePort()
  const stop = await new Metrics({ version: '1.0.0' }).listen({
    host: '127.0.0.1',
    port,
  })
  const reader = await connected(port)
  reader.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(reader, 'data')
  const silent = await connected(port)
  // The server has accepted the connection before it is told to close.
  await fetch(`http://127.0.0.1:${port}/metrics`)
  stop()
  await Promise.all([closed(reader.resume()), closed(silent.resume())])
  await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow()
})

test('counts cache hits, limited requests, writes and data versions', async () => {
  const { service, value } = await measured({
    limits: { writeLimit: 1, refusedKeyLimit: 2, readLimit: 12 },
  })
  const { keys } = service.world
  const create: Call = ['POST', '/apps', { key: keys.ada, json: newApp }]
  for (let time = 0; time < 5; time++) await service.get('/apps')
  for (let time = 0; time < 3; time++) await service.request(...create)
  await service.get('/apps')
  for (let time = 0; time < 5; time++) await service.get('/apps', { key: generateKey().key })
  for (let time = 0; time < 5; time++) await service.get('/apps/1')
  await expect(
    service.database.write(() => Promise.reject(new Error('rolled back'))),
  ).rejects.toThrow('rolled back')
  expect(await value('apps_response_cache_requests_total{result="hit"}')).toBe(5)
  expect(await value('apps_response_cache_requests_total{result="miss"}')).toBe(2)
  expect(await value('apps_limited_requests_total{limit="writes"}')).toBe(2)
  expect(await value('apps_limited_requests_total{limit="refused-keys"}')).toBe(3)
  expect(await value('apps_limited_requests_total{limit="reads"}')).toBe(4)
  // The app, and the key's last use.
  await expect.poll(() => value('apps_database_writes_total')).toBe(2)
  // A pending app changes nothing public.
  expect(await value('apps_data_versions_total')).toBe(1)
})

test('has the use of database connections, the build info and process metrics', async () => {
  const { service, read, value } = await measured()
  await service.get('/apps')
  const count = (pool: string, state: string) =>
    value(
      `db_client_connection_count{db_client_connection_pool_name="${pool}",db_client_connection_state="${state}"}`,
    )
  const pending = () =>
    value('db_client_connection_pending_requests{db_client_connection_pool_name="writer"}')
  expect([await count('reader', 'idle'), await count('reader', 'used')]).toEqual([1, 0])
  // More than any engine does at once.
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>()
  const writes = Array.from({ length: 8 }, () => service.database.write(() => held))
  const busy = async () => {
    const [used, waiting] = [await count('writer', 'used'), await pending()]
    return { all: used + waiting, isEach: used > 0 && waiting > 0 }
  }
  await expect.poll(busy).toEqual({ all: writes.length, isEach: true })
  goOn()
  await Promise.all(writes)
  expect([await count('writer', 'used'), await pending()]).toEqual([0, 0])
  expect(await value('apps_build_info{version="1.0.0"}')).toBe(1)
  const names = [...(await read()).keys()]
  for (const name of [
    'nodejs_eventloop_lag_p99_seconds',
    'process_resident_memory_bytes',
    'process_open_fds',
  ]) {
    expect(names).toContain(name)
  }
})
