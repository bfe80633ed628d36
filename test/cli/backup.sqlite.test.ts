import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { openDatabase, openEngine } from '../../src/db/database.ts'
import { copyWorldFile, emptyCatalogueUrl, filePath, temporaryFolder } from '../support/database.ts'
import { executable, interrupt, run, runProcess, type Served, serve } from '../support/process.ts'

const envFor = (database: string) => ({ DATABASE_URL: `sqlite:${database}` })

/** A world that takes a while to copy: Bob's app has `megabytes` of reviews. */
async function copyLargeWorld(megabytes: number): Promise<string> {
  const file = copyWorldFile()
  const database = openDatabase(`sqlite:${file}`)
  await database.write(({ sql }) =>
    sql.raw(
      `insert into reviews (app_id, rating, created_at, reviewer_name, comment)
       with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
       select ?, 5, '2026-03-01T00:00:00.000Z', 'Reviewer ' || n, hex(randomblob(1000)) from numbers`,
      [megabytes * 500, inject('world').apps.bobs],
    ),
  )
  await database.close()
  return file
}

/** All public responses. */
async function publicAnswers(server: Served): Promise<string[]> {
  const { apps } = inject('world')
  const paths = [
    '/apps',
    '/apps?sort=popular',
    '/apps?sort=rating&category=tools',
    '/apps?search=tide',
    '/apps?search=new',
    '/apps?search=ada&limit=1',
    ...Object.values(apps).map((id) => `/apps/${id}`),
  ]
  // One after the other, because concurrent searches may get a 503.
  const replies = []
  for (const path of paths) replies.push(await server.request('GET', path))
  return replies.map(({ path, status, text }) => `${path} ${status} ${text}`)
}

async function stop(server: Served) {
  server.process.kill('SIGTERM')
  await server.exited
}

/** Creates apps until it is stopped; `acknowledged` has every app with a 201. */
function createAll(server: Served) {
  const acknowledged = new Map<number, string>()
  let stopped = false
  const publish = async (worker: number) => {
    for (let number = 1; !stopped; number++) {
      const name = `New ${worker} ${number}`
      const json = { name, description: `${name} is whole.`, category_id: 1 }
      const { status, body } = await server.request('POST', '/apps', {
        key: inject('world').keys.ada,
        json,
      })
      expect(status).toBe(201)
      acknowledged.set(body.data.app_id, name)
    }
  }
  const workers = Promise.all([publish(1), publish(2)])
  return {
    acknowledged,
    finish: () => {
      stopped = true
      return workers
    },
  }
}

const createWithKey = (server: Served) =>
  server.request('POST', '/apps', {
    key: inject('world').keys.ada,
    headers: { 'Idempotency-Key': 'k' },
    json: { name: 'Once', description: 'Created once.', category_id: 1 },
  })

test('a backup of one app says so', async () => {
  const database = filePath(await emptyCatalogueUrl())
  const line = { name: 'Star', description: 'A star.', developer_name: 'Ada' }
  const category = { slug: 'tools', name: 'Tools' }
  await run(['import', '-'], envFor(database), JSON.stringify({ ...line, category }))
  const backup = join(temporaryFolder(), 'apps.sqlite')
  expect((await run(['backup', backup], envFor(database))).stdout).toMatch(/^Backed up 1 app to /)
})

