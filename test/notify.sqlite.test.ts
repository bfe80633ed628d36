import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { formats } from '../deploy/notification-formats.ts'
import { sendNotification } from '../deploy/send-notification.ts'
import { issueKey } from '../src/accounts/account-store.ts'
import { recordEntries, recordEntry } from '../src/audit/audit-store.ts'
import type { Decision } from '../src/catalogue/policy.ts'
import { baseUrlFormat } from '../src/config.ts'
import type { Database } from '../src/db/database.ts'
import { createLinks } from '../src/http/moderation/views/links.ts'
import { decideApp, restoreApp, transferApp } from '../src/moderation/decisions.ts'
import { newApp } from './contract/valid-requests.ts'
import { temporaryFolder } from './support/database.ts'
import { canMount, mountSmallDisk } from './support/disk.ts'
import { freePort } from './support/free-port.ts'
import { startService } from './support/service.ts'

/**
 * The notifications of deploy/ on a real database, with a webhook and a sendmail of the test. They
 * are sent in this process, unless the test is about a process: its memory, mail, crashes.
 */

const script = join(import.meta.dirname, '../deploy/notify.ts')
const { apps, keys } = inject('world')
const ada = { operator: 'apps-service', operatorName: 'Ada', operatorId: '3k9x0v2m1qzt' }

type Received = { headers: IncomingHttpHeaders; body: string }

