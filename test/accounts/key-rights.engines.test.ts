import { describe, expect, test } from 'vitest'
import { issueKey, revokeKey } from '../../src/accounts/account-store.ts'
import { parseKeyId } from '../../src/accounts/keys.ts'
import type { Database } from '../../src/db/database.ts'
import { restoreApp, transferApp } from '../../src/moderation/decisions.ts'
import { type Call, newApp } from '../contract/valid-requests.ts'
import { type Service, startService } from '../support/service.ts'

/** Keys for one app, and read-only ones, in the life of their app. The scenarios have single requests. */

const operator = { operator: 'test' }

type Step = (service: Service) => Promise<unknown>

const pendingOf = ({ world }: Service) => world.apps.pending
const approve: Step = (service) => service.decide('approve', pendingOf(service))
const remove: Step = ({ request, world }) =>
  request('DELETE', `/apps/${world.apps.pending}`, { key: world.keys.oneApp })
const restore: Step = (service) =>
  service.database.write((runner) => restoreApp(runner, pendingOf(service), operator))
const transferTo =
  (name: string): Step =>
  (service) =>
    service.database.write((runner) => transferApp(runner, pendingOf(service), name, operator))
const revoke: Step = ({ database, world }) =>
  database.write((runner) => revokeKey(runner, parseKeyId(world.keys.oneApp) ?? '', operator))

