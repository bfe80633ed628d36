import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs, {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { copyWorldFile, temporaryFolder } from '../support/database.ts'
import { canMount, mountSmallDisk } from '../support/disk.ts'
import {
  commandLine,
  executable,
  expectRefusal,
  run,
  runProgram,
  serve,
} from '../support/process.ts'

const envFor = (file: string) => ({ DATABASE_URL: `sqlite:${file}` })

const restore = (backup: string, file: string) => run(['restore', backup], envFor(file))

/** A database with one more category than its backup. */
async function withBackup() {
  const file = copyWorldFile()
  const backup = join(temporaryFolder(), 'backup.sqlite')
  expect(await run(['backup', backup], envFor(file))).toMatchObject({ code: 0 })
  await addCategory(file, 'later')
  return { file, backup, folder: dirname(file) }
}

async function addCategory(file: string, slug: string) {
  const added = await run(['category', 'add', '--slug', slug, '--name', slug], envFor(file))
  expect(added).toMatchObject({ code: 0 })
}

const hasLater = async (file: string, slug = 'later'): Promise<boolean> => {
  const categories = await commandLine(`sqlite:${file}`).json('category', 'list')
  return categories.some((category: { slug: string }) => category.slug === slug)
}

/** The names beside the database that restored ones have left. */
const replacedIn = (folder: string) =>
  readdirSync(folder).filter((name) => name.includes('.replaced-'))

async function change(file: string, statements: string) {
  const database = openDatabase(`sqlite:${file}`)
  for (const statement of statements.split(';'))
    await database.write(({ sql }) => sql.raw(statement))
  await database.close()
}

test('a backup takes the place of the database, which gets the name that is printed', async () => {
  const { file, backup, folder } = await withBackup()
  const before = readFileSync(backup)
  const { code, stdout, stderr } = await restore(backup, file)
  expect([code, stderr]).toEqual([0, ''])
  const [replaced = ''] = replacedIn(folder)
  const lines = stdout.split('\n')
  expect(lines).toEqual([
    expect.stringMatching(/^Restored 6 apps from \S+ to \S+: 0\.\d MB, verified, in [\d.]+ s\.$/),
    `The former database is ${join(folder, replaced)}.`,
    'Next, start the server: ./apps-service serve, or its service.',
    '',
  ])
  expect(await hasLater(file)).toBe(false)
  expect(await hasLater(join(folder, replaced))).toBe(true)
  expect(readFileSync(backup)).toEqual(before)
  expect(readdirSync(dirname(backup))).toEqual(['backup.sqlite'])

  const { request } = await serve(`sqlite:${file}`)
  expect((await request('GET', '/apps/1')).status).toBe(200)
  const json = { name: 'After', description: 'Writable.', category_id: 1 }
  const key = inject('world').keys.ada
  expect((await request('POST', '/apps', { key, json })).status).toBe(201)
})

test('the copy is flushed before it takes the place of the database, the directory afterwards', async () => {
  const { file, backup, folder } = await withBackup()
  const former = statSync(file).ino
  const handle = await open(backup)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  onTestFinished(() => sync.mockRestore())
  await handle.close()
  const flushed: unknown[] = []
  sync.mockImplementation(async function (this: FileHandle) {
    const { ino } = await this.stat()
    const what = ino === statSync(folder).ino ? 'directory' : 'copy'
    flushed.push({ what, isInPlace: statSync(file).ino !== former })
  })
  expect((await restore(backup, file)).code).toBe(0)
  expect(flushed).toEqual([
    { what: 'copy', isInPlace: false },
    { what: 'directory', isInPlace: true },
  ])
})

test('twice in a row it gives both databases their own names', async () => {
  const { file, backup, folder } = await withBackup()
  for (let time = 0; time < 2; time++) expect((await restore(backup, file)).code).toBe(0)
  const found = replacedIn(folder).toSorted()
  expect(await Promise.all(found.map((name) => hasLater(join(folder, name))))).toEqual([
    true,
    false,
  ])
  // Each can be restored.
  expect((await restore(join(folder, found[0] ?? ''), file)).code).toBe(0)
  expect(await hasLater(file)).toBe(true)
})

test.for<[where: string, file: (folder: string) => string]>([
  ['a directory without a database', (folder) => join(folder, 'apps.sqlite')],
  ['a directory that is missing', (folder) => join(folder, 'data/apps.sqlite')],
])('into %s', async ([, fileIn]) => {
  const { backup } = await withBackup()
  const file = fileIn(temporaryFolder())
  const restored = await run(['restore', backup, '--json'], envFor(file))
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(restored.stdout)).toMatchObject({ database: file, replaced: null, apps: 6 })
  expect(await hasLater(file)).toBe(false)
  expect(readdirSync(dirname(file))).toEqual(['apps.sqlite'])
})

