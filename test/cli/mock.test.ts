import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/database.ts'
import { listening } from '../support/process.ts'

test('the mock responds without a database, and writes no file', async () => {
  const folder = temporaryFolder()
  const env = { DATABASE_URL: 'postgres://none', BASE_URL: 'http://mock.test/v1', HOME: folder, TMPDIR: folder }
  const mock = await listening('mock', env, folder)
  expect(mock.log.join()).toContain('serving a mock on http://mock.test/v1/apps: examples alone, no database')

  const address = `http://127.0.0.1:${mock.port}`
  expect(await (await fetch(`${address}/v1/apps/7`)).json()).toMatchObject({ data: { app: { name: 'Tide Clock' } } })
  const headers = { Authorization: 'Bearer anything' }
  const deleted = await fetch(`${address}/v1/apps/7`, { method: 'DELETE', headers })
  // It has no rate limits.
  expect([deleted.status, deleted.headers.get('ratelimit')]).toEqual([200, null])
  expect((await fetch(`${address}/v1/apps/7`, { method: 'DELETE' })).status).toBe(401)
  expect((await fetch(`${address}/v1/openapi.json`)).status).toBe(200)
  expect((await fetch(`${address}/readyz`)).status).toBe(200)

  mock.process.kill('SIGTERM')
  expect((await mock.exited)[0]).toBe(0)
  expect(readdirSync(folder)).toEqual([])
})
