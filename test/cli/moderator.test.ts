import { hash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseKeyId } from '../../src/accounts/keys.ts'
import { openDatabase } from '../../src/db/database.ts'
import { copyWorld, emptyCatalogueUrl } from '../support/database.ts'
import { checkPage } from '../support/page-checker.ts'
import {
  commandLine,
  expectRefusal,
  run,
  runProcess,
  serve,
  startListening,
} from '../support/process.ts'
import { readTwice } from '../support/raw-http.ts'

const time = expect.stringMatching(/^\d{4}-.*Z$/)
const hour = 60 * 60 * 1000

describe('moderator add', () => {
  test('prints only the key on standard output, once, and stores its hash', async () => {
    const DATABASE_URL = await copyWorld()
    const added = await runProcess(['moderator', 'add', ' Ada Lovelace '], { DATABASE_URL })
    const [, key = ''] = /^(apps_mod_[0-9a-z]{12}_[0-9A-Za-z]{49})\n$/.exec(added.stdout) ?? []
    expect(parseKeyId(key, 'moderator')).toBe(key.slice(9, 21))
    expect(added.stderr).toMatch(
      /^Sign-in key of Ada Lovelace, until \d{4}-\d\d-\d\d \d\d:\d\d UTC\. It is not shown again:\n$/,
    )
    const database = openDatabase(DATABASE_URL)
    const rows = await database.read(({ sql }) => sql('operators'))
    await database.close()
    expect(rows).toEqual([
      {
        id: key.slice(9, 21),
        name: 'Ada Lovelace',
        sha256: hash('sha256', key),
        created_at: time,
        expires_at: time,
        revoked_at: null,
        last_used_at: null,
      },
    ])
    const cli = commandLine(DATABASE_URL)
    expect((await cli.run('moderator', 'list')).stdout).not.toContain(key.slice(22))
    const [entry] = await cli.json('audit', '--limit', '1')
    expect(entry).toMatchObject({
      action: 'moderator add',
      operator_id: null,
      app_id: null,
      developer_id: null,
      category_id: null,
      before: null,
    })
    // Without the hash.
    expect(entry.after).toEqual({
      id: key.slice(9, 21),
      name: 'Ada Lovelace',
      expires_at: rows[0]?.expires_at,
    })
    expect((await cli.run('audit', '--limit', '1')).stdout).toContain('moderator Ada Lovelace')
  })

  test('lets a key expire after a year, or as told', async () => {
    const cli = commandLine(await copyWorld())
    const { id, key, ...added } = await cli.json('moderator', 'add', 'Ada')
    expect(added).toEqual({ name: 'Ada', expires_at: time })
    expect(parseKeyId(key, 'moderator')).toBe(id)
    const lifetime = Date.parse(added.expires_at) - Date.now()
    expect(lifetime).toBeGreaterThan(364 * 24 * hour)
    expect(lifetime).toBeLessThanOrEqual(365 * 24 * hour)
    const second = await cli.json('moderator', 'add', 'Ada', '--expires', '2999-01-31')
    expect(second.expires_at).toBe('2999-01-31T00:00:00.000Z')
    // Each key of a person has its own row.
    expect(second.id).not.toBe(id)
  })

  test.for<[what: string, name: string]>([
    ['no name', ' '],
    ['101 characters', 'x'.repeat(101)],
    ['a terminal sequence', 'Ada\x1b[2J'],
    ['a reversed name', '\u202EadA'],
    ['a line break', 'Ada\nBo'],
    ['what is not UTF-8', 'Ada\uFFFD'],
  ])('refuses %s', async ([, name]) => {
    const cli = commandLine(await copyWorld())
    expectRefusal(await cli.run('moderator', 'add', name), /the name of a moderator must be a name/)
    expect(await cli.json('moderator', 'list')).toEqual([])
  })

  test('refuses a time in the past as wrong usage', async () => {
    const { code, stderr } = await run(['moderator', 'add', 'Ada', '--expires', '2020-01-01'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('must be in the future')])
  })
})

