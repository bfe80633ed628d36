import { describe, expect, test } from 'vitest'
import {
  findAccounts,
  findDevelopers,
  findKeys,
  findOrAddDeveloper,
  issueKey,
  requireDeveloper,
} from '../../src/accounts/account-store.ts'
import { authenticator, generateKey } from '../../src/accounts/keys.ts'
import { moderatorStore } from '../../src/accounts/moderator-store.ts'
import type { Database } from '../../src/db/database.ts'
import { freezeClock } from '../support/clock.ts'
import { type Service, startService } from '../support/service.ts'
import type { World } from '../support/world.ts'

type Store = ReturnType<typeof moderatorStore>

const hour = 60 * 60 * 1000
const actor = { operator: 'test' }
const past = '2020-01-01T00:00:00.000Z'
const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString()

describe('the last use of a key', () => {
  /** A service that counts its writes, and Ada's key, last used at the given time. */
  async function usedBefore(milliseconds: number | undefined, write?: Database['write']) {
    const now = freezeClock()
    let writes = 0
    const service = await startService({
      database: (database) => ({
        ...database,
        write: (work) => {
          writes++
          return (write ?? database.write)(work)
        },
      }),
    })
    const { ada } = service.world.keys
    const last_used_at = milliseconds === undefined ? null : timeOf(now - milliseconds)
    await service.database.write(({ sql }) =>
      sql('api_keys').where(key(ada)).update({ last_used_at }),
    )
    return {
      now,
      use: async (whose: keyof World['keys'] = 'ada') => {
        const { status } = await service.get('/apps', { key: service.world.keys[whose] })
        expect(status).toBe(200)
      },
      /** The write begins before the response is sent. */
      writes: () => writes,
      lastUse: () => lastUse(service, ada),
      lastUseOf: (whose: keyof World['keys']) => lastUse(service, service.world.keys[whose]),
      refuse: async (whose: 'expired' | 'revoked') =>
        expect((await service.get('/apps', { key: service.world.keys[whose] })).status).toBe(401),
    }
  }
  const key = (text: string) => ({ id: text.slice(5, 17) })
  const lastUse = async ({ database }: Service, text: string) =>
    (await database.read(({ sql }) => sql('api_keys').where(key(text)).first('last_used_at')))
      ?.last_used_at

  test.for<[when: string, milliseconds: number | undefined]>([
    ['at no time', undefined],
    ['two hours ago', 2 * hour],
    ['exactly an hour ago', hour],
  ])('%s: records this use', async ([, milliseconds]) => {
    const { now, use, lastUse } = await usedBefore(milliseconds)
    await use()
    await expect.poll(lastUse).toBe(timeOf(now))
  })

  test('less than an hour ago: records nothing', async () => {
    const { now, use, writes, lastUse } = await usedBefore(hour - 1)
    await use()
    expect([writes(), await lastUse()]).toEqual([0, timeOf(now - hour + 1)])
  })

  test.for(['expired', 'revoked'] as const)(
    'is not recorded of a key that is %s',
    async (whose) => {
      const { refuse, writes, lastUseOf } = await usedBefore(undefined)
      await refuse(whose)
      expect([writes(), await lastUseOf(whose)]).toEqual([0, null])
    },
  )

  test('is recorded only for that key', async () => {
    const { use, lastUse, lastUseOf } = await usedBefore(undefined)
    await use()
    await expect.poll(lastUse).not.toBe(null)
    expect(await lastUseOf('bob')).toBe(null)
  })

  test('is recorded again when an hour has passed, and not before', async () => {
    const { now, use, writes, lastUse } = await usedBefore(undefined)
    for (const [at, uses, recorded] of [
      [0, 1, 0],
      [hour - 1, 1, 0],
      [hour, 2, hour],
      [2 * hour - 1, 2, hour],
      [2 * hour, 3, 2 * hour],
    ] as const) {
      freezeClock(now + at)
      await use()
      await expect.poll(lastUse).toBe(timeOf(now + recorded))
      expect(writes()).toBe(uses)
    }
  })

  test('is recorded once for concurrent requests', async () => {
    const { use, writes } = await usedBefore(2 * hour, () => new Promise(() => {}))
    await Promise.all([use(), use(), use()])
    expect(writes()).toBe(1)
  })

  test('is recorded while that of another key is not stored yet', async () => {
    const { use, writes } = await usedBefore(2 * hour, () => new Promise(() => {}))
    for (const whose of ['ada', 'bob', 'ada'] as const) await use(whose)
    expect(writes()).toBe(2)
  })

  test('is recorded by a later request if recording failed', async () => {
    const { use, writes } = await usedBefore(2 * hour, () => Promise.reject(new Error('locked')))
    await use()
    await use()
    expect(writes()).toBe(2)
  })
})

