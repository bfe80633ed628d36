import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseKeyId } from '../../src/accounts/keys.ts'
import {
  addModerator,
  findModerators,
  revokeModerator,
} from '../../src/accounts/moderator-store.ts'
import { freezeClock } from '../support/clock.ts'
import { openWorld } from '../support/database.ts'

const actor = { operator: 'test' }

async function start() {
  const database = await openWorld()
  const { read, write } = database
  return {
    ...database,
    add: (name: string, expiresAt?: string) =>
      write((runner) => addModerator(runner, name, actor, expiresAt)),
    revoke: (id: string) => write((runner) => revokeModerator(runner, id, actor)),
    newestEntry: () =>
      read(({ sql }) =>
        sql('audit').orderBy('id', 'desc').first('action', 'operator', 'before', 'after'),
      ),
  }
}

test('a new key is in the result; the database has its hash, and the audit log neither', async () => {
  const now = freezeClock(Date.UTC(2026, 0, 1))
  const { add, read, newestEntry } = await start()
  const { id, key, ...added } = await add(' Ada Lovelace ')
  const expires_at = '2027-01-01T00:00:00.000Z'
  expect(added).toEqual({ name: 'Ada Lovelace', expires_at })
  expect(parseKeyId(key, 'moderator')).toBe(id)
  expect(await read(({ sql }) => sql('operators'))).toEqual([
    {
      id,
      name: 'Ada Lovelace',
      sha256: hash('sha256', key),
      created_at: new Date(now).toISOString(),
      expires_at,
      revoked_at: null,
      last_used_at: null,
    },
  ])
  expect(await newestEntry()).toEqual({
    action: 'moderator add',
    operator: 'test',
    before: null,
    after: JSON.stringify({ id, name: 'Ada Lovelace', expires_at }),
  })
})

test.for<{ what: string; name: string }>([
  { what: 'no name', name: ' ' },
  { what: '101 characters', name: 'x'.repeat(101) },
  { what: 'a terminal sequence', name: 'Ada\x1b[2J' },
  { what: 'a reversed name', name: '\u202EadA' },
  { what: 'a line break', name: 'Ada\nBo' },
  { what: 'what is not UTF-8', name: 'Ada\uFFFD' },
])('a moderator is not added with $what', async ({ name }) => {
  const { add, read } = await start()
  await expect(add(name)).rejects.toMatchObject({ name: 'OperatorError' })
  expect(await read(findModerators)).toEqual([])
})

test('keys are listed by name and age with their states; one is revoked, once', async () => {
  const now = freezeClock(Date.UTC(2026, 0, 1))
  const { add, revoke, read, newestEntry } = await start()
  const bo = await add('Bo')
  const expired = await add('Ada', new Date(now + 1000).toISOString())
  freezeClock(now + 1000)
  const lost = await add('Ada')
  freezeClock(now + 2000)
  const other = await add('Ada')
  const revoked_at = new Date(now + 2000).toISOString()
  expect(await revoke(lost.id)).toEqual({ id: lost.id, name: 'Ada', revoked_at })
  expect(await newestEntry()).toMatchObject({
    action: 'moderator revoke',
    before: JSON.stringify({ id: lost.id, name: 'Ada', revoked_at: null }),
    after: JSON.stringify({ id: lost.id, name: 'Ada', revoked_at }),
  })
  expect(await read(findModerators)).toMatchObject([
    { id: expired.id, name: 'Ada', state: 'expired', revoked_at: null },
    { id: lost.id, name: 'Ada', state: 'revoked', revoked_at },
    { id: other.id, name: 'Ada', state: 'active', revoked_at: null },
    { id: bo.id, name: 'Bo', state: 'active', revoked_at: null },
  ])
  await expect(revoke(lost.id)).rejects.toThrow(/^the key was already revoked at 2026-/)
  await expect(revoke('a'.repeat(12))).rejects.toThrow(/^there is no moderator with the key a+$/)
})
