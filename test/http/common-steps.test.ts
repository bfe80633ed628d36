import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import type { Config } from '../../src/config.ts'
import { findHeaderProblems } from '../../src/http/common-steps.ts'
import { sendBytes } from '../support/raw-http.ts'
import { startService } from '../support/service.ts'

/** The steps with which all applications begin. */

test.for<{ names: string[]; httpVersion?: string; problems: string[] }>([
  { names: [], problems: ['Host'] },
  { names: [], httpVersion: '1.0', problems: [] },
  { names: ['Host', 'Authorization'], problems: [] },
  { names: ['host', 'authorization'], problems: [] },
  { names: ['HOST', 'Accept', 'Host'], problems: ['Host'] },
  { names: ['HOST', 'Host'], httpVersion: '1.0', problems: ['Host'] },
  {
    names: ['AUTHORIZATION', 'X-Host', 'Host', 'authorization'],
    problems: ['Authorization'],
  },
])('of the headers $names these are missing or repeated: $problems', (row) => {
  const { names, httpVersion = '1.1', problems } = row
  // Values that equal names.
  const rawHeaders = names.flatMap((name) => [name, 'Host', 'Accept', 'Authorization'])
  // Only these properties matter here.
  const request = { rawHeaders, headers: {}, httpVersion } as IncomingMessage
  expect(findHeaderProblems(request).map(({ field }) => field)).toEqual(problems)
})

test.for<{ host: string; isValid: boolean }>([
  { host: '', isValid: true },
  { host: 'apps.test', isValid: true },
  { host: 'apps.test:8080', isValid: true },
  { host: '[::1]:80', isValid: true },
  { host: 'a_b.test:', isValid: true },
  { host: 'a@b/c?d', isValid: false },
  { host: 'a/b', isValid: false },
  { host: 'a b', isValid: false },
  { host: '[::1', isValid: false },
  { host: 'a:b', isValid: false },
])('Host: "$host" is valid: $isValid', ({ host, isValid }) => {
  const rawHeaders = ['Host', host]
  // Only these properties matter here.
  const request = { rawHeaders, headers: { host }, httpVersion: '1.1' } as IncomingMessage
  expect(findHeaderProblems(request).map(({ field }) => field)).toEqual(isValid ? [] : ['Host'])
})

test('a request with two keys is refused, whichever of them is valid, also if the response is cached', async () => {
  const service = await startService()
  await service.get('/apps')
  const { ada, revoked } = service.world.keys
  for (const keys of [
    [ada, revoked],
    [revoked, ada],
  ]) {
    const lines = keys.map((key) => `Authorization: Bearer ${key}\r\n`).join('')
    const bytes = `GET /apps HTTP/1.1\r\nHost: x\r\n${lines}Connection: close\r\n\r\n`
    expect(await sendBytes(service, bytes)).toMatch(/^HTTP\/1\.1 400 /)
  }
})

test.for<{ origin: string; policy: string | undefined }>([
  { origin: 'https://apps.test', policy: 'max-age=31536000; includeSubDomains' },
  { origin: 'http://apps.test', policy: undefined },
])('at $origin, all responses have security headers', async ({ origin, policy }) => {
  const service = await startService({ origin, docsPage: '<html><head></head></html>' })
  for (const path of ['/apps', '/apps/999', '/docs']) {
    const { headers } = await service.get(path)
    expect(headers['strict-transport-security'], path).toBe(policy)
    expect(headers, path).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
    })
    expect(headers).not.toHaveProperty('x-powered-by')
    if (path !== '/docs')
      expect(headers['content-security-policy'], path).toBe(
        "default-src 'none'; frame-ancestors 'none'",
      )
  }
})

test.for<{ trustProxy: Config['trustProxy']; warnings: number }>([
  { trustProxy: 0, warnings: 1 },
  { trustProxy: 1, warnings: 0 },
])('with TRUST_PROXY=$trustProxy, X-Forwarded-For causes $warnings warnings', async (row) => {
  const service = await startService({ limits: { trustProxy: row.trustProxy } })
  const countWarnings = () =>
    service.log.filter((line) => /"level":40.*TRUST_PROXY/.test(line)).length
  await service.get('/apps')
  expect(countWarnings()).toBe(0)
  for (const address of ['192.0.2.1', '192.0.2.2'])
    await service.get('/apps', { headers: { 'X-Forwarded-For': address } })
  expect(countWarnings()).toBe(row.warnings)
})
