import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { copyWorld } from '../support/database.ts'
import { checkPage } from '../support/page-checker.ts'
import {
  commandLine,
  expectRefusal,
  runProcess,
  serve,
  startListening,
} from '../support/process.ts'
import { readTwice } from '../support/raw-http.ts'

/** `moderation serve` as a process. */

const servePage = async (databaseUrl: string, env: Record<string, string> = {}) =>
  startListening('moderation serve', {
    DATABASE_URL: databaseUrl,
    MODERATION_PORT: '0',
    MODERATION_URL: 'http://moderation.test/mod',
    ...env,
  })

/** Sends a request without following redirects, and checks the response. */
async function send(port: number, path: string, cookie = '', fields?: Record<string, string>) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    redirect: 'manual',
    headers: { Cookie: cookie, Origin: 'http://moderation.test' },
    ...(fields && { method: 'POST', body: new URLSearchParams(fields) }),
  })
  const { status, headers } = response
  const checked = {
    method: fields ? 'POST' : 'GET',
    path: path.replace(/^\/mod/, ''),
    status,
    headers: Object.fromEntries(headers),
    text: await response.text(),
  }
  checkPage(checked, { origin: 'http://moderation.test', prefix: '/mod' })
  return checked
}

const signIn = async (port: number, key: string) =>
  (await send(port, '/mod/sign-in', '', { key })).headers['set-cookie']?.split(';')[0]

test('is a process of its own, which the public server knows nothing about', async () => {
  const address = await copyWorld()
  const cli = commandLine(address)
  const { id, key } = await cli.json('moderator', 'add', 'Ada')
  const page = await servePage(address, { OPERATOR: 'Claimed' })
  expect(page.log.join()).toContain('serving the moderation page http://moderation.test/mod/')
  const server = await serve(address)
  for (const path of ['/sign-in', '/mod/sign-in', '/status', '/style.css'])
    expect((await server.request('GET', path)).status).toBe(404)
  for (const path of ['/apps', '/docs', '/openapi.json', '/sign-in', '/'])
    expect((await send(page.port, path)).status).toBe(404)
  for (const path of ['/healthz', '/readyz']) expect((await send(page.port, path)).status).toBe(200)

  // Another process has the same sessions, and the command line ends them.
  const other = await servePage(address)
  const cookie = await signIn(page.port, key)
  expect(cookie).toMatch(/^moderation_session=/)
  expect((await send(other.port, '/mod/', cookie)).status).toBe(200)
  const app = /value="(2@\w+)"/.exec((await send(page.port, '/mod/', cookie)).text)?.[1] ?? ''
  expect(
    (await send(page.port, '/mod/decisions', cookie, { app, decision: 'approve' })).status,
  ).toBe(303)
  // The public server shows it at once.
  expect((await server.request('GET', '/apps/2')).status).toBe(200)
  await cli.run('moderator', 'revoke', id)
  for (const { port } of [page, other]) expect((await send(port, '/mod/', cookie)).status).toBe(303)
  const [, entry] = (await cli.json('audit', '--limit', '2')).toReversed()
  expect(entry).toMatchObject({
    action: 'app approve',
    operator: userInfo().username,
    operator_name: 'Ada',
    operator_id: id,
  })
  expect(page.log.join()).not.toContain(key.slice(22))
})

test('limits refused keys by the settings of the server, and listens on HOST alone', async () => {
  const page = await servePage(await copyWorld(), { REFUSED_KEY_LIMIT: '2', TRUST_PROXY: '1' })
  const attempt = async (client: string) => {
    const { status } = await fetch(`http://127.0.0.1:${page.port}/mod/sign-in`, {
      method: 'POST',
      headers: { Origin: 'http://moderation.test', 'X-Forwarded-For': client },
      body: new URLSearchParams({ key: 'wrong' }),
    })
    return status
  }
  for (const status of [401, 401, 429]) expect(await attempt('192.0.2.1')).toBe(status)
  expect(await attempt('192.0.2.2')).toBe(401)
  // Another address of this machine.
  await expect(fetch(`http://127.0.0.2:${page.port}/healthz`)).rejects.toThrow()
})

test('SIGTERM makes it not ready, finishes the requests in flight, and ends it', async () => {
  const address = await copyWorld()
  const { key } = await commandLine(address).json('moderator', 'add', 'Ada')
  const page = await servePage(address)
  const body = new URLSearchParams({ key }).toString()
  const sending = request({
    port: page.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/mod/sign-in',
    headers: {
      Origin: 'http://moderation.test',
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': body.length,
      Expect: '100-continue',
    },
    agent: false,
  })
  const responded = once(sending, 'response')
  sending.flushHeaders()
  await once(sending, 'continue')
  sending.write(body.slice(0, 10))
  const ready = await readTwice(page.port, '/readyz')
  page.process.kill('SIGTERM')
  await expect.poll(() => page.log.filter((line) => line.includes('SIGTERM'))).toHaveLength(1)
  expect(await ready.second()).toMatch(/^HTTP\/1\.1 503 [\s\S]*\nConnection: close\r\n/)
  sending.end(body.slice(10))
  const [response] = await responded
  expect(response.statusCode).toBe(303)
  response.resume()
  expect(await page.exited).toEqual([0, null])
})

test('says which variable to change if the port is taken, and which one is wrong', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const address = taken.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const DATABASE_URL = await copyWorld()
  const start = (env: Record<string, string>) =>
    runProcess(['moderation', 'serve'], { DATABASE_URL, ...env })
  const refused = await start({ MODERATION_PORT: port })
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^apps-service: MODERATION_PORT=\d+ is in use on \S+; set another one, such as MODERATION_PORT=\d+\n$/,
    ),
  ])
  expectRefusal(
    await start({ MODERATION_PORT: 'x', MODERATION_URL: 'ftp://x' }),
    /MODERATION_PORT must [^;]*; MODERATION_URL must /,
  )
})