test('a running server keeps its database, and continues', async () => {
  const { file, backup, folder } = await withBackup()
  const server = await serve(`sqlite:${file}`)
  const before = readdirSync(folder)
  for (let time = 0; time < 2; time++)
    expectRefusal(await restore(backup, file), /^apps-service: \S+ is in use; stop the server/)
  expect(readdirSync(folder)).toEqual(before)
  expect((await server.request('GET', '/apps/1')).status).toBe(200)
  server.process.kill('SIGTERM')
  await server.exited
  expect(await hasLater(file)).toBe(true)
  expect((await restore(backup, file)).code).toBe(0)
})

test('the writes in the log of a killed server are in the former database', async () => {
  const { file, backup, folder } = await withBackup()
  const server = await serve(`sqlite:${file}`)
  await addCategory(file, 'last')
  server.process.kill('SIGKILL')
  await server.exited
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
  expect((await restore(backup, file)).code).toBe(0)
  expect(await hasLater(file, 'last')).toBe(false)
  const former = replacedIn(folder).filter((name) => !/-(wal|shm)$/.test(name))
  expect(former).toHaveLength(1)
  expect(await hasLater(join(folder, former[0] ?? ''), 'last')).toBe(true)
})

test('a damaged database is replaced, with its log', async () => {
  const { file, backup, folder } = await withBackup()
  writeFileSync(file, 'no database'.repeat(1000))
  writeFileSync(`${file}-wal`, 'log')
  expect((await restore(backup, file)).code).toBe(0)
  const [replaced = ''] = replacedIn(folder).toSorted()
  expect(readFileSync(join(folder, replaced), 'utf8')).toMatch(/^no database/)
  expect(readFileSync(join(folder, `${replaced}-wal`), 'utf8')).toBe('log')
  expect(await hasLater(file)).toBe(false)
})

test('a backup of an older version needs migrate or that version, which is said', async () => {
  const { file, backup } = await withBackup()
  await change(
    backup,
    'delete from knex_migrations where name = (select max(name) from knex_migrations)',
  )
  expect((await restore(backup, file)).stdout).toContain(
    'older version. To go on with this one, run ./apps-service migrate; to go back, start the older one.',
  )
})

test('through a symbolic link, the file that it leads to is replaced', async () => {
  const { file, backup, folder } = await withBackup()
  const link = join(temporaryFolder(), 'link.sqlite')
  symlinkSync(file, link)
  expect((await restore(backup, link)).code).toBe(0)
  expect(replacedIn(folder)).toHaveLength(1)
  expect(readdirSync(dirname(link))).toEqual(['link.sqlite'])
  expect(await hasLater(file)).toBe(false)
})

test.for([0o600, 0o660, 0o606])('the database keeps its permissions, %o', async (mode) => {
  const { file, backup } = await withBackup()
  chmodSync(file, mode)
  await restore(backup, file)
  expect(statSync(file).mode & 0o777).toBe(mode)
})

test.for(['migrate', 'restore'])('%s gives others no rights to a new database', async (command) => {
  const { backup } = await withBackup()
  const file = join(temporaryFolder(), 'apps.sqlite')
  const args = command === 'restore' ? [command, backup] : [command]
  const begun = await runProgram(
    'sh',
    ['-c', 'umask 0; exec "$@"', 'sh', executable, ...args],
    envFor(file),
    '',
  )
  expect(begun).toMatchObject({ code: 0, stderr: '' })
  expect((statSync(file).mode & 0o777).toString(8)).toBe('660')
})

/** Only root can run a command as another account, which may be unable to enter the clone. */
const canChangeAccount = spawnSync('test', ['-x', executable], { uid: 10_001 }).status === 0

