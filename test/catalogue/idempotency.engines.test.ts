import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import type { AppRow } from '../../src/db/rows.ts'
import { required } from '../../src/util/helpers.ts'
import { newApp } from '../contract/valid-requests.ts'
import { expectStatuses, type RequestOptions } from '../support/check.ts'
import { freezeClock, stopTimers } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { checkedResponse } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'

/** `Idempotency-Key`: a create that is sent again creates no second app. */

const hour = 60 * 60 * 1000

type Fields = Record<string, unknown>

const createWith = (
  service: Service,
  value: string,
  fields: Fields = {},
  more: RequestOptions = {},
) =>
  service.request('POST', '/apps', {
    key: service.world.keys.ada,
    headers: { 'Idempotency-Key': value },
    json: { ...newApp, ...fields },
    ...more,
  })

const countApps = (service: Service) =>
  service.database.read(async ({ sql }) =>
    Number((await sql('apps').count({ count: '*' }).first())?.count),
  )

const storedKeys = (service: Service) =>
  service.database.read(({ sql }) => sql('idempotency_keys').orderBy('id'))

const change = (service: Service, id: number, columns: Partial<AppRow>) =>
  service.database.write(({ sql }) => sql('apps').where({ id }).update(columns))

describe('the same request again gets the same response, and creates no app', () => {
  test.for<
    [
      when: string,
      between: (service: Service, id: number) => Promise<unknown>,
      first?: [string, Fields],
      again?: [string, Fields],
    ]
  >([
    ['at once', async () => {}],
    ['quoted, then unquoted', async () => {}, ['"k-1"', {}], ['k-1', {}]],
    [
      'with escapes, then without quotes',
      async () => {},
      [String.raw`"a\"b\\c"`, {}],
      [String.raw`a"b\c`, {}],
    ],
    [
      'with its fields in another order',
      async () => {},
      ['k', { version: '2', short_description: 'x' }],
      ['k', { short_description: 'x', version: '2' }],
    ],
    ['with a default written out', async () => {}, ['k', {}], ['k', { version: '1.0.0' }]],
    ['with the longest key', async () => {}, [`"${'~'.repeat(255)}"`, {}], ['~'.repeat(255), {}]],
    [
      'after a rename and an approval',
      async (service, id) => {
        await service.decide('approve', id)
        const renamed = { key: service.world.keys.ada, json: { name: 'Planet Map' } }
        expect((await service.request('PUT', `/apps/${id}`, renamed)).status).toBe(200)
      },
    ],
    [
      'after a deletion',
      async (service, id) => {
        expect(
          (await service.request('DELETE', `/apps/${id}`, { key: service.world.keys.ada })).status,
        ).toBe(200)
      },
    ],
    ['after a transfer', (service, id) => change(service, id, { developer_id: 2 })],
    [
      'with a body hash of another format, which cannot be compared',
      (service) =>
        service.database.write(({ sql }) =>
          sql('idempotency_keys').update({ body_hash: '0:other' }),
        ),
    ],
  ])('%s', async ([, between, first = ['k', {}], again = first]) => {
    const service = await startService()
    const created = await createWith(service, ...first)
    expect(created.status).toBe(201)
    const apps = await countApps(service)
    await between(service, created.body.data.app_id)
    const repeated = await createWith(service, ...again)
    expect([repeated.status, repeated.text, repeated.headers.location]).toEqual([
      201,
      created.text,
      created.headers.location,
    ])
    expect(await countApps(service)).toBe(apps)
    expect(await storedKeys(service)).toHaveLength(1)
  })
})

describe('creates another app', () => {
  test.for<[what: string, again: (service: Service) => ReturnType<typeof createWith>]>([
    ['with another key', (service) => createWith(service, 'other')],
    ['with a key that differs in case', (service) => createWith(service, 'K')],
    [
      "with another developer's same key",
      (service) => createWith(service, 'k', {}, { key: service.world.keys.bob }),
    ],
    ['without a key', (service) => createWith(service, 'k', {}, { headers: {} })],
    [
      'after 24 hours, also with another body',
      (service) => {
        freezeClock(Date.now() + 24 * hour)
        return createWith(service, 'k', { version: '2' })
      },
    ],
  ])('%s', async ([, again]) => {
    const service = await startService()
    const created = await createWith(service, 'k')
    const other = await again(service)
    expect(other.status).toBe(201)
    expect(other.body.data.app_id).toBeGreaterThan(created.body.data.app_id)
    await expectConsistent(service.database)
  })
})

