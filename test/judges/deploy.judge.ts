import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { check } from '../support/check.ts'
import { copyWorld, filePath, temporaryFolder } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { share } from '../support/lifetime.ts'
import { run as runCommand, serve } from '../support/process.ts'
import { isInstalled, runUntilFinished } from './tools.ts'

/**
 * The files of deploy/, as the tools that read them understand them. A test is skipped if its tool
 * is not installed.
 */

const root = join(import.meta.dirname, '../..')
const deploy = join(root, 'deploy')

function run(file: string, args: string[], env: Record<string, string> = {}) {
  const { status, stderr } = spawnSync(file, args, {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
  return { status, stderr }
}

const units = readdirSync(deploy).filter((name) => /\.(service|timer)$/.test(name))

/**
 * Beside the other units, since a timer starts one, and with the paths of this clone, since systemd
 * looks for the executable.
 */
function verifyUnit(unit: string, [find, replacement]: [string, string] = ['', '']) {
  const folder = temporaryFolder()
  for (const name of units) {
    const text = readFileSync(join(deploy, name), 'utf8').replaceAll('/opt/apps-service', root)
    const isChanged = name === unit && find !== ''
    if (isChanged) expect(text).toContain(find)
    writeFileSync(join(folder, name), isChanged ? text.replace(find, replacement) : text)
  }
  return run('systemd-analyze', ['verify', join(folder, unit)])
}

describe.skipIf(!isInstalled('systemd-analyze'))('systemd units: apt-get install systemd', () => {
  test.for(units)('%s', (unit) => {
    expect(verifyUnit(unit)).toEqual({ status: 0, stderr: '' })
  })

  test.for(units.filter((name) => name.endsWith('.service')))('%s is restricted', (unit) => {
    // Ten times systemd's rating of what it may do. An important restriction less raises it.
    const args = ['security', '--offline=yes', '--threshold=13', join(deploy, unit)]
    expect(run('systemd-analyze', args)).toMatchObject({ status: 0 })
  })

  // It only warns of unknown settings.
  test.for<[unit: string, change: [string, string], stderr: RegExp]>([
    ['apps-service.service', ['LimitNOFILE', 'LimitFiles'], /Unknown key 'LimitFiles'/],
    ['apps-service.service', ['.bin/node', 'bin/node'], /is not executable/],
    ['apps-service-moderation.service', ['.bin/node', 'bin/node'], /is not executable/],
    ['apps-service-notify.service', ['.bin/node', 'bin/node'], /is not executable/],
    ['apps-service-backup.service', ['ReadWritePaths', 'WritePaths'], /Unknown key 'WritePaths'/],
    ['apps-service-export.service', ['CacheDirectory=', 'Cache='], /Unknown key 'Cache'/],
    ['apps-service-mirror.service', ['.bin/node', 'bin/node'], /is not executable/],
    ['apps-service-mirror.timer', ['hourly', 'hours'], /Failed to parse calendar/],
    ['apps-service-notify.timer', ['*:0/5', '*:five'], /Failed to parse calendar/],
    ['apps-service-notify.timer', ['OnCalendar', 'On'], /Unknown key 'On'/],
  ])('%s with a mistake: %s', ([unit, change, stderr]) => {
    expect(verifyUnit(unit, change).stderr).toMatch(stderr)
  })
})

/** The arguments and the environment with which caddy reads a configuration. */
function configureCaddy(command: 'run' | 'validate', text: string, domain: string) {
  const folder = temporaryFolder()
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, text)
  return {
    args: [command, '--adapter', 'caddyfile', '--config', file],
    env: { DOMAIN: domain, HOME: folder },
  }
}

describe.skipIf(!isInstalled('caddy'))('Caddyfile: apt-get install caddy', () => {
  const caddyfile = readFileSync(join(deploy, 'Caddyfile'), 'utf8')

  test.for(['Caddyfile', 'one-server.Caddyfile'])('%s is valid', (name) => {
    const text = readFileSync(join(deploy, name), 'utf8')
    expect(validate(text)).toBe(0)
    expect(validate(text.replace('lb_try_duration', 'try_duration'))).toBe(1)
  })

  function validate(text: string) {
    const { args, env } = configureCaddy('validate', text, 'apps.example.org')
    return run('caddy', args, env).status
  }

  /** As compose.yaml sets it for each server. */
  const trustProxy = /^ +TRUST_PROXY: (.+)$/m.exec(
    readFileSync(join(deploy, 'compose.yaml'), 'utf8'),
  )

  /** Two servers, each with a database, behind the proxy. Returns its address. */
  async function start(env: Record<string, string> = {}) {
    const files = [await copyWorld(), await copyWorld()]
    const servers = await Promise.all(
      files.map((file) => serve(file, { TRUST_PROXY: trustProxy?.[1] ?? '', ...env })),
    )
    const address = `http://127.0.0.1:${await freePort()}`
    const text = servers.reduce(
      (before, { port }, index) => before.replace(`server-${index + 1}:3000`, `127.0.0.1:${port}`),
      caddyfile,
    )
    const { args, env: settings } = configureCaddy('run', `{\n\tadmin off\n}\n${text}`, address)
    runUntilFinished('caddy', args, { env: { PATH: process.env.PATH, ...settings } })
    const status = (path: string) =>
      fetch(address + path).then(
        (response) => response.status,
        () => 0,
      )
    await expect.poll(() => status('/apps'), { timeout: 20_000 }).toBe(200)
    return { address, files, servers, status }
  }

  test('a server that is not ready gets no requests', async () => {
    const { files, servers, status } = await start()
    const [file = ''] = files.map(filePath)
    renameSync(file, `${file}.moved`)
    const wave = async () => {
      const searches = Array.from({ length: 20 }, (_, n) => status(`/apps?search=tide${n}`))
      return [...new Set(await Promise.all(searches))]
    }
    expect((await servers[0]?.request('GET', '/readyz'))?.status).toBe(503)
    await expect.poll(wave, { timeout: 20_000 }).toEqual([200])
  })

  test('while a server restarts, its requests are answered by the other, each time', async () => {
    const { files, servers, status } = await start()
    const wave = () => Promise.all(Array.from({ length: 30 }, () => status('/apps')))
    for (const [index, { process: child, exited, port }] of servers.entries()) {
      child.kill('SIGKILL')
      await exited
      expect([...new Set(await wave())]).toEqual([200])
      const restarted = await serve(files[index] ?? '', { PORT: String(port) })
      // The proxy's health check has seen it, so that the other can restart.
      const isSeen = () => restarted.log.some((line) => line.includes('"url":"/readyz"'))
      await expect.poll(isSeen).toBe(true)
    }
  })

  test('refused keys count for the address of the client, whatever its X-Forwarded-For says', async () => {
    const { address } = await start({ REFUSED_KEY_LIMIT: '3' })
    const statuses = new Set<number>()
    // Each of the two servers counts by itself.
    for (let n = 1; n <= 8; n++) {
      const { status } = await fetch(`${address}/developer/apps`, {
        headers: { Authorization: 'Bearer apps_wrong', 'X-Forwarded-For': `198.51.100.${n}` },
      })
      statuses.add(status)
    }
    expect([...statuses]).toEqual([401, 429])
    const other = spawnSync(
      'curl',
      [
        ...['--silent', '--output', '/dev/null', '--write-out', '%{http_code}'],
        ...['--interface', '127.0.0.2', '--header', 'Authorization: Bearer apps_wrong'],
        `${address}/developer/apps`,
      ],
      { encoding: 'utf8' },
    )
    expect(other.stdout).toBe('401')
  })
})

describe.skipIf(!isInstalled('caddy'))('one-server.Caddyfile: apt-get install caddy', () => {
  test('reads wait through a restart of five seconds, and writes get a declared 503', async () => {
    // Caddy tries four times a second.
    const attemptsOfRestart = 20
    let attempts = 0
    const away = createServer((socket) => {
      attempts += 1
      socket.destroy()
    })
    await once(away.listen(0, '127.0.0.1'), 'listening')
    const { port } = away.address() as AddressInfo
    const address = `http://127.0.0.1:${await freePort()}`
    const text = readFileSync(join(deploy, 'one-server.Caddyfile'), 'utf8')
      .replace('apps.example.org {', `${address} {`)
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
    const { args, env } = configureCaddy('run', `{\n\tadmin off\n}\n${text}`, address)
    runUntilFinished('caddy', args, { env: { PATH: process.env.PATH, ...env } })
    const write = async (method: string, path: string) => {
      const body = method === 'DELETE' ? null : '{}'
      const response = await fetch(address + path, { method, body })
      const { server: _, 'alt-svc': __, ...headers } = Object.fromEntries(response.headers)
      return { method, path, status: response.status, headers, text: await response.text() }
    }
    await expect
      .poll(() => write('POST', '/apps').catch(() => undefined), { timeout: 20_000 })
      .toBeDefined()

    attempts = 0
    const read = fetch(`${address}/apps`)
    await expect.poll(() => attempts, { timeout: 60_000 }).toBeGreaterThan(attemptsOfRestart)
    away.close()
    await once(away, 'close')
    // Nobody listens now. A write that waited would end after the read, which has waited for 5 s.
    for (const [method, path] of [
      ['POST', '/apps'],
      ['PUT', '/apps/1'],
      ['DELETE', '/apps/1'],
    ] as const) {
      const first = await Promise.race([write(method, path), read])
      if (first instanceof Response) throw new Error(`${method} waits as long as a read`)
      const body = { data: { code: 'unavailable' } }
      expect(check(first), method).toMatchObject({ status: 503, body })
    }
    await serve(await copyWorld(), { PORT: String(port), TRUST_PROXY: '1' })
    expect((await read).status).toBe(200)
  })
})

/** Each Caddyfile, its directory of the published export and the address of its server. */
const exportsServed = [
  { name: 'Caddyfile', root: '/srv/export', site: '{$DOMAIN}' },
  {
    name: 'one-server.Caddyfile',
    root: '/var/cache/apps-service-export',
    site: 'apps.example.org',
  },
]

describe.skipIf(!isInstalled('caddy')).for(exportsServed)(
  'the published export behind $name: apt-get install caddy',
  ({ name, root, site }) => {
    let address: string
    let folder: string

    share(async () => {
      folder = temporaryFolder()
      const published = await runCommand(['export', '--public', '--into', folder], {
        DATABASE_URL: await copyWorld(),
      })
      expect(published.code).toBe(0)
      address = `http://127.0.0.1:${await freePort()}`
      const text = readFileSync(join(deploy, name), 'utf8')
      for (const part of [root, `${site} {`]) expect(text).toContain(part)
      const { port } = await serve(await copyWorld(), { TRUST_PROXY: '1' })
      const own = text
        .replace(root, folder)
        .replace(`${site} {`, `${address} {`)
        .replaceAll(/(127\.0\.0\.1|server-\d):3000/g, `127.0.0.1:${port}`)
      const { args, env } = configureCaddy('run', `{\n\tadmin off\n}\n${own}`, address)
      runUntilFinished('caddy', args, { env: { PATH: process.env.PATH, ...env } })
      const isServed = () => fetch(`${address}/apps`).then(({ status }) => status === 200)
      await vi.waitUntil(() => isServed().catch(() => false), { timeout: 20_000 })
    })

    test.for(['', '/api', '/public/api'])(
      'is served below the path %j of BASE_URL',
      async (path) => {
        const url = `${address}${path}/export/index.json`
        const response = await fetch(url)
        expect(response.headers.get('Content-Type')).toBe('application/json')
        expect(response.headers.get('Cache-Control')).toBe('no-cache')
        const { all } = await response.json()
        const file = await (await fetch(new URL(all.file, url))).bytes()
        expect([file.length, createHash('sha256').update(file).digest('hex')]).toEqual([
          all.bytes,
          all.sha256,
        ])
      },
    )

    test.for(['ETag: If-None-Match', 'Last-Modified: If-Modified-Since'])(
      'can be revalidated by %s',
      async (names) => {
        const [validator = '', condition = ''] = names.split(': ')
        const { headers } = await fetch(`${address}/export/index.json`)
        const value = headers.get(validator) ?? expect.fail()
        const again = await fetch(`${address}/export/index.json`, {
          headers: { [condition]: value },
        })
        expect(again.status).toBe(304)
      },
    )

    test.for([
      ['has no listing', '/export/'],
      ['has no such file', '/export/all-2026.ndjson.gz'],
      ['hides the lock', '/export/.lock'],
      ['hides unfinished files', '/export/.new-all.gz'],
      ['hides other files', '/export/notes.txt'],
    ])('%s: a 404, and no 503', async ([, path]) => {
      for (const name of ['.new-all.gz', 'notes.txt']) writeFileSync(join(folder, name), 'secret')
      expect((await fetch(address + path)).status).toBe(404)
    })

    test('leaves the paths of an API below /export to the server', async () => {
      const response = await fetch(`${address}/export/apps`)
      expect(await response.json()).toMatchObject({ data: { code: 'not_found' } })
    })
  },
)

const checkCompose = (env: Record<string, string>) =>
  run('docker-compose', ['--file', join(deploy, 'compose.yaml'), 'config', '--quiet'], env)

test.skipIf(!isInstalled('docker-compose'))('compose.yaml: apt-get install docker-compose', () => {
  expect(checkCompose({ DOMAIN: 'apps.example.org', DATABASE_PASSWORD: 'secret' })).toMatchObject({
    status: 0,
  })
  expect(checkCompose({ DOMAIN: 'apps.example.org' })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('DATABASE_PASSWORD'),
  })
})
