import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { temporaryFolder } from '../support/database.ts'
import { commandLine } from '../support/process.ts'
import { seed } from '../support/random.ts'
import { startService } from '../support/service.ts'

/** A read that begins after a write was acknowledged sees it, on each engine. */

/** FRESHNESS_STEPS makes longer sequences. */
const stepCount = Number(process.env.FRESHNESS_STEPS ?? 25)

test(`after each of ${stepCount} writes of all kinds, cached responses are those of the database (FUZZ_SEED=${seed})`, {
  timeout: 60_000 + 5000 * stepCount,
}, async () => {
  const cached = await startService()
  const { databaseUrl, request, decide, database } = cached
  const uncached = await startService({ databaseUrl, cacheSize: 0 })
  const { run, runWith } = commandLine(databaseUrl)
  const { keys, apps } = inject('world')
  const ids = Object.values(apps)
  const file = join(temporaryFolder(), 'import.jsonl')

  const owned = (id: number) => ({
    key: id === apps.bobs || id === apps.bobsPending ? keys.bob : keys.ada,
  })
  /** Whether the app's state allows the command does not matter. */
  const operate = async (...args: string[]) => {
    const { code, stderr } = await run(...args)
    if (code !== 0) expect([args.join(' '), code, stderr]).toEqual([args.join(' '), 1, refusal])
  }
  const refusal = expect.stringMatching(/^apps-service: .*\b(app \d+|category)\b.*\n$/)
  const writes: Record<string, (id: number, text: string) => Promise<unknown>> = {
    async create(_id, text) {
      const { body } = await request('POST', '/apps', {
        key: keys.ada,
        json: { ...newApp, name: `New ${text}` },
      })
      ids.push(body.data.app_id)
    },
    update: (id, text) =>
      request('PUT', `/apps/${id}`, { ...owned(id), json: { name: `Tide ${text}` } }),
    delete: (id) => request('DELETE', `/apps/${id}`, owned(id)),
    approve: (id) => decide('approve', id),
    reject: (id) => decide('reject', id),
    reopen: (id) => decide('reopen', id),
    review: (id) => cached.addReviews(id, 1),
    'moderation approve': (id) => operate('moderation', 'approve', String(id)),
    'moderation reject': (id) =>
      operate('moderation', 'reject', String(id), '--reason', 'Because.'),
    'app restore': (id) => operate('app', 'restore', String(id)),
    'app transfer': (id) => operate('app', 'transfer', String(id), '--to', 'Bob'),
    'category add': (_id, text) =>
      operate('category', 'add', '--slug', `more-${text}`, '--name', `More ${text}`),
    'category rename': (_id, text) =>
      operate('category', 'rename', 'tools', '--name', `Tools ${text}`),
    'developer rename': (_id, text) =>
      operate('developer', 'rename', 'Ada', '--to', `Ada ${text}`).then(restoreName(text)),
    'key issue': (_id, text) => operate('key', 'issue', '--developer', `Developer ${text}`),
    async import(_id, text) {
      const { stdout } = await run('export', '-')
      writeFileSync(file, stdout.replaceAll('is here.', `is here: ${text}.`))
      expect(await run('import', file)).toMatchObject({ code: 0 })
    },
    async 'import --dry-run'() {
      const { stdout } = await run('export', '-')
      expect(await runWith(stdout, 'import', '--dry-run', '-')).toMatchObject({ code: 0 })
    },
    optimize: () => database.optimize({ isLast: true }),
  }
  /** The next rename starts from the same name. */
  const restoreName = (text: string) => () =>
    operate('developer', 'rename', `Ada ${text}`, '--to', 'Ada')

  const step = fc.record({
    kind: fc.constantFrom(...Object.keys(writes)),
    app: fc.nat(),
    text: fc.stringMatching(/^[a-z]{5}$/),
  })
  // At the end each kind once.
  const random = fc.sample(step, { seed, numRuns: stepCount })
  const all = Object.keys(writes).map((kind, index) => ({ ...random[index % stepCount], kind }))
  for (const { kind, app = 0, text = '' } of [...random, ...all].slice(-stepCount)) {
    const id = ids[app % ids.length] ?? expect.fail()
    const pages = [
      '/apps',
      '/apps?search=tide',
      '/apps?category=tools',
      '/apps?slug=tide-clock',
      '/categories',
    ]
    const paths = [...pages, ...ids.map((one) => `/apps/${one}`)]
    for (const path of paths) await cached.get(path)
    await writes[kind]?.(id, text)
    for (const path of paths) {
      const [found, expected] = await Promise.all([cached.get(path), uncached.get(path)])
      expect([found.status, found.text], `${path} after ${kind} of app ${id}`).toEqual([
        expected.status,
        expected.text,
      ])
    }
  }
})

const writeCount = Number(process.env.FRESHNESS_WRITES ?? 100)

test(`no read is older than ${writeCount} writes of another process, acknowledged before it`, {
  timeout: 90_000 + 600 * writeCount,
}, async () => {
  const { databaseUrl, port, world } = await startService()
  const { approved } = world.apps
  const writer = spawn(process.execPath, [
    `${import.meta.dirname}/repeat-write.ts`,
    databaseUrl,
    String(approved),
    String(writeCount),
  ])
  let acknowledged = 0
  createInterface({ input: writer.stdout }).on('line', (line) => {
    acknowledged = Number(line)
  })
  const ended = once(writer, 'exit')
  const stale: string[] = []
  const reader = async () => {
    while (acknowledged < writeCount && writer.exitCode === null) {
      const before = acknowledged
      const response = await fetch(`http://127.0.0.1:${port}/apps/${approved}`)
      const downloads = Number(/"total_downloads":(\d+)/.exec(await response.text())?.[1])
      if (!(downloads >= before)) stale.push(`${downloads} after ${before}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, reader))
  expect(await ended).toEqual([0, null])
  expect(stale).toEqual([])
})