/** A webhook whose status the test sets, and what it got; `texts` in the default format. */
async function startWebhook() {
  const webhook = {
    url: '',
    status: 200,
    isSilent: false,
    texts: [] as string[],
    received: [] as Received[],
  }
  const server = createServer(async (request, response) => {
    const { headers } = request
    const body = await text(request)
    webhook.received.push({ headers, body })
    if (body.startsWith('{"text":')) webhook.texts.push(JSON.parse(body).text)
    if (webhook.isSilent) return
    response.writeHead(webhook.status, { Location: '/elsewhere' }).end('ok')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  webhook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/secret`
  return webhook
}

/** A sendmail that stores its arguments and its input, and exits with the number in `status`. */
function addSendmail(folder: string) {
  const file = join(folder, 'sendmail')
  writeFileSync(
    file,
    `#!/bin/sh\necho "$@" >"${folder}/arguments"; cat >"${folder}/mail"; exit $(cat "${folder}/status")\n`,
  )
  chmodSync(file, 0o755)
  const exitWith = (status: number) => writeFileSync(join(folder, 'status'), String(status))
  exitWith(0)
  return { exitWith, mail: () => readFileSync(join(folder, 'mail'), 'utf8') }
}

/** A catalogue, and what tells of it. Everything up to now has been told. */
async function startNotifying(settings: Record<string, string> = {}) {
  const service = await startService()
  const folder = temporaryFolder()
  const webhook = await startWebhook()
  const env: Record<string, string | undefined> = {
    PATH: `${folder}:${process.env.PATH}`,
    DATABASE_URL: service.databaseUrl,
    STATE_DIRECTORY: folder,
    NOTIFY_WEBHOOK: webhook.url,
    ...settings,
  }
  const notify = (
    changed: Record<string, string | undefined> = {},
    database: Database = service.database,
  ) =>
    sendNotification({ ...env, ...changed }, database).then(
      () => succeeded,
      (error: Error) => failed(error.message),
    )
  const notifyByProcess = (changed: Record<string, string | undefined> = {}) =>
    new Promise<{ code: number; stderr: string }>((resolve) => {
      const options = { env: { ...env, ...changed }, cwd: folder }
      execFile(process.execPath, [script], options, (error, stdout, stderr) => {
        expect(stdout).toBe('')
        resolve({ code: Number(error?.code ?? 0), stderr })
      })
    })
  const place = () => readFileSync(join(folder, 'notified'), 'utf8')
  /** The place behind the newest entry. */
  const end = async () => {
    const newest = await service.database.read(({ sql }) => sql('audit').max({ id: 'id' }).first())
    return `${newest?.id}\n`
  }
  const decide = (decision: Decision, id: number, reason?: string, actor = ada) =>
    service.database.write((runner) => decideApp(runner, decision, id, actor, { reason }))
  /** Creates apps with the same name; returns their ids. */
  const create = async (count: number, name: string) => {
    const ids: number[] = []
    for (let index = 0; index < count; index++) {
      const json = { ...newApp, name, package_name: `org.example.app${index}` }
      const { body } = await service.request('POST', '/apps', { key: keys.ada, json })
      ids.push(body.data.app_id)
    }
    return ids
  }
  writeFileSync(join(folder, 'notified'), await end())
  const sending = { folder, webhook, notify, notifyByProcess, place, end }
  return { ...service, ...sending, decide, create }
}

const succeeded = { code: 0, stderr: '' }
const failed = (message: string) => ({ code: 1, stderr: `apps-service-notify: ${message}\n` })

describe('a message', () => {
  test('has the decisions since the last one, who made them, and what waits, once', async () => {
    const { webhook, notifyByProcess, decide, request } = await startNotifying({
      MODERATION_URL: 'https://moderation.example.org',
    })
    await decide('approve', apps.pending)
    await decide('reject', apps.approved, 'Too short.', { ...ada, operatorName: 'Bo' })
    const { body } = await request('POST', '/apps', { key: keys.ada, json: newApp })
    const created = body.data.app_id
    for (let run = 0; run < 2; run++) expect(await notifyByProcess()).toEqual(succeeded)
    expect(webhook.texts).toEqual([
      [
        'Decisions: 2',
        'App 2 `Cloud Atlas` approved by `Ada (signed in)` https://moderation.example.org/apps/2',
        'App 1 `Tide Clock` rejected by `Bo (signed in)`: `Too short.` https://moderation.example.org/apps/1',
        'New or changed by their owners: 1',
        `App ${created} \`${newApp.name}\` https://moderation.example.org/apps/${created}`,
        'Waiting: 2 pending, 0 changed. https://moderation.example.org',
      ].join('\n'),
    ])
  })

  test('is also sent if apps have begun to wait, but not if they were decided or deleted', async () => {
    const { webhook, notify, request, decide } = await startNotifying()
    await request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { version: '9' } })
    expect(await notify()).toEqual(succeeded)
    const waiting = 'Waiting: 2 pending, 1 changed.'
    expect(webhook.texts).toEqual([
      `Decisions: 0\nNew or changed by their owners: 1\nApp 1 \`Tide Clock\`\n${waiting}`,
    ])
    await request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { version: '10' } })
    await request('DELETE', `/apps/${apps.approved}`, { key: keys.ada })
    expect(await notify()).toEqual(succeeded)
    await request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json: { version: '9' } })
    await decide('approve', apps.pending)
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(2)
    expect(webhook.texts[1]).toContain('Decisions: 1\n')
    expect(webhook.texts[1]).toContain('New or changed by their owners: 0\n')
  })

  test('names an app once that was decided twice and changed since', async () => {
    const { webhook, notify, request, decide } = await startNotifying()
    await decide('approve', apps.pending)
    await decide('reject', apps.approved, 'Spam.')
    await decide('reject', apps.pending, 'No.')
    await request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json: { version: '10' } })
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([
      [
        'Decisions: 3',
        'App 1 `Tide Clock` rejected by `Ada (signed in)`: `Spam.`',
        'App 2 `Cloud Atlas` rejected by `Ada (signed in)`, changed since: `No.`',
        'New or changed by their owners: 1',
        'Waiting: 2 pending, 0 changed.',
      ].join('\n'),
    ])
  })

  test('has a decision that was taken back as the last one about its app', async () => {
    const { webhook, notify, decide } = await startNotifying()
    await decide('approve', apps.pending)
    await decide('reopen', apps.pending)
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([
      [
        'Decisions: 2',
        'App 2 `Cloud Atlas` reopened by `Ada (signed in)`',
        'New or changed by their owners: 0',
        'Waiting: 2 pending, 0 changed.',
      ].join('\n'),
    ])
  })

  test('is not sent for other changes, which are not looked at again', async () => {
    const { webhook, notify, database, place, end } = await startNotifying()
    const before = place()
    await database.write(async (runner) => {
      await issueKey(runner, { id: 1, name: 'Ada' }, ada)
      await restoreApp(runner, apps.deleted, ada)
      await transferApp(runner, apps.approved, 'Bob', ada)
    })
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([])
    expect(place()).not.toBe(before)
    expect(place()).toBe(await end())
  })

  test('is bounded: it names ten apps, and shortens names and reasons', async () => {
    const { webhook, notify, decide, place, create } = await startNotifying()
    const before = place().trim()
    const actor = { ...ada, operatorName: '🧑'.repeat(100) }
    // As deploy/with-settings.ts sets it for the unit.
    vi.stubEnv('APPS_SERVICE_COMMAND', 'sudo apps-service')
    onTestFinished(() => void vi.unstubAllEnvs())
    const created = await create(15, '🐚'.repeat(100))
    for (const id of created.slice(0, 8)) await decide('reject', id, `🐚${'x'.repeat(999)}`, actor)
    expect(await notify()).toEqual(succeeded)
    const [message = ''] = webhook.texts
    const lines = message.split('\n')
    expect(lines).toHaveLength(1 + 8 + 1 + 2 + 2)
    expect(lines[0]).toBe('Decisions: 8')
    expect(lines[9]).toBe('New or changed by their owners: 7')
    expect(lines[12]).toBe(`… and 5 more: sudo apps-service audit --after ${before}`)
    expect(message).toContain(`: \`🐚${'x'.repeat(198)}…\`\n`)
    expect(message).toContain(` by \`${'🧑'.repeat(99)}…\`: `)
    expect(message.match(/^App \d+/gm)).toEqual(created.slice(0, 10).map((id) => `App ${id}`))
  })
})