describe('a key for one app', () => {
  // Of Ada's pending app. The statuses of reading and updating it, and the number of listed apps.
  test.for<{ what: string; steps: Step[]; read: number; update: number; own: number | 401 }>([
    { what: 'is its own', steps: [], read: 200, update: 200, own: 1 },
    { what: 'is approved', steps: [approve], read: 200, update: 200, own: 1 },
    { what: 'was deleted with it', steps: [remove], read: 404, update: 404, own: 0 },
    { what: 'was deleted twice', steps: [remove, remove], read: 404, update: 404, own: 0 },
    { what: 'was restored', steps: [remove, restore], read: 200, update: 200, own: 1 },
    { what: 'was transferred', steps: [transferTo('Bob')], read: 404, update: 404, own: 0 },
    {
      what: 'was transferred and approved',
      steps: [transferTo('Bob'), approve],
      read: 200,
      update: 403,
      own: 0,
    },
    {
      what: 'was transferred, and back',
      steps: [transferTo('Bob'), transferTo('Ada')],
      read: 200,
      update: 200,
      own: 1,
    },
    { what: 'is there, but not the key', steps: [revoke], read: 401, update: 401, own: 401 },
  ])('whose app $what reads it with $read, updates it with $update', async (row) => {
    const service = await startService()
    const { keys, apps } = service.world
    for (const step of row.steps) await step(service)
    const key = keys.oneApp
    const read = await service.get(`/apps/${apps.pending}`, { key })
    const list = await service.get('/developer/apps', { key })
    const update = await service.request('PUT', `/apps/${apps.pending}`, {
      key,
      json: { version: '2' },
    })
    expect([read.status, update.status]).toEqual([row.read, row.update])
    expect(list.status === 200 ? list.body.data.apps.length : list.status).toBe(row.own)
    // Whatever happens to the app, the key gets no other rights.
    const create = await service.request('POST', '/apps', { key, json: newApp })
    expect(create.status).toBe(row.own === 401 ? 401 : 403)
  })

  test('gets the same refusal for all other apps, whether or not they exist', async () => {
    const service = await startService()
    const { keys, apps } = service.world
    const ids = [apps.approved, apps.rejected, apps.deleted, apps.bobs, apps.bobsPending, 999, '0']
    const calls: Call[] = [
      ['POST', '/apps', { key: keys.oneApp, json: newApp }],
      ...ids.flatMap((id): Call[] => [
        ['PUT', `/apps/${id}`, { key: keys.oneApp, json: { version: '2' } }],
        ['DELETE', `/apps/${id}`, { key: keys.oneApp, headers: { 'If-Match': '"x"' } }],
      ]),
    ]
    const answers = await Promise.all(calls.map((call) => service.request(...call)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(403)
  })

  test('can be read-only, too', async () => {
    const service = await startService()
    const { pending, rejected } = service.world.apps
    const { key } = await service.database.write((runner) =>
      issueKey(runner, { id: 1, name: 'Ada' }, operator, { app_id: pending, read_only: true }),
    )
    const statusOf = async (path: string) => (await service.get(path, { key })).status
    expect([await statusOf(`/apps/${pending}`), await statusOf(`/apps/${rejected}`)]).toEqual([
      200, 404,
    ])
    const update = await service.request('PUT', `/apps/${pending}`, { key, json: { version: '2' } })
    expect([update.status, update.body.message]).toEqual([
      403,
      `This API key is only for reading app ${pending}; use another key.`,
    ])
  })

  test.for<{ what: string; between: Step; status: number }>([
    // As for all keys: a request is authenticated once, when it arrives.
    { what: 'the key is revoked', between: revoke, status: 200 },
    { what: 'the app is transferred', between: transferTo('Bob'), status: 404 },
    { what: 'the app is deleted', between: remove, status: 404 },
  ])('gets $status for an update if $what between check and write', async ({ between, status }) => {
    let act: (() => Promise<unknown>) | undefined
    const delayed = (database: Database): Database => ({
      ...database,
      async write(work, options) {
        const now = options?.app === undefined ? undefined : act
        if (now) act = undefined
        await now?.()
        return database.write(work, options)
      },
    })
    const service = await startService({ database: delayed })
    act = () => between(service)
    const { keys, apps } = service.world
    const update = await service.request('PUT', `/apps/${apps.pending}`, {
      key: keys.oneApp,
      json: { version: '2' },
    })
    expect(update.status, update.text).toBe(status)
  })
})

describe('the package name of another own app', () => {
  test.for<{ what: string; name: string }>([
    { what: 'a deleted app', name: 'org.example.gone' },
    { what: 'a listed app', name: 'org.example.tideclock' },
    { what: 'an app that is not listed', name: 'org.example.hidden' },
  ])('is to a key for one app that of a stranger: $what', async ({ name }) => {
    const service = await startService()
    const { keys, apps } = service.world
    const json = { package_name: name }
    await service.request('PUT', `/apps/${apps.rejected}`, {
      key: keys.ada,
      json: { package_name: 'org.example.hidden' },
    })
    const take = (id: number, key: string) => service.request('PUT', `/apps/${id}`, { key, json })
    const refused = await take(apps.pending, keys.oneApp)
    const stranger = await take(apps.bobs, keys.bob)
    expect([refused.status, refused.text]).toEqual([409, stranger.text])
    expect(refused.body.data.app_id).toBeUndefined()
    // The name was not released.
    const again = await service.database.read(({ sql }) =>
      sql('apps').where({ package_key: name }).pluck('id'),
    )
    expect(again).toHaveLength(1)
  })

  test('goes to the app with a key for all apps', async () => {
    const service = await startService()
    const { keys, apps } = service.world
    const json = { package_name: 'org.example.gone' }
    const call: Call = ['PUT', `/apps/${apps.pending}`, { key: keys.ada, json }]
    expect((await service.request(...call)).status).toBe(200)
  })
})

describe('an Idempotency-Key', () => {
  test.for(['oneApp', 'readOnly'] as const)(
    'of a key for everything replays nothing with the key %s',
    async (name) => {
      const service = await startService()
      const { keys } = service.world
      const create = (key: string) =>
        service.request('POST', '/apps', {
          key,
          json: newApp,
          headers: { 'Idempotency-Key': 'once' },
        })
      const created = await create(keys.ada)
      const refused = await create(keys[name])
      expect([created.status, refused.status, refused.body.data]).toEqual([
        201,
        403,
        { code: 'forbidden' },
      ])
      expect(refused.headers.location).toBeUndefined()
      expect((await create(keys.ada)).body).toEqual(created.body)
    },
  )
})

describe('the limit of writes', () => {
  test('counts no write that the key is not for, and such a write is a 403 over the limit', async () => {
    const service = await startService({ limits: { writeLimit: 1 } })
    const { keys } = service.world
    const create = async (key: string) =>
      (await service.request('POST', '/apps', { key, json: newApp })).status
    const refused = [keys.readOnly, keys.oneApp]
    for (const key of refused) expect(await create(key)).toBe(403)
    expect(await create(keys.ada)).toBe(201)
    expect(await create(keys.ada)).toBe(429)
    for (const key of refused) expect(await create(key)).toBe(403)
  })
})

describe('the response cache', () => {
  test.for<{ first: 'oneApp' | 'none' }>([{ first: 'oneApp' }, { first: 'none' }])(
    'has nothing that a key for one app sees, if $first reads first',
    async ({ first }) => {
      const service = await startService()
      const { keys, apps } = service.world
      const readWith = (key: string | undefined) =>
        Promise.all(
          [`/apps/${apps.pending}`, `/apps/${apps.approved}`, '/apps'].map((path) =>
            service.get(path, key === undefined ? {} : { key }),
          ),
        )
      const order = first === 'oneApp' ? [keys.oneApp, undefined] : [undefined, keys.oneApp]
      for (let time = 0; time < 3; time++)
        for (const key of order) {
          const answers = await readWith(key)
          expect(answers.map(({ status }) => status)).toEqual([key ? 200 : 404, 200, 200])
          const [own, listed] = answers.map(({ headers }) => headers['cache-control'])
          expect([own, listed]).toEqual(
            key ? ['private, no-cache', 'private, no-cache'] : ['no-store', 'public, no-cache'],
          )
        }
    },
  )

  test('gives no 304 for an app that the key may not see', async () => {
    const service = await startService()
    const { keys, apps } = service.world
    const path = `/apps/${apps.rejected}`
    const { headers } = await service.get(path, { key: keys.ada })
    for (const tag of ['*', String(headers.etag)]) {
      const options = { key: keys.oneApp, headers: { 'If-None-Match': tag } }
      expect((await service.get(path, options)).status).toBe(404)
    }
  })
})