test.for<[key: string, milliseconds: number, created: number, stored: string[]]>([
  ['k', 24 * hour - 1, 0, ['k']],
  ['k', 24 * hour, 1, ['k']],
  ['other', 24 * hour - 1, 1, ['k', 'other']],
  ['other', 24 * hour, 1, ['other']],
])(
  'a create with the key %s, %i ms after one with k, creates %i apps',
  async ([key, milliseconds, created, stored]) => {
    const service = await startService()
    const now = freezeClock()
    expect((await createWith(service, 'k')).status).toBe(201)
    const before = await countApps(service)
    freezeClock(now + milliseconds)
    expect((await createWith(service, key)).status).toBe(201)
    expect((await countApps(service)) - before).toBe(created)
    expect((await storedKeys(service)).map(({ key }) => key)).toEqual(stored)
  },
)

test.for<
  [
    what: string,
    /** The hours since the first create, and which app the response has; none for a 422. */
    calls: [hours: number, who: 'ada' | 'bob', version: string, app: number | undefined][],
  ]
>([
  [
    'again after a day stands for the new app from then on',
    [
      [0, 'ada', '1', 0],
      [24, 'ada', '1', 1],
      [24, 'ada', '1', 1],
      [47.9, 'ada', '1', 1],
      [48, 'ada', '1', 2],
      [48, 'ada', '1', 2],
    ],
  ],
  [
    'again after a day with another body stands for that body from then on',
    [
      [0, 'ada', '1', 0],
      [24, 'ada', '2', 1],
      [24, 'ada', '2', 1],
      [24, 'ada', '1', undefined],
      [47.9, 'ada', '2', 1],
      [48, 'ada', '1', 2],
    ],
  ],
  [
    'again after a day leaves the same key of another developer as it is',
    [
      [0, 'ada', '1', 0],
      [1, 'bob', '1', 1],
      [24, 'ada', '2', 2],
      [24, 'bob', '1', 1],
      [24, 'bob', '2', undefined],
      [25, 'bob', '2', 3],
      [25, 'ada', '2', 2],
    ],
  ],
])('a key that is used %s', async ([, calls]) => {
  const service = await startService()
  const begin = Date.now()
  const apps: number[] = []
  for (const [hours, who, version, app] of calls) {
    freezeClock(begin + hours * hour)
    const key = service.world.keys[who]
    const { status, body } = await createWith(service, 'k', { version }, { key })
    const at = `${who} with version ${version} after ${hours} hours`
    if (app === undefined)
      expect([status, body.data.code], at).toEqual([422, 'idempotency_key_reused'])
    else {
      apps[app] ??= body.data.app_id
      expect([status, body.data.app_id], at).toEqual([201, apps[app]])
    }
  }
  expect(new Set(apps).size).toBe(apps.length)
})

test('another body with the same key is refused before its category and package name are checked', async () => {
  const service = await startService()
  await createWith(service, 'k')
  for (const fields of [
    { version: '2' },
    { category_id: 99 },
    { package_name: 'org.example.tideclock' },
  ]) {
    const { status, body } = await createWith(service, '"k"', fields)
    expect([status, body.data]).toEqual([
      422,
      {
        code: 'idempotency_key_reused',
        errors: [{ in: 'header', field: 'Idempotency-Key', message: 'was used with another body' }],
      },
    ])
  }
  expect((await createWith(service, 'k')).status).toBe(201)
})

test.for<[what: string, fields: Fields, status: number]>([
  ['a category that does not exist', { category_id: 99 }, 422],
  ['a package name that is taken', { package_name: 'org.example.tideclock' }, 409],
  ['an empty name', { name: '' }, 400],
])(
  'a create that was refused for %s can be corrected and sent with the same key',
  async ([, fields, status]) => {
    const service = await startService()
    expect((await createWith(service, 'k', fields)).status).toBe(status)
    expect(await storedKeys(service)).toEqual([])
    const created = await createWith(service, 'k')
    expect(created.status).toBe(201)
    expect((await createWith(service, 'k')).text).toBe(created.text)
  },
)