test.for(['ada', 'expired', 'revoked'] as const)(
  'the key of %s with another secret is unknown',
  async (whose) => {
    const service = await startService()
    const key = service.world.keys[whose]
    const id = key.slice(5, 17)
    await service.database.write(({ sql }) =>
      sql('api_keys').where({ id }).update({ sha256: generateKey().sha256 }),
    )
    const reply = await service.get('/apps', { key })
    expect([reply.status, reply.body.message]).toEqual([401, 'This API key is not known.'])
  },
)

test.for<[what: string, key: (keys: World['keys']) => string, message: string]>([
  ['revoked', ({ revoked }) => revoked, 'This API key was revoked.'],
  ['expired', ({ expired }) => expired, `This API key expired at ${past}.`],
  ['expired and then revoked', ({ bob }) => bob, 'This API key was revoked.'],
  ['unknown', () => generateKey().key, 'This API key is not known.'],
  [
    'for signing in',
    () => generateKey('moderator').key,
    'This is not an API key; check that it was copied completely.',
  ],
])(
  'a key that is %s is refused with the reason, read and write alike',
  async ([, keyOf, message]) => {
    const service = await startService()
    const { keys, apps } = service.world
    const id = keys.bob.slice(5, 17)
    await service.database.write(({ sql }) =>
      sql('api_keys')
        .where({ id })
        .update({ expires_at: past, revoked_at: past, last_used_at: past }),
    )
    const key = keyOf(keys)
    for (const reply of [
      await service.get('/apps', { key }),
      await service.get('/developer/apps', { key }),
      await service.request('DELETE', `/apps/${apps.bobs}`, { key }),
    ])
      expect([reply.status, reply.body.message]).toEqual([401, message])
  },
)

test('keys that arrive in one turn of the event loop are found by a statement for every eight', async () => {
  const { database, world } = await startService()
  const { ada, bob, expired } = world.keys
  const authenticate = authenticator(database)
  const statements: string[] = []
  database.onStatement((statement) => statements.push(statement))
  const keys = [...Array<string>(8).fill(ada), expired, bob, generateKey().key]
  const callers = await Promise.all(
    keys.map((key) => authenticate(key).catch((error: Error) => error.message)),
  )
  expect(callers).toEqual([
    ...Array(8).fill({ developerId: 1, keyId: ada.slice(5, 17) }),
    `This API key expired at ${past}.`,
    { developerId: 2, keyId: bob.slice(5, 17) },
    'This API key is not known.',
  ])
  expect(statements.filter((statement) => /^select .* from api_keys/.test(statement))).toHaveLength(
    2,
  )
})

test('finds a developer by any name, and creates one only with a valid name', async () => {
  const { database } = await startService()
  const former = 'Bob\u200e'
  await database.write(({ sql }) =>
    sql('developers').where({ name: 'Bob' }).update({ name: former }),
  )
  const found = await database.write(async (runner) => {
    const developers = []
    for (const name of [' Ada ', former, ' Eve ', 'Eve'])
      developers.push(await findOrAddDeveloper(runner, name))
    return developers
  })
  const { id } = found.at(-1) ?? {}
  expect(found).toMatchObject([
    { id: 1, name: 'Ada', isNew: false },
    { id: 2, name: former, isNew: false },
    { id, name: 'Eve', isNew: true },
    { id, name: 'Eve', isNew: false },
  ])
  const demanded = database.read((runner) => requireDeveloper(runner, ' Zoe '))
  await expect(demanded).rejects.toMatchObject({
    name: 'OperatorError',
    message: 'there is no developer "Zoe"',
  })
})

test('a key expires after exactly 365 days by default', async () => {
  const now = freezeClock(Date.UTC(2026, 0, 1))
  const { database, get } = await startService()
  const issued = await database.write(async (runner) => {
    return issueKey(runner, await findOrAddDeveloper(runner, 'Ada'), actor)
  })
  expect(issued.expires_at).toBe('2027-01-01T00:00:00.000Z')
  const activeKeys = () =>
    database.read(async (runner) => (await findAccounts(runner, [1]))[0]?.active_keys)
  const before = [await activeKeys(), (await get('/apps', { key: issued.key })).status]
  freezeClock(now + 365 * 24 * hour)
  expect(before).toEqual([2, 200])
  expect([await activeKeys(), (await get('/apps', { key: issued.key })).status]).toEqual([1, 401])
})

