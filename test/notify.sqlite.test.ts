import childProcess, { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { sendNotification } from '../deploy/send-notification.ts'
import { issueKey } from '../src/accounts/account-store.ts'
import { recordEntries } from '../src/audit/audit-store.ts'
import { findLastEntry } from '../src/audit/read-entries.ts'
import type { Decision } from '../src/catalogue/policy.ts'
import { claimRun } from '../src/cli/claim-run.ts'
import type { DatabaseWithTools } from '../src/db/tools.ts'
import { decideApp, restoreApp, transferApp } from '../src/moderation/decisions.ts'
import { newApp } from './contract/valid-requests.ts'
import { temporaryFolder } from './support/database.ts'
import { freePort } from './support/free-port.ts'
import { startService } from './support/service.ts'

/**
 * The notifications of deploy/ on a real database, with a webhook and a sendmail of the test. They
 * are sent in this process, unless the test is about a process: its memory, its crash.
 */

const script = join(import.meta.dirname, '../deploy/notify.ts')
const stateModule = join(import.meta.dirname, '../src/cli/claim-run.ts')
const { apps, keys } = inject('world')
const ada = { operator: 'apps-service', operatorName: 'Ada', operatorId: '3k9x0v2m1qzt' }

type Received = { headers: IncomingHttpHeaders; body: string }

/** A webhook whose status the test sets, and what it got; `texts` in the default format. */
async function startWebhook() {
  const webhook = { url: '', status: 200, texts: [] as string[], received: [] as Received[] }
  const server = createServer(async (request, response) => {
    const { headers } = request
    const body = await text(request)
    webhook.received.push({ headers, body })
    if (body.startsWith('{"text":')) webhook.texts.push(JSON.parse(body).text)
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
    PATH: process.env.PATH,
    DATABASE_URL: service.databaseUrl,
    STATE_DIRECTORY: folder,
    NOTIFY_WEBHOOK: webhook.url,
    ...settings,
  }
  const notify = (
    changed: Record<string, string | undefined> = {},
    database: DatabaseWithTools = service.database,
  ) => {
    const problems: string[] = []
    const report = (problem: string) => problems.push(problem)
    return sendNotification({ ...env, ...changed }, database, report).then(
      () => (problems.length === 0 ? succeeded : failed(...problems)),
      (error: Error) => failed(error.message),
    )
  }
  const notifyByProcess = (changed: Record<string, string | undefined> = {}) =>
    new Promise<{ code: number; stderr: string }>((resolve) => {
      const options = { env: { ...env, ...changed }, cwd: folder }
      execFile(process.execPath, [script], options, (error, stdout, stderr) => {
        expect(stdout).toBe('')
        resolve({ code: Number(error?.code ?? 0), stderr })
      })
    })
  const place = () => JSON.parse(readFileSync(join(folder, 'notified'), 'utf8'))
  /** The state behind the newest entry. */
  const end = async () => {
    const newest = await service.database.read((runner) => findLastEntry(runner))
    return { place: newest?.id, time: newest?.at, owners: [] }
  }
  const decide = (decision: Decision, id: number, reason?: string, actor = ada) =>
    service.database.write((runner) => decideApp(runner, decision, id, actor, { reason }))
  /** Changes an app of Ada's. */
  const change = (id: number, version: string) =>
    service.request('PUT', `/apps/${id}`, { key: keys.ada, json: { version } })
  writeFileSync(join(folder, 'notified'), JSON.stringify(await end()))
  const sending = { folder, webhook, notify, notifyByProcess, place, end }
  return { ...service, ...sending, decide, change }
}

const succeeded = { code: 0, stderr: '' }
const failed = (...problems: string[]) => ({
  code: 1,
  stderr: problems.map((problem) => `apps-service-notify: ${problem}\n`).join(''),
})

describe('a message', () => {
  test('has the decisions since the last one, who made them, and what waits, once', async () => {
    const { webhook, notifyByProcess, decide, request } = await startNotifying({
      MODERATION_URL: 'https://moderation.example.org/mod/',
    })
    await decide('approve', apps.pending)
    await decide('reject', apps.approved, 'Too short.', { ...ada, operatorName: 'Bo' })
    const { body } = await request('POST', '/apps', { key: keys.ada, json: newApp })
    const created = body.data.app_id
    for (let run = 0; run < 2; run++) expect(await notifyByProcess()).toEqual(succeeded)
    expect(webhook.texts).toEqual([
      [
        'Decisions: 2',
        'App 2 `Cloud Atlas` approved by `Ada (signed in)` https://moderation.example.org/mod/apps/2',
        'App 1 `Tide Clock` rejected by `Bo (signed in)`: `Too short.` https://moderation.example.org/mod/apps/1',
        'New or changed by their owners: 1',
        `App ${created} \`${newApp.name}\` https://moderation.example.org/mod/apps/${created}`,
        'Waiting: 2 pending, 0 changed. https://moderation.example.org/mod',
      ].join('\n'),
    ])
  })

  test('is also sent if apps have begun to wait, but not if they were decided or deleted', async () => {
    const { webhook, notify, request, change, decide } = await startNotifying()
    await change(apps.approved, '9')
    expect(await notify()).toEqual(succeeded)
    const waiting = 'Waiting: 2 pending, 1 changed.'
    expect(webhook.texts).toEqual([
      `Decisions: 0\nNew or changed by their owners: 1\nApp 1 \`Tide Clock\`\n${waiting}`,
    ])
    await change(apps.approved, '10')
    await request('DELETE', `/apps/${apps.approved}`, { key: keys.ada })
    expect(await notify()).toEqual(succeeded)
    await change(apps.pending, '9')
    await decide('approve', apps.pending)
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(2)
    expect(webhook.texts[1]).toContain('Decisions: 1\n')
    expect(webhook.texts[1]).toContain('New or changed by their owners: 0\n')
  })

  test('names an app once, with the last decision about it', async () => {
    const { webhook, notify, change, decide } = await startNotifying()
    await decide('approve', apps.pending)
    await decide('reject', apps.approved, 'Spam.')
    await decide('approve', apps.bobsPending)
    await decide('reopen', apps.bobsPending)
    await decide('reject', apps.pending, 'No.')
    await change(apps.pending, '10')
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([
      [
        'Decisions: 5',
        'App 1 `Tide Clock` rejected by `Ada (signed in)`: `Spam.`',
        'App 6 `Night Train` reopened by `Ada (signed in)`',
        'App 2 `Cloud Atlas` rejected by `Ada (signed in)`, changed since: `No.`',
        'New or changed by their owners: 1',
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
    expect(place()).not.toEqual(before)
    expect(place()).toEqual(await end())
  })

  test.for([
    { format: 'slack', named: 10 },
    { format: 'discord', named: 2 },
  ])(
    'in the format $format names $named apps, and shortens names and reasons',
    async ({ format, named }) => {
      const { webhook, notify, decide, request, place } = await startNotifying({
        NOTIFY_FORMAT: format,
      })
      const before = place().place
      // As deploy/with-settings.ts sets it for the unit.
      vi.stubEnv('APPS_SERVICE_COMMAND', 'sudo apps-service')
      onTestFinished(() => void vi.unstubAllEnvs())
      const created: number[] = []
      for (let index = 0; index < 15; index++) {
        const json = { ...newApp, name: '🐚'.repeat(100), package_name: `org.example.app${index}` }
        const { body } = await request('POST', '/apps', { key: keys.ada, json })
        created.push(body.data.app_id)
      }
      const actor = { ...ada, operatorName: '🧑'.repeat(100) }
      for (const id of created.slice(0, 8))
        await decide('reject', id, `🐚${'x'.repeat(999)}`, actor)
      expect(await notify()).toEqual(succeeded)
      const { text, content } = JSON.parse(webhook.received[0]?.body ?? '')
      const message: string = text ?? content
      expect(message).toMatch(/^Decisions: 8\nApp /)
      expect(message).toContain('\nNew or changed by their owners: 7\n')
      expect(message).toContain(
        `\n… and ${15 - named} more: sudo apps-service audit --after ${before}\n`,
      )
      expect(message).toContain(`: \`🐚${'x'.repeat(198)}…\`\n`)
      expect(message).toContain(` by \`${'🧑'.repeat(99)}…\`: `)
      expect(message.match(/^App \d+/gm)).toEqual(created.slice(0, named).map((id) => `App ${id}`))
    },
  )

  test('is in its format, in which names and reasons do no harm', async () => {
    const { webhook, notify, decide } = await startNotifying({
      NOTIFY_FORMAT: 'ntfy',
      MODERATION_URL: 'https://moderation.example.org',
    })
    const actor = { ...ada, operatorName: 'a.evil\n\u001B[31mb' }
    await decide('reject', apps.pending, 'a\nTitle: b`', actor)
    expect(await notify()).toEqual(succeeded)
    const [{ headers, body } = { headers: {}, body: '' }] = webhook.received
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      title: 'Decisions: 1; waiting: 1',
      click: 'https://moderation.example.org',
    })
    expect(body.split('\n')[1]).toBe(
      "App 2 `Cloud Atlas` rejected by `a․evil \uFFFD[31mb (signed in)`: `a Title: b'` https://moderation.example.org/apps/2",
    )
  })
})

test('the first run begins at the end, and tells nothing', async () => {
  const { webhook, notify, place, end, folder } = await startNotifying()
  rmSync(join(folder, 'notified'))
  expect(await notify()).toEqual(succeeded)
  expect(webhook.texts).toEqual([])
  expect(place()).toEqual(await end())
})

describe('nothing is lost', () => {
  test.for([
    { what: 'responds with an error', status: 503, message: 'the webhook responded with 503' },
    { what: 'redirects', status: 302, message: 'the webhook responded with 302' },
    {
      what: 'cannot be reached',
      status: undefined,
      message: 'the webhook cannot be reached: ECONNREFUSED',
    },
  ])('if a webhook $what: the next run tells it', async ({ status, message }) => {
    const { webhook, notify, decide, place } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    webhook.status = status ?? 200
    const settings =
      status === undefined ? { NOTIFY_WEBHOOK: `http://127.0.0.1:${await freePort()}/secret` } : {}
    expect(await notify(settings)).toEqual(failed(message))
    expect(place()).toEqual(before)
    webhook.texts = []
    webhook.status = 200
    await decide('reject', apps.approved, 'Spam.')
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 2\nApp 2 .*\nApp 1 /)])
  })

  test('if a proxy refuses to reach a webhook: the message says what it answered', async () => {
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
    const settings = {
      NOTIFY_WEBHOOK: 'https://chat.example.org:4433/hooks/secret',
      HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      NODE_USE_ENV_PROXY: '1',
    }
    expect(await notifyByProcess(settings)).toEqual(
      failed('the webhook cannot be reached: the proxy answered 407'),
    )
    expect([targets, place()]).toEqual([['chat.example.org:4433'], before])
  })

  test('if a delivery hangs: it ends after thirty seconds, and the next run tells it', async () => {
    const { notify, decide, place } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    const timeouts: unknown[] = []
    const ofWebhook = vi.spyOn(AbortSignal, 'timeout').mockImplementation((timeout) => {
      timeouts.push(timeout)
      return AbortSignal.abort(new DOMException('', 'TimeoutError'))
    })
    const ofMail = vi
      .spyOn(childProcess, 'spawnSync')
      .mockImplementation((_file, _args, options) => {
        timeouts.push(options?.timeout)
        expect(options?.killSignal).toBe('SIGKILL')
        const error = Object.assign(new Error(), { code: 'ETIMEDOUT' })
        return { error, status: null, pid: 0, output: [], stdout: '', stderr: '', signal: null }
      })
    syncBuiltinESMExports()
    onTestFinished(() => {
      ofWebhook.mockRestore()
      ofMail.mockRestore()
      syncBuiltinESMExports()
    })
    expect(await notify()).toEqual(failed('the webhook cannot be reached: TimeoutError'))
    expect(await notify({ NOTIFY_WEBHOOK: '', NOTIFY_MAIL: 'ada@example.org' })).toEqual(
      failed('sendmail did not end within 30 seconds'),
    )
    expect(timeouts).toEqual([30_000, 30_000])
    expect(place()).toEqual(before)
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
    expect(JSON.parse(readFileSync(join(folder, 'notified.new'), 'utf8'))).not.toEqual(before)
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
    const read: DatabaseWithTools['read'] = async (work) => {
      const result = await database.read(work)
      if (++reads === 1) await decide('reject', apps.approved, 'Spam.')
      return result
    }
    expect(await notify({}, { ...database, read })).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 2\nApp 2 .*\nApp 1 /)])
    expect(place()).toEqual(await end())
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(1)
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
    expect(place()).toEqual(await end())
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

  test('if a version before 3.1.1 stored the place: it goes on there', async () => {
    const { webhook, notify, decide, place, folder, end } = await startNotifying()
    writeFileSync(join(folder, 'notified'), `${place().place}\n`)
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual(succeeded)
    await decide('approve', apps.pending)
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toEqual([expect.stringMatching(/^Decisions: 1\n/)])
    expect(place()).toEqual(await end())
  })

  test.for([
    { what: 'the log ends before its place', decisions: 1 },
    { what: 'another entry is at its place', decisions: 4 },
  ])('if an older backup was restored and $what', async ({ decisions }) => {
    const { webhook, notify, decide, place, folder, end } = await startNotifying()
    const ofBackup = place()
    // Of an entry that the backup does not have. An app's times grow, also in one millisecond.
    const lost = { place: ofBackup.place + 3, time: ofBackup.time, owners: [] }
    writeFileSync(join(folder, 'notified'), JSON.stringify(lost))
    await decide('approve', apps.pending)
    if (decisions > 1) {
      await decide('reject', apps.approved, 'Spam.')
      await decide('approve', apps.bobsPending)
      await decide('reject', apps.bobs, 'Spam.')
    }
    expect(await notify()).toEqual(
      failed(
        `entry ${lost.place} of the audit log is not the one that ${folder}/notified knows, as ` +
          `after the restore of an older backup; continued after entry ${ofBackup.place}`,
      ),
    )
    expect(webhook.texts).toEqual([expect.stringMatching(`^Decisions: ${decisions}\n`)])
    expect(place()).toEqual(await end())
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(1)
  })

  test('if the place of a version before 3.1.1 is beyond the log: it goes on at the end', async () => {
    const { webhook, notify, decide, place, folder, end } = await startNotifying()
    writeFileSync(join(folder, 'notified'), '9999\n')
    expect(await notify()).toMatchObject({ code: 1 })
    expect(place()).toEqual(await end())
    await decide('approve', apps.pending)
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(1)
  })

  test('if a run begins while another one sends: it does nothing, and says so', async () => {
    const { webhook, notify, notifyByProcess, decide, folder, place } = await startNotifying()
    const before = place()
    await decide('approve', apps.pending)
    const other = claimRun(join(folder, 'notified.lock'))
    for (let run = 0; run < 2; run++)
      expect(await notifyByProcess()).toEqual({
        code: 0,
        stderr:
          'apps-service-notify: another run is not finished yet; this one leaves the news to it\n',
      })
    expect([webhook.texts, place()]).toEqual([[], before])
    other?.close()
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(1)
  })

  test('if a run is killed: the next one is not kept away', async () => {
    const { webhook, notify, decide, folder } = await startNotifying()
    await decide('approve', apps.pending)
    const claim = `import { claimRun } from ${JSON.stringify(stateModule)}
      claimRun('notified.lock')
      process.kill(process.pid, 'SIGKILL')`
    const options = { cwd: folder }
    const killed = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', claim],
      options,
    ).catch((error) => error)
    expect(killed).toMatchObject({ signal: 'SIGKILL' })
    expect(existsSync(join(folder, 'notified.lock'))).toBe(true)
    expect(await notify()).toEqual(succeeded)
    expect(webhook.texts).toHaveLength(1)
  })
})

