import { hash } from 'node:crypto'
import { describe, expect, inject, test } from 'vitest'
import {
  authenticator,
  generateKey,
  isSameKey,
  keyPrefix,
  keyState,
  parseKeyId,
  parseKeyIdOrPrefix,
} from '../../src/accounts/keys.ts'
import type { Database } from '../../src/db/database.ts'
import { freezeClock } from '../support/clock.ts'
import { openWorld } from '../support/database.ts'
import { share } from '../support/lifetime.ts'
import type { World } from '../support/world.ts'

const past = '2020-01-01T00:00:00.000Z'
const idOf = (key: string) => key.slice('apps_'.length, 'apps_'.length + 12)

test('a new key has an id, a secret and a checksum, and only its SHA-256 is stored', () => {
  const { id, key, sha256 } = generateKey()
  expect(key).toMatch(/^apps_[0-9a-z]{12}_[0-9A-Za-z]{49}$/)
  expect(parseKeyId(key)).toBe(id)
  expect(sha256).toBe(hash('sha256', key))
  expect(isSameKey(key, sha256)).toBe(true)
  expect(isSameKey(generateKey().key, sha256)).toBe(false)
})

test('a thousand keys are distinct and have the same length', () => {
  const keys = Array.from({ length: 1000 }, () => generateKey())
  expect(new Set(keys.map(({ key }) => key)).size).toBe(1000)
  expect(new Set(keys.map(({ id }) => id)).size).toBe(1000)
  // No place of the id and the secret is always the same, or nearly.
  const places = Array.from(
    { length: 12 + 1 + 43 },
    (_, index) => new Set(keys.map(({ key }) => key[5 + index])).size,
  )
  expect(places.filter((variety) => variety < 30)).toEqual([1])
  // The secret of one in sixty begins with a zero.
  expect(new Set(keys.map(({ key }) => key.length))).toEqual(
    new Set(['apps_'.length + 12 + 1 + 43 + 6]),
  )
})

test('the checksum detects any single changed character', () => {
  const { key } = generateKey()
  for (let index = 0; index < key.length; index++) {
    const changed = key.slice(0, index) + (key[index] === 'x' ? 'y' : 'x') + key.slice(index + 1)
    expect(parseKeyId(changed)).toBeUndefined()
  }
})

test.for(['', 'apps_', ' ', 'Bearer x'])('%j is not a key', (text) => {
  expect(parseKeyId(text)).toBeUndefined()
})

test('an operator can name a key by the whole key, its beginning or its id', () => {
  const { id, key } = generateKey()
  expect(keyPrefix(id)).toBe(`apps_${id}`)
  expect([key, keyPrefix(id), id].map(parseKeyIdOrPrefix)).toEqual([id, id, id])
  const others = [
    '',
    'apps_',
    id.slice(1),
    `${id}x`,
    `x${id}`,
    `app_${id}`,
    id.slice(1).concat('X'),
    `${key}x`,
  ]
  expect(others.map(parseKeyIdOrPrefix)).toEqual(others.map(() => undefined))
})

test.for<[what: string, expires_at: string, revoked_at: string | null, state: string]>([
  ['a millisecond before its end', '2026-01-01T00:00:00.001Z', null, 'active'],
  ['at its end', '2026-01-01T00:00:00.000Z', null, 'expired'],
  ['after its end', '2025-12-31T23:59:59.999Z', null, 'expired'],
  ['revoked before its end', '2027-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z', 'revoked'],
  ['revoked, and after its end', '2025-12-31T00:00:00.000Z', '2025-01-01T00:00:00.000Z', 'revoked'],
])('a key %s', ([, expires_at, revoked_at, state]) => {
  expect(keyState({ expires_at, revoked_at }, Date.UTC(2026))).toBe(state)
})