/** Names and reasons, as they are shown as code and as plain text. */
const hostileTexts: [text: string, asCode: string, asPlainText: string][] = [
  [
    '<!channel> <@U1> &lt;!here&gt; Q&A',
    '<!channel> <@U1> &lt;!here&gt; Q&A',
    '<!channel> <@U1> &lt;!here&gt; Q&A',
  ],
  ['@everyone @here <@&123>', '@everyone @here <@&123>', '@everyone @here <@&123>'],
  [
    '`a` ```b``` *c* _d_ ~e~ ||f||',
    `'a' ''${"'b'"}'' *c* _d_ ~e~ ||f||`,
    `'a' ''${"'b'"}'' *c* _d_ ~e~ ||f||`,
  ],
  [
    '[Sign in](https://evil.example) www.evil.example',
    '[Sign in](https://evil.example) www.evil.example',
    '[Sign in](https:∕∕evil․example) www․evil․example',
  ],
  ['a\u202Eb\u2066c', 'a\uFFFDb\uFFFDc', 'a\uFFFDb\uFFFDc'],
  [
    'a\r\nTitle: b\n\n\tc\u0007\u001B[31m',
    'a Title: b c\uFFFD\uFFFD[31m',
    'a Title: b c\uFFFD\uFFFD[31m',
  ],
]