describe.runIf(canChangeAccount)('the account of the server', () => {
  const server = { uid: 10_001, gid: 10_002 }

  const runAs = (account: { uid: number; gid: number }, file: string, ...args: string[]) =>
    spawnSync(executable, args, {
      ...account,
      cwd: '/',
      env: { PATH: process.env.PATH, ...envFor(file) },
      encoding: 'utf8',
    })

  async function withServersFolder() {
    const { file: source, backup } = await withBackup()
    for (const folder of [dirname(source), dirname(backup)]) chmodSync(folder, 0o755)
    chmodSync(backup, 0o644)
    const folder = temporaryFolder()
    chownSync(folder, server.uid, server.gid)
    const file = join(folder, 'apps.sqlite')
    return { source, backup, folder, file }
  }

  /** Fails if the server's account cannot write to the database, or root has a file beside it. */
  function expectServersOwn(file: string) {
    const added = runAs(server, file, 'category', 'add', '--slug', 'own', '--name', 'Own')
    expect(added).toMatchObject({ status: 0, stderr: '' })
    for (const name of readdirSync(dirname(file))) {
      const { uid, gid } = statSync(join(dirname(file), name))
      expect([name, uid, gid]).toEqual([name, server.uid, server.gid])
    }
  }

  test('owns the database after root has restored it, and its server was killed', async () => {
    const { source, backup, folder, file } = await withServersFolder()
    copyFileSync(source, file)
    chownSync(file, server.uid, server.gid)
    const killed = await serve(`sqlite:${file}`)
    await addCategory(file, 'last')
    killed.process.kill('SIGKILL')
    await killed.exited
    expect(readdirSync(folder)).toContain('apps.sqlite-wal')
    expect(await restore(backup, file)).toMatchObject({ code: 0, stderr: '' })
    expectServersOwn(file)
    expect(await hasLater(file)).toBe(false)
  })

  test('owns a database that root restores into its directory', async () => {
    const { backup, file } = await withServersFolder()
    expect(await restore(backup, file)).toMatchObject({ code: 0, stderr: '' })
    expectServersOwn(file)
  })

  test.for<[who: string, owner: typeof server, account: typeof server, sudo: string]>([
    ['another account', server, { ...server, uid: 10_003 }, "sudo -u '#10001'"],
    ['itself, outside of the group', { ...server, gid: 10_004 }, server, 'sudo'],
  ])('keeps the database in a restore by %s', async ([, owner, account, sudo]) => {
    const { source, backup, folder, file } = await withServersFolder()
    chmodSync(folder, 0o777)
    copyFileSync(source, file)
    chownSync(file, owner.uid, owner.gid)
    chmodSync(file, 0o666)
    const before = readFileSync(file)
    const { status, stdout, stderr } = runAs(account, file, 'restore', backup)
    expectRefusal(
      { code: status ?? 0, stdout, stderr },
      new RegExp(`; nothing was changed\\. Run: ${sudo} \\S+apps-service restore FILE$`, 'm'),
    )
    expect(readdirSync(folder)).toEqual(['apps.sqlite'])
    expect(readFileSync(file)).toEqual(before)
  })
})