describe('sorts by name:', () => {
  test('developers, a page at a time', async () => {
    const { database } = await startService()
    await database.write(async (runner) => {
      for (const name of ['Zoe', 'Abe', 'Mia']) await findOrAddDeveloper(runner, name)
    })
    const page = async (limit: number, offset: number) => {
      const { developers, total } = await database.read((runner) =>
        findDevelopers(runner, limit, offset),
      )
      for (const { name, apps } of developers) {
        if (!['Ada', 'Bob'].includes(name))
          expect(apps).toEqual({ pending: 0, approved: 0, rejected: 0, deleted: 0 })
      }
      return [developers.map(({ name }) => name), total]
    }
    expect(await page(50, 0)).toEqual([['Abe', 'Ada', 'Bob', 'Mia', 'Zoe'], 5])
    expect(await page(2, 1)).toEqual([['Ada', 'Bob'], 5])
  })

  test('keys, then the oldest first, then by id', async () => {
    const { database } = await startService()
    const created = (id: string, name: string, at: string) =>
      database.write(async (runner) => {
        const { id: developer_id } = await findOrAddDeveloper(runner, name)
        const times = { created_at: at, expires_at: '2999-01-01T00:00:00.000Z' }
        await runner.sql('api_keys').insert({ id, developer_id, sha256: id, ...times })
      })
    const keys = () => database.read((runner) => findKeys(runner, undefined, 50, 0))
    const before = (await keys()).total
    const [early, late] = ['2020-01-01T00:00:00.000Z', '2020-01-02T00:00:00.000Z']
    await created('zoe', 'Zoe', early)
    await created('abe-b', 'Abe', early)
    await created('abe-a', 'Abe', early)
    await created('abe-0', 'Abe', late)
    const { keys: all, total } = await keys()
    const ids = all.map(({ id }) => id)
    expect([total, ids.slice(0, 3), ids.at(-1)]).toEqual([
      before + 4,
      ['abe-a', 'abe-b', 'abe-0'],
      'zoe',
    ])
    expect(all.map(({ developer_name }) => developer_name)).toEqual(
      all.map(({ developer_name }) => developer_name).toSorted(),
    )
  })
})

type Sessions = Record<'bo' | 'boElsewhere' | 'cy', string>

test.for<
  [
    what: string,
    act: (store: Store, of: Sessions, ids: Record<'bo' | 'cy', string>) => Promise<unknown>,
    /** The sessions that are left, and those whose use was stored. */
    left: (keyof Sessions)[],
    used: (keyof Sessions)[],
  ]
>([
  ['nothing', async () => {}, ['bo', 'boElsewhere', 'cy'], []],
  ['signing out', (store, of) => store.endSessions([of.bo]), ['boElsewhere', 'cy'], []],
  ['signing out again', (store) => store.endSessions(['x']), ['bo', 'boElsewhere', 'cy'], []],
  ['a use', (store, of) => store.useSession(of.bo), ['bo', 'boElsewhere', 'cy'], ['bo']],
  ['a revoked key', (store, _of, { bo }) => store.revoke(bo, actor), ['cy'], []],
  [
    "another's revoked key",
    (store, _of, { cy }) => store.revoke(cy, actor),
    ['bo', 'boElsewhere'],
    [],
  ],
])('of the sessions of moderators, %s ends or renews only its own', async ([, act, left, used]) => {
  const { database } = await startService()
  const begin = freezeClock()
  const write = <T>(work: (store: Store) => Promise<T>) =>
    database.write((runner) => work(moderatorStore(runner)))
  const ids = {
    bo: (await write((store) => store.add('Bo', actor))).id,
    cy: (await write((store) => store.add('Cy', actor))).id,
  }
  const sessions: Sessions = {
    bo: await write((store) => store.beginSession(ids.bo)),
    boElsewhere: await write((store) => store.beginSession(ids.bo)),
    cy: await write((store) => store.beginSession(ids.cy)),
  }
  freezeClock(begin + hour)
  await write((store) => act(store, sessions, ids))
  const states = await Promise.all(
    Object.entries(sessions).map(async ([name, token]) => {
      const found = database.read((runner) => moderatorStore(runner).findSession([token]))
      return found.then(
        ({ moderator, isUseDue }) => {
          expect(moderator.id).toBe(name === 'cy' ? ids.cy : ids.bo)
          return [name, isUseDue ? 'left' : 'used']
        },
        () => [name, 'ended'],
      )
    }),
  )
  const namesOf = (...kinds: string[]) =>
    states.filter(([, state = '']) => kinds.includes(state)).map(([name]) => name)
  expect([namesOf('left', 'used'), namesOf('used')]).toEqual([left, used])
})