describe('NOTIFY_FORMAT', () => {
  const moderation = 'https://moderation.example.org/mod'
  const textWith = (hostile: string) =>
    [
      'Decisions: 1',
      `App 2 \`${hostile}\` rejected by \`${hostile} (signed in)\`: \`${hostile}\` ${createLinks(moderation, '').app(2)}`,
      'New or changed by their owners: 0',
      `Waiting: 2 pending, 0 changed. ${moderation}`,
    ].join('\n')
  const slackText = (asCode: string) =>
    textWith(asCode.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'))
  const textRun = (text: string) => ({ type: 'TextRun', text })
  const cardOf = (text: string) => ({
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: text.split('\n').map((line) => {
      const [, words = '', url] = /^(.*?)(https:\/\/\S+)?$/.exec(line) ?? []
      const selectAction = { type: 'Action.OpenUrl', url }
      const inlines = url === undefined ? [] : [{ ...textRun(url), selectAction }]
      return { type: 'RichTextBlock', inlines: [textRun(words), ...inlines] }
    }),
  })
  const contentType = 'application/vnd.microsoft.card.adaptive'

  test.for<
    [format: string, headers: object, body: (asCode: string, asPlainText: string) => unknown]
  >([
    ['', {}, (asCode) => ({ text: slackText(asCode) })],
    ['slack', {}, (asCode) => ({ text: slackText(asCode) })],
    [
      'teams',
      {},
      (_, asPlainText) => ({
        type: 'message',
        attachments: [{ contentType, content: cardOf(textWith(asPlainText)) }],
      }),
    ],
    [
      'discord',
      {},
      (asCode) => ({ content: textWith(asCode), allowed_mentions: { parse: [] }, flags: 4 }),
    ],
    [
      'ntfy',
      { title: 'Decisions: 1; waiting: 2', click: moderation },
      (_, asPlainText) => textWith(asPlainText),
    ],
    ['text', {}, (_, asPlainText) => textWith(asPlainText)],
  ])('=%s: names, links and reasons, which do no harm, once', async ([format, headers, body]) => {
    const { webhook, notify, database } = await startNotifying({
      MODERATION_URL: `${moderation}/`,
      NOTIFY_FORMAT: format,
    })
    const app = { id: apps.pending }
    // Some are refused in new names and reasons, but older ones may have them.
    for (const [text, asCode, asPlainText] of hostileTexts) {
      await database.write(({ sql }) => sql('apps').where(app).update({ name: text }))
      await database.write((runner) =>
        recordEntry(
          runner,
          { ...ada, operatorName: text },
          {
            action: 'app reject',
            at: '2026-01-01T00:00:00.000Z',
            app_id: app.id,
            developer_id: 1,
            after: { rejection_reason: text },
          },
        ),
      )
      for (let time = 0; time < 2; time++) expect(await notify()).toEqual(succeeded)
      const [received] = webhook.received
      expect(webhook.received).toHaveLength(1)
      const expected = body(asCode, asPlainText)
      const isText = typeof expected === 'string'
      const type = isText ? 'text/plain; charset=utf-8' : 'application/json'
      expect(received?.headers).toMatchObject({ 'content-type': type, ...headers })
      const content = received?.body ?? ''
      expect(isText ? content : JSON.parse(content)).toEqual(expected)
      webhook.received = []
    }
  })

  test.for<[format: string, size: (text: string) => number, limit: number]>([
    ['text', (text) => [...text].length, 10_000],
    ['slack', (text) => JSON.parse(text).text.length, 16_383],
    ['teams', Buffer.byteLength, 28_000],
    ['discord', (text) => JSON.parse(text).content.length, 2000],
    ['ntfy', Buffer.byteLength, 4096],
  ])('=%s: a message fits, with as many apps as do', async ([format, size, limit]) => {
    for (const character of ['x', '&', '"', '🐚']) {
      const { webhook, notify, decide, create } = await startNotifying({
        NOTIFY_FORMAT: format,
        MODERATION_URL: `https://moderation.example.org/${'m'.repeat(60)}`,
      })
      const actor = { ...ada, operatorName: character.repeat(100) }
      for (const id of await create(12, `a${character.repeat(99)}`))
        await decide('reject', id, character.repeat(1000), actor)
      expect(await notify()).toEqual(succeeded)
      const [{ body } = { body: '' }] = webhook.received
      const named = body.match(/App \d+ /g)?.length ?? 0
      expect(body).toContain(`… and ${12 - named} more: ./apps-service audit --after `)
      expect(named).toBeGreaterThan(0)
      expect(named).toBeLessThanOrEqual(10)
      expect(size(body)).toBeLessThanOrEqual(limit)
      // One more would not fit.
      if (named < 10) expect((size(body) / named) * (named + 1)).toBeGreaterThan(limit)
    }
  })

  test.for<[format: string, character: string, most: number]>([
    ['slack', 'x', 16_383],
    ['discord', 'x', 2000],
    // Of this one, a character has three bytes.
    ['ntfy', '…', 1365],
  ])(
    '=%s: a message of as many "%s" as the receiver takes fits, of more not',
    ([format, character, most]) => {
      const fits = (length: number) =>
        formats[format]?.fits({ title: 'T', lines: [{ text: character.repeat(length) }] })
      expect([most, most + 1].map(fits)).toEqual([true, false])
    },
  )

  test('=discord: a message that fits without an app only names none', async () => {
    const { webhook, notify, decide } = await startNotifying({
      NOTIFY_FORMAT: 'discord',
      MODERATION_URL: `https://moderation.example.org/${'m'.repeat(900)}`,
    })
    await decide('reject', apps.pending, 'x'.repeat(200))
    expect(await notify()).toEqual(succeeded)
    const { content } = JSON.parse(webhook.received[0]?.body ?? '')
    expect(content).not.toContain('Cloud Atlas')
    expect(content).toContain('… and 1 more: ./apps-service audit --after ')
    expect(content.length).toBeLessThanOrEqual(2000)
  })

  test('without MODERATION_URL: names without links', async () => {
    for (const NOTIFY_FORMAT of ['slack', 'teams', 'discord', 'ntfy', 'text']) {
      const { webhook, notify, decide } = await startNotifying({ NOTIFY_FORMAT })
      await decide('approve', apps.pending)
      expect(await notify()).toEqual(succeeded)
      const [{ headers, body } = { headers: {}, body: '' }] = webhook.received
      expect(body).toContain('App 2 `Cloud Atlas` approved by `Ada (signed in)`')
      expect(body.replace('http://adaptivecards.io', '')).not.toMatch(/https?:|undefined|null/)
      expect(headers).not.toHaveProperty('click')
    }
  })
})

test('the first run begins at the end, and tells nothing', async () => {
  const { webhook, notify, place, end, folder } = await startNotifying()
  rmSync(join(folder, 'notified'))
  expect(await notify()).toEqual(succeeded)
  expect(webhook.texts).toEqual([])
  expect(place()).toBe(await end())
})

describe('nothing is lost', () => {
  test.for<[what: string, status: number, message: string]>([
    ['responds with an error', 503, 'the webhook responded with 503'],
    ['redirects', 302, 'the webhook responded with 302'],
    ['cannot be reached', 0, 'the webhook cannot be reached: ECONNREFUSED'],
  ])('if a webhook %s: the next run tells it', async ([, status, message]) => {
    const { webhook, notify, decide, place } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    webhook.status = status
    const settings =
      status === 0 ? { NOTIFY_WEBHOOK: `http://127.0.0.1:${await freePort()}/secret` } : {}
    expect(await notify(settings)).toEqual(failed(message))
    expect(place()).toBe(before)
    webhook.texts = []
    webhook.status = 200
    await decide('reject', apps.approved, 'Spam.')
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 2\nApp 2 .*\nApp 1 /)])
  })

  test.for(['https', 'http'])(
    'if a proxy refuses to reach an %s webhook: the message says what it answered',
    async (scheme) => {
      const { notifyByProcess, decide, place } = await startNotifying()
      const before = place()
      await decide('approve', apps.pending)
      const targets: unknown[] = []
      const proxy = createServer().listen(0, '127.0.0.1')
      proxy.on('connect', ({ url }, socket) => {
        targets.push(url)
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n')
      })
      onTestFinished(() => void proxy.close())
      await once(proxy, 'listening')
      const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const settings = {
        NOTIFY_WEBHOOK: `${scheme}://chat.example.org:4433/hooks/secret`,
        [`${scheme.toUpperCase()}_PROXY`]: address,
        NODE_USE_ENV_PROXY: '1',
      }
      expect(await notifyByProcess(settings)).toEqual(
        failed('the webhook cannot be reached: the proxy answered 407'),
      )
      expect([targets, place()]).toEqual([['chat.example.org:4433'], before])
    },
  )

  test('if a delivery hangs: it ends after thirty seconds, and the next run tells it', async () => {
    const { webhook, notifyByProcess, decide, place, folder } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    // A hundred times as fast.
    const preload = join(folder, 'preload.mjs')
    writeFileSync(
      preload,
      `import childProcess from 'node:child_process'
      import { syncBuiltinESMExports } from 'node:module'
      const { timeout } = AbortSignal
      AbortSignal.timeout = (time) => timeout.call(AbortSignal, time / 100)
      const { spawnSync } = childProcess
      childProcess.spawnSync = (file, args, options) =>
        spawnSync(file, args, { ...options, timeout: options.timeout && options.timeout / 100 })
      syncBuiltinESMExports()`,
    )
    const fast = { NODE_OPTIONS: `--import=${preload}` }
    webhook.isSilent = true
    expect(await notifyByProcess(fast)).toEqual(
      failed('the webhook cannot be reached: TimeoutError'),
    )
    writeFileSync(join(folder, 'sendmail'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
    const byMail = { NOTIFY_WEBHOOK: '', NOTIFY_MAIL: 'ada@example.org' }
    expect(await notifyByProcess({ ...fast, ...byMail })).toEqual(
      failed('sendmail cannot be run: ETIMEDOUT'),
    )
    expect(place()).toBe(before)
  })

  test('if the place cannot be written: nothing is sent, and the next run tells it once', async () => {
    const { webhook, notify, decide, place, folder } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    mkdirSync(join(folder, 'notified.new'))
    for (let run = 0; run < 2; run++) {
      expect(await notify()).toEqual(
        failed(
          `cannot use ${folder}/notified.new in STATE_DIRECTORY: illegal operation on a directory`,
        ),
      )
    }
    expect([place(), webhook.texts]).toEqual([before, []])
    rmSync(join(folder, 'notified.new'), { recursive: true })
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 1\n/)])
  })

  test.runIf(canMount)('if the disk is full: likewise', async () => {
    const { webhook, notify, decide } = await startNotifying()
    const disk = temporaryFolder()
    mountSmallDisk(disk, 1)
    const settings = { STATE_DIRECTORY: disk }
    expect(await notify(settings)).toEqual(succeeded)
    await decide('approve', apps.pending)
    writeFileSync(join(disk, 'fill'), '')
    try {
      for (;;) appendFileSync(join(disk, 'fill'), Buffer.alloc(4096))
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC')
    }
    const full = `cannot use ${disk}/notified.new in STATE_DIRECTORY: no space left on device`
    for (let run = 0; run < 2; run++) expect(await notify(settings)).toEqual(failed(full))
    expect(webhook.texts).toEqual([])
    rmSync(join(disk, 'fill'))
    for (let run = 0; run < 2; run++) expect(await notify(settings)).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 1\n/)])
  })

  test('if it crashes after the delivery: one message comes twice, and no more', async () => {
    const { webhook, notify, notifyByProcess, decide, place, folder } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    const preload = join(folder, 'preload.mjs')
    writeFileSync(
      preload,
      `import fs from 'node:fs'
      import { syncBuiltinESMExports } from 'node:module'
      fs.renameSync = () => process.kill(process.pid, 'SIGKILL')
      syncBuiltinESMExports()`,
    )
    await notifyByProcess({ NODE_OPTIONS: `--import=${preload}` })
    expect([place(), webhook.texts.length]).toEqual([before, 1])
    expect(readFileSync(join(folder, 'notified.new'), 'utf8')).not.toBe(before)
    // What it left is longer than the next one, and is not read.
    writeFileSync(join(folder, 'notified.new'), '999999999\n')
    for (let run = 0; run < 3; run++) expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(2)
    expect(webhook.texts[1]).toBe(webhook.texts[0])
  })

  test('if an app is decided while it runs: that is told once', async () => {
    const { webhook, notify, decide, place, end, database } = await startNotifying()
    await decide('approve', apps.pending)
    // Decides between the newest entry that it reads first and the entries that it reads then.
    let reads = 0
    const read: Database['read'] = async (work) => {
      const result = await database.read(work)
      if (++reads === 1) await decide('reject', apps.approved, 'Spam.')
      return result
    }
    expect(await notify({}, { ...database, read })).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 2\nApp 2 .*\nApp 1 /)])
    expect(place()).toBe(await end())
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(1)
  })

  test('if there are more entries than are read at once', async () => {
    const { webhook, notify, decide, database, place, end } = await startNotifying()
    const entry = {
      action: 'app counters',
      at: '2026-01-01T00:00:00.000Z',
      app_id: apps.approved,
      developer_id: 1,
      after: { total_downloads: 1 },
    } as const
    await decide('approve', apps.pending)
    await database.write((runner) =>
      recordEntries(
        runner,
        Array.from({ length: 1999 }, () => ({ ...entry, actor: ada })),
      ),
    )
    await decide('reject', apps.approved, 'Spam.')
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 2\nApp 2 .*\nApp 1 /)])
    expect(place()).toBe(await end())
  })

  test('if owners have changed long texts: memory does not grow with the number of entries', async () => {
    const { webhook, notifyByProcess, decide, database, place, end } = await startNotifying()
    const entryOf = (number: number) =>
      ({
        action: 'app update',
        at: '2026-01-01T00:00:00.000Z',
        actor: ada,
        app_id: apps.approved,
        developer_id: 1,
        before: { description: '日'.repeat(20_000 - number) },
        after: { description: '本'.repeat(20_000 - number) },
      }) as const
    const entries = Array.from({ length: 500 }, (_, number) => entryOf(number))
    await database.write((runner) => recordEntries(runner, entries))
    await decide('reject', apps.approved, 'Spam.')
    // The entries have 40 MB, and their JSON as much again.
    const settings = { NODE_OPTIONS: '--max-old-space-size=48' }
    expect(await notifyByProcess(settings)).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 1\nApp 1 /)])
    expect(place()).toBe(await end())
  })

  test('if the database cannot be read: the message says why', async () => {
    const { webhook, notifyByProcess, decide, place } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    const { code, stderr } = await notifyByProcess({ DATABASE_URL: 'sqlite:/dev/null/none.sqlite' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^apps-service-notify: the database [^\n]+\n$/)
    expect([place(), webhook.texts]).toEqual([before, []])
  })

  test('except after the restore of a backup, which it reports once', async () => {
    const { webhook, notify, decide, place, folder, end } = await startNotifying()
    writeFileSync(join(folder, 'notified'), '9999\n')
    expect(await notify()).toEqual(
      failed('the audit log ends before entry 9999; the next run continues at its end'),
    )
    expect(place()).toBe(await end())
    await decide('approve', apps.pending)
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(1)
  })
})

