import { expect, test } from 'vitest'
import { generateKey, parseKeyId } from '../../src/accounts/keys.ts'
import { startService } from '../support/service.ts'

/** Requests with API keys. */

test.for<{ authorization: string; status: number; isRefusedKey?: boolean }>([
  { authorization: 'Bearer KEY', status: 200 },
  { authorization: 'bearer   KEY', status: 200 },
  { authorization: 'Bearer KEY more', status: 401, isRefusedKey: true },
  { authorization: 'Bearer', status: 401, isRefusedKey: true },
  { authorization: 'My Bearer KEY', status: 401 },
  { authorization: 'Bearers KEY', status: 401 },
  { authorization: 'Basic KEY', status: 401 },
])('Authorization: $authorization gets $status', async (row) => {
  const { authorization, status, isRefusedKey = false } = row
  const service = await startService()
  const { apps, keys } = service.world
  const headers = { Authorization: authorization.replace('KEY', keys.ada) }
  const answer = await service.get(`/apps/${apps.pending}`, { headers })
  expect(answer.status).toBe(status)
  // RFC 6750, section 3.1: without a key, the challenge has no error code.
  const challenge = String(answer.headers['www-authenticate'])
  expect(challenge.includes('error="invalid_token"')).toBe(isRefusedKey)
})

test('the whole key is checked, not only its id', async () => {
  const service = await startService()
  const { ada } = service.world.keys
  await service.database.write(({ sql }) =>
    sql('api_keys')
      .where({ id: parseKeyId(ada) ?? '' })
      .update({ sha256: generateKey().sha256 }),
  )
  expect((await service.get('/apps', { key: ada })).status).toBe(401)
})

test('a request does not wait until the use of its key is recorded', async () => {
  const service = await startService({
    database: (database) => ({ ...database, write: () => new Promise(() => {}) }),
  })
  expect((await service.get('/apps', { key: service.world.keys.ada })).status).toBe(200)
})

test('a revocation takes effect at once, and the last use of a key is recorded', async () => {
  const service = await startService()
  const { database, world } = service
  const id = parseKeyId(world.keys.ada) ?? ''
  const row = () => database.read(({ sql }) => sql('api_keys').where({ id }).first())
  expect((await service.get('/apps', { key: world.keys.ada })).status).toBe(200)
  await expect.poll(async () => (await row())?.last_used_at).toMatch(/^20\d\d-.*Z$/)
  await database.write(({ sql }) =>
    sql('api_keys').where({ id }).update({ revoked_at: new Date().toISOString() }),
  )
  expect((await service.get('/apps', { key: world.keys.ada })).status).toBe(401)
})
