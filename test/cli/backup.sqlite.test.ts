import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { openSqlite } from '../../src/db/sqlite/engine.ts'
import { copyWorldFile, temporaryFolder } from '../support/database.ts'
import {
  executable,
  expectRefusal,
  interrupt,
  run,
  runProcess,
  type Served,
  serve,
} from '../support/process.ts'

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

test('a backup of a served database has all apps acknowledged before it, and can be restored', async () => {
  const file = await copyLargeWorld(10)
  const backup = join(temporaryFolder(), 'apps.sqlite')
  const server = await serve(`sqlite:${file}`)
  const creating = createAll(server)
  await expect.poll(() => creating.acknowledged.size).toBeGreaterThanOrEqual(20)
  const [listed = 0] = creating.acknowledged.keys()
  await run(['moderation', 'approve', String(listed)], envFor(file))
  const answers = await publicAnswers(server)

  const keyed = await createWithKey(server)
  const before = new Map(creating.acknowledged)
  const { code, stdout, stderr } = await run(['backup', backup, '--json'], envFor(file))
  expect([code, stderr]).toEqual([0, ''])
  const result = JSON.parse(stdout)
  expect(result).toEqual({
    file: backup,
    bytes: statSync(backup).size,
    apps: expect.any(Number),
    seconds: expect.any(Number),
  })

  // Restoring loses only what was written after the backup.
  await run(['moderation', 'approve', String(inject('world').apps.pending)], envFor(file))
  await creating.finish()
  expect(await publicAnswers(server)).not.toEqual(answers)
  await stop(server)

  expect((await run(['restore', backup], envFor(file))).code).toBe(0)
  expect((await run(['migrate'], envFor(file))).stdout).not.toContain('Migrated')
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

test('several backups, of any name, have the permissions of the database and can be served', async () => {
  const file = copyWorldFile()
  chmodSync(file, 0o600)
  const folder = temporaryFolder()
  const odd = 'a second? 50% #2 é.sqlite'
  const names = ['first.sqlite', odd]
  for (const name of names) {
    const { code, stdout } = await run(['backup', join(folder, name)], envFor(file))
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Backed up 6 apps to .+\.sqlite: 0\.\d MB, verified, in \d+(\.\d+)? s\.\n$/,
    )
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  }
  expect(readdirSync(folder).sort()).toEqual(names.toSorted())
  const answers = await publicAnswers(await serve(`sqlite:${file}`))
  expect(await publicAnswers(await serve(`sqlite:${join(folder, odd)}`))).toEqual(answers)
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
  type Failure = {
    name: string
    /** Statements that damage the database. */
    damage?: string
    /** The path of the backup in the directory, if it is another than `backup.sqlite`. */
    path?: string
    line: RegExp
  }
  const failures: Failure[] = [
    {
      name: 'for a missing directory',
      path: 'none/backup.sqlite',
      line: /cannot write \S+\/none\/backup\.sqlite: no such file or directory$/m,
    },
    {
      name: 'for a name that ends in a slash',
      path: 'new/',
      line: /\/new\/ is not a file name: it ends with \/$/m,
    },
    {
      name: 'for a database whose search index lacks an app',
      damage: 'delete from app_search where rowid % (1 << 40) = 1',
      line: /the copy is damaged, and the database itself may be, too: the search index lacks 1 of the listed apps, and has 0/,
    },
    {
      name: 'for a database whose search index is broken',
      damage: `update app_search_data set block = zeroblob(length(block))
       where id = (select min(id) from app_search_data where id > 10)`,
      line: /is damaged, .*fts5: corruption/,
    },
    {
      name: 'for a database with a dangling reference',
      damage:
        'pragma foreign_keys = 0; delete from apps where id = 1; delete from app_search where rowid % (1 << 40) = 1',
      line: /is damaged, .*a row of [a-z]+ refers to a missing row of apps/,
    },
    {
      name: 'for a database with a damaged index',
      damage: `pragma writable_schema = 1;
       update sqlite_schema set sql = replace(sql, 'pending', 'rejected') where name = 'apps_queue'`,
      line: /is damaged, .*apps_queue/,
    },
  ]
  test.for(failures)('$name', async ({ damage, path = 'backup.sqlite', line }) => {
    const file = copyWorldFile()
    const folder = temporaryFolder()
    if (damage) await damageWith(file, damage)
    expectRefusal(await run(['backup', `${folder}/${path}`], envFor(file)), line)
    expect(readdirSync(folder)).toEqual([])
  })

  function touch(folder: string, name: string): string {
    copyFileSync(executable, join(folder, name))
    return join(folder, name)
  }

  async function damageWith(file: string, statements: string) {
    const engine = openSqlite(file)
    for (const statement of statements.split(';')) await engine.writer.raw(statement)
    await engine.writer.destroy()
  }

  test.for(['backup.sqlite', 'backup.sqlite-wal', 'backup.sqlite-journal'])(
    'if %s exists',
    async (name) => {
      const folder = temporaryFolder()
      const existing = touch(folder, name)
      const path = join(folder, 'backup.sqlite')
      expectRefusal(
        await run(['backup', path], envFor(copyWorldFile())),
        new RegExp(`^apps-service: ${existing} already exists; not overwritten$`, 'm'),
      )
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
  ])('by %s: it has no name, leaves %s else, and the next one works', async ([signal, leaves]) => {
    const file = await copyLargeWorld(20)
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