describe('mail', () => {
  test('goes to the addresses through sendmail, whose failure keeps the place', async () => {
    const { notifyByProcess, request, decide, place, folder } = await startNotifying()
    const before = place()
    const sendmail = addSendmail(folder)
    await request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { version: '9' } })
    const settings = { NOTIFY_WEBHOOK: undefined, NOTIFY_MAIL: 'ada@example.org, bo@example.org' }
    await decide('reject', apps.pending, 'Spam.\nBcc: eve@example.org\n\n.\nFrom here', {
      ...ada,
      operatorName: 'Äda\r\nBcc: eve@example.org',
    })
    sendmail.exitWith(75)
    expect(await notifyByProcess(settings)).toEqual(failed('sendmail exited with 75'))
    expect(place()).toBe(before)
    sendmail.exitWith(0)
    expect(await notifyByProcess(settings)).toEqual(succeeded)
    expect(place()).not.toBe(before)
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).toBe('-t -i\n')
    const [headers = '', body = ''] = sendmail.mail().split('\n\n')
    expect(headers.split('\n')).toEqual([
      'To: ada@example.org, bo@example.org',
      'Subject: Apps Service: Decisions: 1; waiting: 2',
      'Auto-Submitted: auto-generated',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: base64',
    ])
    expect(body.split('\n').filter((line) => line.length > 76)).toEqual([])
    expect(Buffer.from(body, 'base64').toString().split('\n')[1]).toBe(
      'App 2 `Cloud Atlas` rejected by `Äda Bcc: eve@example․org (signed in)`: ' +
        '`Spam. Bcc: eve@example․org . From here`',
    )
  })

  test('needs a sendmail that can be run', async () => {
    const { notifyByProcess, decide, folder } = await startNotifying()
    await decide('approve', apps.pending)
    // On the PATH before any other.
    writeFileSync(join(folder, 'sendmail'), '#!/none', { mode: 0o755 })
    const settings = { NOTIFY_WEBHOOK: '', NOTIFY_MAIL: 'ada@example.org' }
    expect(await notifyByProcess(settings)).toEqual(failed('sendmail cannot be run: ENOENT'))
  })
})