test.for([
  ['k-1', 'k-1'],
  ['"k-1"', '"k-2"'],
])('a key given twice is refused: %s and %s', async (values) => {
  const service = await startService()
  const body = JSON.stringify(newApp)
  const lines = [
    'POST /apps HTTP/1.1',
    'Host: x',
    'Connection: close',
    `Authorization: Bearer ${service.world.keys.ada}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...values.map((value) => `Idempotency-Key: ${value}`),
  ]
  const reply = await checkedResponse(
    service,
    'POST',
    '/apps',
    `${lines.join('\r\n')}\r\n\r\n${body}`,
  )
  const message = 'must be one key of 1 to 255 visible ASCII characters, in quotes or without'
  expect([reply.status, reply.body.data.errors]).toEqual([
    400,
    [{ in: 'header', field: 'Idempotency-Key', message }],
  ])
})

test('of twenty creates at once on two servers with one key, one creates the app, and all get it', async () => {
  const one = await startService()
  const other = await startService({ databaseUrl: one.databaseUrl })
  const apps = await countApps(one)
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, index) => createWith(index % 2 === 0 ? one : other, 'k')),
  )
  expectStatuses(replies, Array(20).fill(201))
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
  expect(await countApps(one)).toBe(apps + 1)
})

/**
 * Stores a key in a transaction that stays open until `rollBack` is called, and sends a create with
 * this key meanwhile.
 */
async function createBehindAnother(lockTimeout?: number) {
  const service = await startService(lockTimeout === undefined ? {} : { lockTimeout })
  const other = openDatabase(service.databaseUrl)
  onTestFinished(() => other.close())
  // The first use of an API key is a write of its own.
  await createWith(service, 'earlier')
  const stored = Promise.withResolvers<void>()
  const { promise: isOver, reject: rollBack } = Promise.withResolvers<never>()
  const first = other.write(async ({ sql }) => {
    const row = {
      developer_id: 1,
      key: 'k',
      body_hash: '1:',
      app_id: 1,
      created_at: new Date().toISOString(),
    }
    await sql('idempotency_keys').insert(row)
    stored.resolve()
    await isOver
  })
  first.catch(() => {})
  onTestFinished(() => rollBack(new Error('rolls back')))
  await stored.promise
  const reply = createWith(service, 'k')
  return { service, reply, rollBack: () => rollBack(new Error('rolls back')) }
}

test('a create that waits for another one with its key creates the app if that one rolls back', async () => {
  const { service, reply, rollBack } = await createBehindAnother()
  const writes = () => service.database.usage().pools.map(({ used }) => used)
  // It has begun, and waits for the lock or the row.
  await expect.poll(() => writes()[1]).toBe(1)
  rollBack()
  const { status, body } = await reply
  expect(status).toBe(201)
  expect(await storedKeys(service)).toMatchObject([
    { key: 'earlier' },
    { key: 'k', app_id: body.data.app_id },
  ])
})

test('a create that waits too long for another one with its key gets a 503, and can be sent again', async () => {
  const { service, reply, rollBack } = await createBehindAnother(100)
  const { status, headers } = await reply
  expect([status, headers['retry-after']]).toEqual([503, '5'])
  rollBack()
  expect((await createWith(service, 'k')).status).toBe(201)
})

test('a create deletes at most 100 expired keys, the oldest first', async () => {
  const service = await startService()
  const now = Date.now()
  const at = (age: number) => new Date(now - age).toISOString()
  // The oldest last.
  const rows = Array.from({ length: 150 }, (_, index) => ({
    key: `old ${index}`,
    created_at: at(50 * hour + index),
  }))
  rows.push({ key: 'young', created_at: at(23 * hour) })
  await service.database.write(({ sql }) =>
    sql('idempotency_keys').insert(
      rows.map((row) => ({ ...row, developer_id: 2, body_hash: '1:', app_id: 1 })),
    ),
  )
  expect((await createWith(service, 'k')).status).toBe(201)
  const left = (await storedKeys(service)).map(({ key }) => key)
  expect(left.toSorted()).toEqual(
    ['k', 'young', ...rows.slice(0, 50).map(({ key }) => key)].toSorted(),
  )
  expect((await createWith(service, 'k2')).status).toBe(201)
  expect((await storedKeys(service)).map(({ key }) => key).toSorted()).toEqual(['k', 'k2', 'young'])
})

test('many creates at once delete expired keys without waiting for each other', async () => {
  stopTimers()
  const service = await startService()
  const created_at = new Date(Date.now() - 30 * hour).toISOString()
  const expired = Array.from({ length: 400 }, (_, index) => ({ key: `k${index}`, created_at }))
  await service.database.write(({ sql }) =>
    sql('idempotency_keys').insert(
      expired.map((row) => ({ ...row, developer_id: 1, body_hash: '1:', app_id: 1 })),
    ),
  )
  // They also replace expired keys that others delete.
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, index) => createWith(service, `k${index}`)),
  )
  expectStatuses(
    replies,
    replies.map(() => 201),
  )
  const keys = await storedKeys(service)
  expect(new Set(keys.map(({ app_id }) => required(app_id, 'app')))).toEqual(
    new Set(replies.map(({ body }) => body.data.app_id)),
  )
})