test('a backup of a served database has all apps acknowledged before it, and can be restored', async () => {
  const file = await copyLargeWorld(40)
  const backups = temporaryFolder()
  const backup = join(backups, 'apps.sqlite')
  const server = await serve(`sqlite:${file}`)
  const creating = createAll(server)
  await expect.poll(() => creating.acknowledged.size).toBeGreaterThanOrEqual(20)
  const [listed = 0] = creating.acknowledged.keys()
  await run(['moderation', 'approve', String(listed)], envFor(file))
  const answers = await publicAnswers(server)

  const keyed = await createWithKey(server)
  const before = new Map(creating.acknowledged)
  const { code, stdout, stderr } = await run(['backup', backup, '--json'], envFor(file))
  const during = creating.acknowledged.size - before.size
  expect([code, stderr]).toEqual([0, ''])
  expect(during).toBeGreaterThan(0)
  const result = JSON.parse(stdout)
  expect(result).toEqual({
    file: backup,
    bytes: statSync(backup).size,
    apps: expect.any(Number),
    seconds: expect.any(Number),
  })
  expect(Object.keys(result)).toEqual(['file', 'bytes', 'apps', 'seconds'])

  // Restoring loses only what was written after the backup.
  await run(['moderation', 'approve', String(inject('world').apps.pending)], envFor(file))
  await creating.finish()
  expect(await publicAnswers(server)).not.toEqual(answers)
  await stop(server)

  expect((await run(['restore', backup], envFor(file))).code).toBe(0)
  expect((await run(['migrate'], envFor(file))).stdout).toBe(
    `The database ${file} is up to date.\n`,
  )
  const restored = await serve(`sqlite:${file}`)
  expect(await publicAnswers(restored)).toEqual(answers)
  for (const [id, name] of before) {
    const { body } = await restored.request('GET', `/apps/${id}`, { key: inject('world').keys.ada })
    expect(body.data?.app.name).toBe(name)
  }
  expect((await createWithKey(restored)).text).toBe(keyed.text)
  const json = { name: 'After', description: 'Writable.', category_id: 1 }
  const created = await restored.request('POST', '/apps', { key: inject('world').keys.bob, json })
  expect(created.body.data.app_id).toBe(result.apps + 1)

  const database = openDatabase(`sqlite:${file}`)
  await database.write(async ({ sql }) => {
    expect(await sql.raw('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
    expect(await sql.raw('PRAGMA foreign_key_check')).toEqual([])
    expect(await sql.raw('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }])
    const counts = await sql('apps').count({ apps: '*' }).first()
    const audited = await sql('audit').where({ action: 'app create' }).count({ apps: '*' }).first()
    expect(audited).toEqual(counts)
  })
  await database.close()
})

test('several backups can each be served', async () => {
  const file = copyWorldFile()
  const folder = temporaryFolder()
  const odd = 'a second? 50% #2 é.sqlite'
  const names = ['first.sqlite', odd]
  for (const name of names) {
    const { code, stdout } = await run(['backup', join(folder, name)], envFor(file))
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Backed up 6 apps to .+\.sqlite: 0\.\d MB, verified, in \d+(\.\d+)? s\.\n$/,
    )
  }
  expect(readdirSync(folder).sort()).toEqual(names.toSorted())
  const answers = await publicAnswers(await serve(`sqlite:${file}`))
  expect(await publicAnswers(await serve(`sqlite:${join(folder, odd)}`))).toEqual(answers)
})

test('a backup has the permissions of the database', async () => {
  const file = copyWorldFile()
  const backup = join(temporaryFolder(), 'backup.sqlite')
  chmodSync(file, 0o600)
  await run(['backup', backup], envFor(file))
  expect(statSync(backup).mode & 0o777).toBe(0o600)
})

test('of two concurrent backups to one file, one succeeds', async () => {
  const file = await copyLargeWorld(10)
  const folder = temporaryFolder()
  const backup = join(folder, 'backup.sqlite')
  const runs = await Promise.all([1, 2].map(() => runProcess(['backup', backup], envFor(file))))
  expect(runs.map(({ code }) => code).sort()).toEqual([0, 1])
  expect(runs.map(({ stderr }) => stderr).join('')).toBe(
    `apps-service: ${backup} already exists; not overwritten\n`,
  )
  expect(readdirSync(folder)).toEqual(['backup.sqlite'])
  expect((await run(['backup', join(folder, 'of-it.sqlite')], envFor(backup))).code).toBe(0)
})

describe('one line, exit code 1 and no files', () => {
  type Case = [what: string, target: (folder: string) => string, line: RegExp, damage?: string]

  test.for<Case>([
    [
      'for a name that ends in a slash',
      (folder) => `${folder}/new/`,
      /\/new\/ is not a file name: it ends with \/$/,
    ],
    [
      'for a missing directory',
      (folder) => join(folder, 'none/backup.sqlite'),
      /cannot write \S+\/none\/backup\.sqlite: no such file or directory$/,
    ],
    [
      'for a directory that is a file',
      (folder) => join(touch(folder, 'file'), 'backup.sqlite'),
      /\/file\/\S+: not a directory$/,
    ],
    [
      'for an address',
      () => 'https://example.org/x',
      /https:\/\/example\.org\/x: it is an address/,
    ],
    ['for a ~ in quotes', () => '~/x', /cannot write ~\/x: no such file or directory; a shell/],
    ['for a directory without write permission', unwritable, /cannot write \S+: [a-z -]+$/],
    [
      'for a database whose search index lacks an app',
      (folder) => join(folder, 'backup.sqlite'),
      /the copy is damaged, and the database itself may be, too: the search index lacks 1 of the listed apps, and has 0/,
      'delete from app_search where rowid % (1 << 40) = 1',
    ],
    [
      'for a database whose search index is broken',
      (folder) => join(folder, 'backup.sqlite'),
      /is damaged, .*fts5: corruption/,
      `update app_search_data set block = zeroblob(length(block))
       where id = (select min(id) from app_search_data where id > 10)`,
    ],
    [
      'for a database with a dangling reference',
      (folder) => join(folder, 'backup.sqlite'),
      /is damaged, .*a row of [a-z]+ refers to a missing row of apps/,
      'pragma foreign_keys = 0; delete from apps where id = 1; delete from app_search where rowid % (1 << 40) = 1',
    ],
    [
      'for a database with a damaged index',
      (folder) => join(folder, 'backup.sqlite'),
      /is damaged, .*apps_queue/,
      `pragma writable_schema = 1;
       update sqlite_schema set sql = replace(sql, 'pending', 'rejected') where name = 'apps_queue'`,
    ],
  ])('%s', async ([, target, line, damage]) => {
    const file = copyWorldFile()
    const folder = temporaryFolder()
    if (damage) await damageWith(file, damage)
    const path = target(folder)
    const found = readdirSync(folder)
    const { code, stdout, stderr } = await run(['backup', path], envFor(file))
    expect(stderr.trimEnd()).toMatch(line)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect([code, stdout]).toEqual([1, ''])
    expect(existsSync(path)).toBe(false)
    expect(readdirSync(folder)).toEqual(found)
  })

  function touch(folder: string, name: string): string {
    copyFileSync(executable, join(folder, name))
    return join(folder, name)
  }

  function unwritable(folder: string): string {
    // Root can write to any directory on a disk.
    if (process.getuid?.() === 0) return '/sys/backup.sqlite'
    mkdirSync(join(folder, 'shut'), { mode: 0o555 })
    return join(folder, 'shut/backup.sqlite')
  }

  async function damageWith(file: string, statements: string) {
    const engine = openEngine(`sqlite:${file}`)
    for (const statement of statements.split(';')) await engine.writer.raw(statement)
    await engine.writer.destroy()
  }

  test.for(['backup.sqlite', 'backup.sqlite-wal', 'backup.sqlite-journal'])(
    'if %s exists',
    async (name) => {
      const folder = temporaryFolder()
      const existing = touch(folder, name)
      const { code, stdout, stderr } = await run(
        ['backup', join(folder, 'backup.sqlite')],
        envFor(copyWorldFile()),
      )
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toBe(`apps-service: ${existing} already exists; not overwritten\n`)
      expect(readFileSync(existing)).toEqual(readFileSync(executable))
      expect(readdirSync(folder)).toEqual([name])
    },
  )

  test('if the disk is full', async () => {
    const folder = temporaryFolder()
    // In blocks of 512 or 1024 bytes, depending on the shell; the world is larger.
    const limited = [
      '-c',
      'ulimit -f 100; exec "$@"',
      'sh',
      executable,
      'backup',
      join(folder, 'b.sqlite'),
    ]
    const { status, stderr } = spawnSync('sh', limited, {
      env: { PATH: process.env.PATH, ...envFor(copyWorldFile()) },
      encoding: 'utf8',
    })
    expect(stderr).toMatch(
      /^apps-service: the database cannot be copied: (disk I\/O error|database or disk is full)\n$/,
    )
    expect(status).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })

  const inNamespace = ['--user', '--map-root-user', '--mount', 'sh', '-c']
  const mayMount = spawnSync('unshare', [...inNamespace, 'mount -t tmpfs none /mnt']).status === 0

  test.skipIf(!mayMount)(
    'where there is no room for it, before a part of it is written',
    async () => {
      const folder = temporaryFolder()
      const script =
        'mount -t tmpfs -o size=64k none "$1" && "$2" backup "$1/b.sqlite"; code=$?; ls -A "$1"; exit $code'
      const { status, stdout, stderr } = spawnSync(
        'unshare',
        [...inNamespace, script, 'sh', folder, executable],
        {
          env: { PATH: process.env.PATH, ...envFor(copyWorldFile()) },
          encoding: 'utf8',
        },
      )
      expect(stderr).toMatch(
        /^apps-service: a copy needs 0\.\d+ MB, but \S+ has only [\d.]+ MB free\n$/,
      )
      expect([status, stdout]).toEqual([1, ''])
    },
  )
})

describe('interrupted', () => {
  test.for<[NodeJS.Signals, leaves: 'something' | 'nothing']>([
    ['SIGKILL', 'something'],
    ['SIGTERM', 'nothing'],
    ['SIGINT', 'nothing'],
    ['SIGHUP', 'nothing'],
  ])('by %s: it has no name, leaves %s else, and the next one works', async ([signal, leaves]) => {
    const file = await copyLargeWorld(60)
    const folder = temporaryFolder()
    const backup = join(folder, 'backup.sqlite')
    const stopped = await interrupt(
      'backup',
      backup,
      envFor(file),
      signal,
      () => partialSize(folder) > 0,
    )
    expect(stopped.exit).toEqual([null, signal])
    expect(existsSync(backup)).toBe(false)
    expect(readdirSync(folder)).toHaveLength(leaves === 'nothing' ? 0 : 1)
    expect(stopped.stderr).toBe(
      leaves === 'nothing' ? `apps-service: stopped by ${signal}; no backup was written\n` : '',
    )

    expect((await run(['backup', backup], envFor(file))).code).toBe(0)
    expect(existsSync(backup)).toBe(true)
  })

  /** Size of the unfinished copy. */
  function partialSize(folder: string): number {
    const [partial] = readdirSync(folder)
    return partial
      ? (statSync(join(folder, partial, 'backup.sqlite'), { throwIfNoEntry: false })?.size ?? 0)
      : 0
  }
})

test.for<[what: string, args: string[], stderr: RegExp]>([
  ['without a file', [], /missing required argument 'file'/],
  ['with two files', ['a', 'b'], /too many arguments/],
])('is misused %s', async ([, args, stderr]) => {
  const reply = await run(['backup', ...args])
  expect(reply.code).toBe(2)
  expect(reply.stderr).toMatch(stderr)
})

test('the help has an example, and says which command restores it', async () => {
  const { code, stdout } = await run(['backup', '--help'])
  expect(code).toBe(0)
  const parts = [
    /^Usage: \.\/apps-service backup /,
    /\.\/apps-service restore puts it in the place of the database\.\n/,
    /Examples:\n {2}\.\/apps-service backup /,
  ]
  expect(stdout).toMatch(new RegExp(parts.map(({ source }) => source).join('[\\s\\S]*')))
})