test('mail goes to the addresses through sendmail, whose failure keeps the place', async () => {
  const { notify, decide, place, folder } = await startNotifying({
    NOTIFY_WEBHOOK: '',
    NOTIFY_MAIL: 'ada@example.org, bo@example.org',
  })
  onTestFinished(() => void vi.unstubAllEnvs())
  const before = place()
  await decide('reject', apps.pending, 'Spam.\nBcc: eve@example.org\n\n.\nFrom here', {
    ...ada,
    operatorName: 'Äda\r\nBcc: eve@example.org',
  })
  const { PATH } = process.env
  vi.stubEnv('PATH', folder)
  expect(await notify()).toEqual(failed('sendmail failed: ENOENT'))
  vi.stubEnv('PATH', `${folder}:${PATH}`)
  const sendmail = addSendmail(folder)
  sendmail.exitWith(75)
  expect(await notify()).toEqual(failed('sendmail exited with 75'))
  expect(place()).toEqual(before)
  sendmail.exitWith(0)
  expect(await notify()).toEqual(succeeded)
  expect(place()).not.toEqual(before)
  expect(readFileSync(join(folder, 'arguments'), 'utf8')).toBe('-t -i\n')
  const [headers = '', body = ''] = sendmail.mail().split('\n\n')
  expect(headers.split('\n')).toEqual([
    'To: ada@example.org, bo@example.org',
    'Subject: Apps Service: Decisions: 1; waiting: 1',
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

test('settings that are missing or wrong are reported together, without a secret', async () => {
  const { notify, folder, decide, webhook } = await startNotifying()
  await decide('approve', apps.pending)
  const none = 'set NOTIFY_WEBHOOK, NOTIFY_MAIL or NOTIFY_OWNERS=1'
  const both = 'set only one of NOTIFY_WEBHOOK and NOTIFY_MAIL'
  const address = 'NOTIFY_WEBHOOK must be an http or https address'
  const mail = 'NOTIFY_MAIL must be e-mail addresses, separated by a comma and a space'
  const format = 'NOTIFY_FORMAT must be one of text, slack, teams, discord, ntfy'
  const directory = 'set STATE_DIRECTORY to the directory of its state'
  const ofMail = (NOTIFY_MAIL: string) => ({ NOTIFY_WEBHOOK: '', NOTIFY_MAIL })
  const missing = join(folder, 'missing')
  const cases: { settings: Record<string, string>; message: string }[] = [
    { settings: { NOTIFY_WEBHOOK: '' }, message: none },
    { settings: { NOTIFY_MAIL: 'ada@example.org' }, message: both },
    { settings: { NOTIFY_WEBHOOK: 'ftp://secret' }, message: address },
    { settings: { NOTIFY_WEBHOOK: 'secret' }, message: address },
    { settings: ofMail('ada'), message: mail },
    { settings: ofMail('ada@example.org\nBcc: eve@example.org'), message: mail },
    { settings: ofMail('ada@example.org\nBcc:eve@example.org'), message: mail },
    { settings: ofMail('ada@example.org,  bo@example.org'), message: mail },
    { settings: { NOTIFY_FORMAT: 'Slack' }, message: format },
    { settings: { NOTIFY_FORMAT: 'constructor' }, message: format },
    { settings: { NOTIFY_FORMAT: 'https://chat.example.org/secret' }, message: format },
    {
      settings: { NOTIFY_WEBHOOK: 'x', NOTIFY_FORMAT: 'x', STATE_DIRECTORY: '' },
      message: [address, format, directory].join('; '),
    },
    {
      settings: { STATE_DIRECTORY: missing },
      message: `cannot use ${missing}/notified.lock in STATE_DIRECTORY: no such file or directory`,
    },
  ]
  for (const { settings, message } of cases) expect(await notify(settings)).toEqual(failed(message))
  expect((await notify({ MODERATION_URL: 'x\ny' })).stderr).toMatch(/: MODERATION_URL must be /)
  for (const content of ['', 'null', 'x\n', '-1\n', '1.5', '{"place":"1"}']) {
    writeFileSync(join(folder, 'notified'), content)
    expect(await notify()).toEqual(
      failed(
        `${folder}/notified does not have the id of an audit entry; remove it to begin at the end`,
      ),
    )
  }
  expect(webhook.texts).toEqual([])
})