describe('the developer of an API key', () => {
  let database: Database
  let keys: World['keys']
  share(async () => {
    database = await openWorld()
    keys = { ...inject('world').keys }
  })

  test('is found; keys that arrive in one turn of the event loop share a statement for eight', async () => {
    const statements: string[] = []
    const unknown = generateKey().key
    database.onStatement((statement) => statements.push(statement))
    const authenticate = authenticator(database)
    const callers = await Promise.all(
      [...Array<string>(8).fill(keys.ada), unknown, keys.oneApp, keys.readOnly].map((key) =>
        authenticate(key).catch(() => 'none'),
      ),
    )
    const adas = { developerId: 1, appId: null, isReadOnly: false }
    expect(callers).toEqual([
      ...Array(8).fill({ ...adas, keyId: idOf(keys.ada) }),
      'none',
      { ...adas, keyId: idOf(keys.oneApp), appId: inject('world').apps.pending },
      { ...adas, keyId: idOf(keys.readOnly), isReadOnly: true },
    ])
    expect(statements.filter((text) => /^select .* from api_keys/.test(text))).toHaveLength(2)
  })

  test.for<{ what: string; key: (keys: World['keys']) => string; message: string }>([
    { what: 'revoked', key: ({ revoked }) => revoked, message: 'This API key was revoked.' },
    {
      what: 'expired',
      key: ({ expired }) => expired,
      message: `This API key expired at ${past}.`,
    },
    {
      what: 'unknown',
      key: () => generateKey().key,
      message: 'This API key is not known.',
    },
    {
      what: 'one for signing in',
      key: () => generateKey('moderator').key,
      message: 'This is not an API key; check that it was copied completely.',
    },
  ])('is not found for a key that is $what, with the reason', async ({ key, message }) => {
    const found = authenticator(database)(key(keys))
    await expect(found).rejects.toMatchObject({ code: 'unauthorized', message })
  })

  test.for(['ada', 'expired', 'revoked'] as const)(
    'is not found for the key of %s with another secret, which is unknown',
    async (whose) => {
      const id = idOf(keys[whose])
      const { sha256 } = generateKey()
      await database.write(({ sql }) => sql('api_keys').where({ id }).update({ sha256 }))
      await expect(authenticator(database)(keys[whose])).rejects.toThrow(/not known/)
      const before = hash('sha256', keys[whose])
      await database.write(({ sql }) => sql('api_keys').where({ id }).update({ sha256: before }))
    },
  )
})

describe('the last use of a key', () => {
  const hour = 60 * 60 * 1000

  /** Keys of a world that nobody has used, and a count of the writes. */
  async function start(write?: Database['write']) {
    const database = await openWorld()
    let writes = 0
    const authenticate = authenticator({
      ...database,
      write: (work) => {
        writes++
        return (write ?? database.write)(work)
      },
    })
    return {
      use: (whose: keyof World['keys']) => authenticate(inject('world').keys[whose]),
      writes: () => writes,
      lastUse: async (whose: keyof World['keys']) => {
        const id = idOf(inject('world').keys[whose])
        const row = await database.read(({ sql }) => sql('api_keys').where({ id }).first())
        return row?.last_used_at && Date.parse(row.last_used_at)
      },
    }
  }

  test('is stored at once, and again when an hour has passed', async () => {
    const { use, writes, lastUse } = await start()
    const now = freezeClock()
    for (const { at, stored, writes: count } of [
      { at: 0, stored: 0, writes: 1 },
      { at: hour - 1, stored: 0, writes: 1 },
      { at: hour, stored: hour, writes: 2 },
      { at: 2 * hour - 1, stored: hour, writes: 2 },
      { at: 2 * hour, stored: 2 * hour, writes: 3 },
    ]) {
      freezeClock(now + at)
      await use('ada')
      await expect.poll(() => lastUse('ada')).toBe(now + stored)
      expect(writes()).toBe(count)
    }
    expect(await lastUse('bob')).toBe(null)
  })

  test.for(['expired', 'revoked'] as const)('is not stored of one that is %s', async (whose) => {
    const { use, writes } = await start()
    await expect(use(whose)).rejects.toThrow()
    expect(writes()).toBe(0)
  })

  test('is stored once for concurrent uses, but for each key', async () => {
    const { use, writes } = await start(() => new Promise(() => {}))
    await Promise.all([use('ada'), use('ada'), use('ada')])
    expect(writes()).toBe(1)
    await use('bob')
    await use('ada')
    expect(writes()).toBe(2)
  })

  test('is stored by a later use if that failed', async () => {
    const { use, writes } = await start(() => Promise.reject(new Error('locked')))
    await use('ada')
    await use('ada')
    expect(writes()).toBe(2)
  })
})