describe('loses no write of another process', () => {
  /**
   * Opens the database, and once there is input, writes to it, prints the result, and is killed, so
   * that a log stays.
   */
  const writer = `
    import sqlite3 from ${JSON.stringify(import.meta.resolve('sqlite3'))}
    import { writeSync } from 'node:fs'
    const database = new sqlite3.Database(process.argv[1], sqlite3.OPEN_READWRITE, () => {
      database.configure('busyTimeout', Number(process.argv[2] ?? 100))
      writeSync(1, 'open ')
      process.stdin.once('data', () => {
        database.run("insert into categories (slug, name) values ('written', 'Written')", (error) => {
          writeSync(1, error ? error.code : 'acknowledged')
          process.kill(process.pid, 'SIGKILL')
        })
      })
    })`
  const writerArgs = (file: string) => ['--input-type=module', '--eval', writer, file]

  /** What a writer prints that opens the database and writes to it meanwhile. */
  const write = (file: string) =>
    spawnSync(process.execPath, writerArgs(file), { input: 'go', encoding: 'utf8' }).stdout

  /** Calls `before` and `after` around each call that gives a file another name. */
  function aroundRenames(before: () => void, after: () => void) {
    const { linkSync, renameSync } = fs
    const around = (call: typeof renameSync) => (from: fs.PathLike, to: fs.PathLike) => {
      before()
      call(from, to)
      after()
    }
    const calls = [
      vi.spyOn(fs, 'linkSync').mockImplementation(around(linkSync)),
      vi.spyOn(fs, 'renameSync').mockImplementation(around(renameSync)),
    ]
    syncBuiltinESMExports()
    return () => {
      for (const call of calls) call.mockRestore()
      syncBuiltinESMExports()
    }
  }

  /** Whether the write is in one of the files, of which each must be whole. */
  async function isKept(folder: string) {
    const names = readdirSync(folder)
    expect(names.filter((name) => name.endsWith('-journal'))).toEqual([])
    const files = names.filter((name) => !/-(wal|shm)$/.test(name))
    const found = []
    for (const name of files) {
      const file = join(folder, name)
      const checked = join(temporaryFolder(), 'checked.sqlite')
      expect(await run(['backup', checked], envFor(file))).toMatchObject({ code: 0, stderr: '' })
      found.push(await hasLater(file, 'written'))
    }
    return found.includes(true)
  }

  test.for<[when: string, journal: 'wal' | 'delete', isBefore: boolean]>([
    ['before', 'wal', true],
    ['before', 'delete', true],
    ['after', 'wal', false],
    ['after', 'delete', false],
  ])('%s a file gets another name, in mode %s', async ([, journal, isBefore]) => {
    const { file, backup, folder } = await withBackup()
    if (journal === 'delete') copyFileSync(backup, file)
    const results = new Set<string>()
    const tryIt = () => results.add(write(file))
    const stop = aroundRenames(
      () => isBefore && tryIt(),
      () => isBefore || tryIt(),
    )
    const restored = await restore(backup, file).finally(stop)
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    expect(results.size).toBeGreaterThan(0)
    expect(await isKept(folder)).toBe([...results].includes('open acknowledged'))
    expect([...results]).toEqual(['open SQLITE_BUSY'])
  })

  test.for(['wal', 'delete'])(
    'that has opened the database, in mode %s, and writes after it',
    async (journal) => {
      const { file, backup, folder } = await withBackup()
      if (journal === 'delete') copyFileSync(backup, file)
      const child = spawn(process.execPath, writerArgs(file), {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const ended = text(child.stdout)
      await once(child.stdout, 'readable')
      expect(await restore(backup, file)).toMatchObject({ code: 0, stderr: '' })
      child.stdin.end('go')
      expect(await ended).toBe('open SQLITE_READONLY')
      expect(await isKept(folder)).toBe(false)
      expect(readdirSync(folder).filter((name) => /-(wal|shm)$/.test(name))).toEqual([])
    },
  )

  /** Begins to write to the database as soon as it is not locked, and goes on for a second. */
  const longWriter = `
    import sqlite3 from ${JSON.stringify(import.meta.resolve('sqlite3'))}
    const database = new sqlite3.Database(process.argv[1], sqlite3.OPEN_READWRITE, function begin() {
      database.exec('pragma busy_timeout = 0; pragma cache_size = 1; begin immediate', (error) => {
        if (error) return setTimeout(begin, 1)
        // More than the cache holds: the journal is written out.
        database.run("update categories set name = hex(randomblob(200000)) where slug = 'games'")
        database.run("insert into categories (slug, name) values ('written', 'Written')", () => {
          setTimeout(() => database.exec('commit', (error) => console.log(error?.code ?? 'acknowledged')), 1000)
        })
      })
    })`

  test('that waits for it, while another one writes to the restored database', async () => {
    const { file, backup, folder } = await withBackup()
    const start = (script: string) => {
      const args = ['--input-type=module', '--eval', script, file, '5000']
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      onTestFinished(() => void child.kill('SIGKILL'))
      return { child, ended: text(child.stdout) }
    }
    const waiting = start(writer)
    await once(waiting.child.stdout, 'readable')
    let writing: ReturnType<typeof start> | undefined
    let named = 0
    const stop = aroundRenames(
      () => waiting.child.stdin.write('go'),
      () => {
        if (++named < 2) return
        writing = start(longWriter)
        // Until it has begun, and the other one tries again only each 100 ms.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
      },
    )
    expect(await restore(backup, file).finally(stop)).toMatchObject({ code: 0, stderr: '' })
    expect(await waiting.ended).toBe('open SQLITE_READONLY')
    expect(await writing?.ended).toBe('acknowledged\n')
    expect(await isKept(folder)).toBe(true)
    expect(await hasLater(join(folder, replacedIn(folder)[0] ?? ''))).toBe(true)
  })
})

describe('changes nothing, in one line, of a backup', () => {
  type Failure = { name: string; spoil: (backup: string) => unknown; reason: RegExp }

  function overwrite(backup: string, share: number) {
    const fd = openSync(backup, 'r+')
    const { size } = statSync(backup)
    writeSync(fd, Buffer.alloc(8192, 'x'), 0, 8192, Math.floor((size * share) / 4096) * 4096)
    closeSync(fd)
  }

  const failures: Failure[] = [
    {
      name: 'that is missing',
      spoil: rmSync,
      reason: /^apps-service: cannot read \S+: no such file or directory$/m,
    },
    {
      name: 'that is a directory',
      spoil(backup) {
        rmSync(backup)
        mkdirSync(backup)
      },
      reason: /\S+ is not a regular file$/m,
    },
    {
      name: 'that is cut off',
      spoil: (backup) => truncateSync(backup, 100_000),
      reason: /backup\.sqlite .*damaged$/m,
    },
    {
      name: 'that is damaged in the middle',
      spoil: (backup) => overwrite(backup, 0.2),
      reason: / is damaged/,
    },
    {
      name: 'that is no database',
      spoil: (backup) => writeFileSync(backup, 'text'.repeat(5000)),
      reason: /backup\.sqlite .*damaged$/m,
    },
    {
      name: 'that is empty',
      spoil: (backup) => writeFileSync(backup, ''),
      reason: /is an empty database$/m,
    },
    {
      name: 'of another program',
      async spoil(backup) {
        writeFileSync(backup, '')
        await change(backup, 'create table other (id integer)')
      },
      reason: /is a database of another program$/m,
    },
    {
      name: 'of a newer version',
      spoil: (backup) =>
        change(backup, "insert into knex_migrations (name) values ('9999-new.ts')"),
      reason: /backup\.sqlite .*\bnewer\b/,
    },
    {
      name: 'of an older line, without the last migration of 3.1',
      spoil: (backup) => change(backup, "update knex_migrations set name = '0024-names.ts'"),
      reason: /backup\.sqlite was migrated by a version before 3\.1; upgrade to 3\.1\.1 first$/m,
    },
    {
      name: 'whose search index lacks an app',
      spoil: (backup) => change(backup, 'delete from app_search where rowid % (1 << 40) = 1'),
      reason: /backup\.sqlite is damaged: the search index lacks 1 of the listed apps, and has 0/,
    },
  ]
  test.for(failures)('$name', async ({ spoil, reason }) => {
    const { file, backup, folder } = await withBackup()
    await spoil(backup)
    expectRefusal(await restore(backup, file), reason)
    expect(readdirSync(folder)).toEqual(['apps.sqlite'])
    expect(await hasLater(file)).toBe(true)
  })

  test('that is the database itself', async () => {
    const { file } = await withBackup()
    expectRefusal(await restore(file, file), /apps\.sqlite is the database itself$/m)
  })

  test('if another program owns the database', async () => {
    const { backup } = await withBackup()
    const file = join(temporaryFolder(), 'other.sqlite')
    writeFileSync(file, '')
    await change(file, 'create table other (id integer)')
    expectRefusal(await restore(backup, file), /belongs to another program; set DATABASE_URL/)
    expect(readdirSync(dirname(file))).toEqual(['other.sqlite'])
  })

  test('if the disk is full', async () => {
    const { file, backup, folder } = await withBackup()
    // In blocks of 512 or 1024 bytes, depending on the shell; the backup is larger.
    const limited = ['-c', 'ulimit -f 100; exec "$@"', 'sh', executable, 'restore', backup]
    expectRefusal(
      await runProgram('sh', limited, envFor(file), ''),
      /backup\.sqlite cannot be copied: (disk I\/O error|database or disk is full)$/m,
    )
    expect(readdirSync(folder)).toEqual(['apps.sqlite'])
    expect(await hasLater(file)).toBe(true)
  })

  test.runIf(canMount)('if there is no room for it, and later there is', async () => {
    const { file: source, backup } = await withBackup()
    const folder = temporaryFolder()
    mountSmallDisk(folder, 4)
    const file = join(folder, 'apps.sqlite')
    copyFileSync(source, file)
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(join(folder, 'filler'), Buffer.alloc(bavail * bsize - 20 * 4096))
    expectRefusal(await restore(backup, file), /a copy needs 0\.\d+ MB, but \S+ has only .* free$/m)
    expect(readdirSync(folder).toSorted()).toEqual(['apps.sqlite', 'filler'])
    rmSync(join(folder, 'filler'))
    expect(await hasLater(file)).toBe(true)
    expect((await restore(backup, file)).code).toBe(0)
  })

  type FailingCall = {
    name: string
    /** The code of each link's error, if links fail. */
    link?: string
    /** The end of the names that cannot be renamed. */
    renamed: string
  }
  const failingCalls: FailingCall[] = [
    { name: 'if the database cannot get a second name', link: 'EIO', renamed: 'none' },
    { name: 'if the copy cannot be put in place', renamed: 'restored.sqlite' },
    {
      name: 'if it cannot, on a disk without links',
      link: 'EPERM',
      renamed: 'restored.sqlite',
    },
    { name: 'if its log cannot be moved', renamed: '-shm' },
  ]
  test.for(failingCalls)('$name', async ({ link, renamed }) => {
    const { file, backup, folder } = await withBackup()
    writeFileSync(file, 'no database'.repeat(1000))
    writeFileSync(`${file}-wal`, 'log')
    writeFileSync(`${file}-shm`, '')
    const { linkSync, renameSync } = fs
    const fail = (code: string, path: fs.PathLike) => {
      throw Object.assign(new Error(code), { code, errno: -5, syscall: 'rename', path })
    }
    const calls = [
      vi
        .spyOn(fs, 'linkSync')
        .mockImplementation((from, to) => (link ? fail(link, from) : linkSync(from, to))),
      vi
        .spyOn(fs, 'renameSync')
        .mockImplementation((from, to) =>
          String(from).endsWith(renamed) ? fail('EIO', from) : renameSync(from, to),
        ),
    ]
    syncBuiltinESMExports()
    onTestFinished(() => {
      for (const call of calls) call.mockRestore()
      syncBuiltinESMExports()
    })
    expectRefusal(await restore(backup, file), /cannot write \S+\/apps\.sqlite: i\/o error$/m)
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['apps.sqlite', 'apps.sqlite-wal']))
    expect(replacedIn(folder)).toEqual([])
    expect(readFileSync(file, 'utf8')).toMatch(/^no database/)
    expect(readFileSync(`${file}-wal`, 'utf8')).toBe('log')
  })
})