describe('moderator list', () => {
  test('says so if there is none', async () => {
    const cli = commandLine(await emptyCatalogueUrl())
    expect(await cli.run('moderator', 'list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No moderators; ./apps-service moderator add NAME adds one.\n',
    })
  })

  test('has each key, by name and age, with its state', async () => {
    const address = await copyWorld()
    const cli = commandLine(address)
    const bo = await cli.json('moderator', 'add', 'Bo')
    const expired = await cli.json('moderator', 'add', 'Ada')
    const ada = await cli.json('moderator', 'add', 'Ada')
    await cli.run('moderator', 'revoke', bo.id)
    const database = openDatabase(address)
    await database.write(({ sql }) =>
      sql('operators').where({ id: expired.id }).update({ expires_at: '2020-01-01T00:00:00.000Z' }),
    )
    await database.close()
    const row = { created_at: time, expires_at: time, revoked_at: null, last_used_at: null }
    expect(await cli.json('moderator', 'list')).toEqual([
      { ...row, id: expired.id, name: 'Ada', state: 'expired' },
      { ...row, id: ada.id, name: 'Ada', state: 'active' },
      { ...row, id: bo.id, name: 'Bo', state: 'revoked', revoked_at: time },
    ])
    expect((await cli.run('moderator', 'list')).stdout).toMatch(
      new RegExp(
        `^ID +NAME +AGE +EXPIRES \\(UTC\\) +USED +STATE\n${expired.id} +Ada .* never +expired\n${ada.id} +Ada .* active\n${bo.id} +Bo .* revoked\n$`,
      ),
    )
  })
})

describe('moderator revoke', () => {
  test('takes the id or the whole key, and is recorded', async () => {
    const cli = commandLine(await copyWorld())
    const ada = await cli.json('moderator', 'add', 'Ada')
    const bo = await cli.json('moderator', 'add', 'Bo')
    expect(await cli.run('moderator', 'revoke', ada.id)).toEqual({
      code: 0,
      stdout: `The sign-in key ${ada.id} of Ada is revoked.\n`,
      stderr: '',
    })
    expect(await cli.json('moderator', 'revoke', bo.key)).toEqual({
      id: bo.id,
      name: 'Bo',
      revoked_at: time,
    })
    const [entry] = await cli.json('audit', '--limit', '1')
    expect(entry).toMatchObject({
      action: 'moderator revoke',
      before: { id: bo.id, name: 'Bo', revoked_at: null },
      after: { id: bo.id, name: 'Bo', revoked_at: time },
    })
    expectRefusal(
      await cli.run('moderator', 'revoke', bo.id),
      /the key was already revoked at \d{4}-/,
    )
  })

  test('leaves the other keys of the person', async () => {
    const cli = commandLine(await copyWorld())
    const lost = await cli.json('moderator', 'add', 'Ada')
    const other = await cli.json('moderator', 'add', 'Ada')
    await cli.run('moderator', 'revoke', lost.id)
    expect(await cli.json('moderator', 'list')).toMatchObject([
      { id: lost.id, state: 'revoked' },
      { id: other.id, state: 'active', revoked_at: null },
    ])
  })

  test.for<[what: string, argument: string, problem: RegExp]>([
    ['an unknown key', 'a'.repeat(12), /there is no moderator with the key aaaaaaaaaaaa/],
    ['a name', 'Ada', /the argument must be a sign-in key or its id/],
    // It may be a secret, so it is not repeated.
    [
      'a mistyped key',
      `apps_mod_${'a'.repeat(12)}_${'x'.repeat(49)}`,
      /^(?!.*xxx).*must be a sign/,
    ],
  ])('refuses %s', async ([, argument, problem]) => {
    const cli = commandLine(await copyWorld())
    const { code, stdout, stderr } = await cli.run('moderator', 'revoke', argument)
    expect(stderr).toMatch(problem)
    expect([code > 0, stdout]).toEqual([true, ''])
  })
})

test('entries of the audit log that earlier versions wrote stay readable', async () => {
  const address = await copyWorld()
  const database = openDatabase(address)
  const entry = { operator: 'root', at: new Date().toISOString() }
  const [added, revoked] = [
    { id: 'a', name: 'Ada' },
    { id: 'a', name: 'Ada', revoked_at: 'now' },
  ]
  await database.write(({ sql }) =>
    sql('audit').insert([
      { ...entry, action: 'operator add', after: JSON.stringify(added) },
      { ...entry, action: 'operator revoke', after: JSON.stringify(revoked) },
    ]),
  )
  await database.close()
  const cli = commandLine(address)
  expect((await cli.run('audit', '--limit', '2')).stdout).toMatch(
    /root +operator add +moderator Ada\n.*\n.*root +operator revoke +moderator Ada\n/,
  )
  expect(await cli.json('audit', '--limit', '2')).toMatchObject([
    { action: 'operator add', after: added },
    { action: 'operator revoke', after: revoked },
  ])
})

describe('moderation serve', () => {
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
    for (const path of ['/healthz', '/readyz'])
      expect((await send(page.port, path)).status).toBe(200)

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
    for (const { port } of [page, other])
      expect((await send(port, '/mod/', cookie)).status).toBe(303)
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
      /MODERATION_PORT must be a whole number.*; MODERATION_URL must be an http or https URL/,
    )
  })
})
