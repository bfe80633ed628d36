import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  generateKey,
  isSameKey,
  keyPrefix,
  keyState,
  parseKeyId,
  parseKeyIdOrPrefix,
} from '../../src/accounts/keys.ts'

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