test.for(['SIGTERM', 'SIGKILL'] as const)('stopped by %s: the database stays', async (signal) => {
  const { file, folder } = await withBackup()
  const large = join(temporaryFolder(), 'large.sqlite')
  copyFileSync(file, large)
  await change(
    large,
    `insert into reviews (app_id, rating, created_at, reviewer_name, comment)
     with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 60000)
     select 1, 5, '2026-03-01T00:00:00.000Z', 'Reviewer ' || n, hex(randomblob(500)) from numbers`,
  )
  const child = spawn(executable, ['restore', large], {
    env: { PATH: process.env.PATH, ...envFor(file) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  const errorOutput = text(child.stderr)
  await expect
    .poll(() => readdirSync(folder).some((name) => name.startsWith('.apps-restore-')), {
      interval: 1,
    })
    .toBe(true)
  child.kill(signal)
  expect(await exited).toEqual([null, signal])
  expect(await errorOutput).toBe(
    signal === 'SIGTERM' ? 'apps-service: stopped by SIGTERM; nothing was restored\n' : '',
  )
  expect(replacedIn(folder)).toEqual([])
  expect(await hasLater(file)).toBe(true)
  expect(existsSync(large)).toBe(true)
  expect((await restore(large, file)).code).toBe(0)
})

test('on PostgreSQL, it names pg_restore', async () => {
  const { backup } = await withBackup()
  const refused = await run(['restore', backup], { DATABASE_URL: 'postgres://localhost/none' })
  expectRefusal(refused, /works only on SQLite; on PostgreSQL, pg_restore does it/)
})