test('settings that are missing or wrong are reported, without a secret', async () => {
  const { notify, folder, decide, webhook } = await startNotifying()
  await decide('approve', apps.pending)
  const cases: [settings: Record<string, string | undefined>, message: string][] = [
    [{ NOTIFY_WEBHOOK: '' }, 'set NOTIFY_WEBHOOK or NOTIFY_MAIL'],
    [{ NOTIFY_MAIL: 'ada@example.org' }, 'set NOTIFY_WEBHOOK or NOTIFY_MAIL'],
    [{ NOTIFY_WEBHOOK: 'ftp://secret' }, 'NOTIFY_WEBHOOK must be an http or https address'],
    [{ NOTIFY_WEBHOOK: 'secret' }, 'NOTIFY_WEBHOOK must be an http or https address'],
    ...[
      'ada',
      'ada@example.org\nBcc: eve@example.org',
      'ada@example.org\nBcc:eve@example.org',
      'ada@example.org,  bo@example.org',
    ].map((NOTIFY_MAIL): [Record<string, string>, string] => [
      { NOTIFY_WEBHOOK: '', NOTIFY_MAIL },
      'NOTIFY_MAIL must be e-mail addresses, separated by a comma and a space',
    ]),
    [{ STATE_DIRECTORY: '' }, 'set STATE_DIRECTORY to the directory of its place'],
    ...['Slack', 'slack ', 'constructor', 'https://chat.example.org/secret'].map(
      (NOTIFY_FORMAT): [Record<string, string>, string] => [
        { NOTIFY_FORMAT },
        'NOTIFY_FORMAT must be one of text, slack, teams, discord, ntfy',
      ],
    ),
    [
      { NOTIFY_WEBHOOK: 'x', NOTIFY_FORMAT: 'x', MODERATION_URL: 'x\ny', STATE_DIRECTORY: '' },
      'NOTIFY_WEBHOOK must be an http or https address; ' +
        'NOTIFY_FORMAT must be one of text, slack, teams, discord, ntfy; ' +
        `MODERATION_URL must be ${baseUrlFormat}; set STATE_DIRECTORY to the directory of its place`,
    ],
  ]
  const missing = join(folder, 'missing')
  cases.push([
    { STATE_DIRECTORY: missing },
    `cannot use ${missing}/notified.new in STATE_DIRECTORY: no such file or directory`,
  ])
  for (const [settings, message] of cases) expect(await notify(settings)).toEqual(failed(message))
  for (const content of ['', '12', 'x\n', '-1\n']) {
    writeFileSync(join(folder, 'notified'), content)
    expect(await notify()).toEqual(
      failed(
        `${folder}/notified does not have the id of an audit entry; remove it to begin at the end`,
      ),
    )
  }
  expect(webhook.texts).toEqual([])
})
