import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { findLosses, noWrites } from '../../faults/acknowledged-writes.ts'
import { temporaryFolder } from '../../support/database.ts'
import { canMount, mountSmallDisk } from '../../support/disk.ts'
import { commandLine, type Served, serve } from '../../support/process.ts'

type DatabasePaths = { folder: string; file: string }

/** A fault of a running server's file, and its repair. */
type Fault = {
  name: string
  cause: (paths: DatabasePaths) => unknown
  repair: (paths: DatabasePaths) => unknown
  /** The message of /readyz; undefined if the service stays ready. */
  readyzMessage: RegExp | undefined
  /** Whether writes and reads can succeed during the fault. */
  canWrite: boolean
  canRead: boolean
}

const writeOver = (file: string, from: string) =>
  execFileSync('dd', [`if=${from}`, `of=${file}`, 'bs=1M', 'conv=notrunc', 'status=none'])

let locker: ReturnType<typeof spawn> | undefined

const faults: Fault[] = [
  {
    name: 'replaced by another database',
    cause({ folder, file }) {
      renameSync(file, join(folder, 'away'))
      copyFileSync(inject('world').source, file)
    },
    repair: ({ folder, file }) => renameSync(join(folder, 'away'), file),
    readyzMessage: /was replaced/,
    canWrite: false,
    canRead: false,
  },
  {
    name: 'gone',
    cause: ({ folder, file }) => renameSync(file, join(folder, 'away')),
    repair: ({ folder, file }) => renameSync(join(folder, 'away'), file),
    readyzMessage: /is gone/,
    canWrite: false,
    canRead: false,
  },
  {
    name: 'overwritten with garbage',
    cause({ folder, file }) {
      copyFileSync(file, join(folder, 'right'))
      const garbage = join(folder, 'garbage')
      writeFileSync(garbage, Buffer.alloc(readFileSync(file).length, 'no database '))
      writeOver(file, garbage)
    },
    repair: ({ folder, file }) => writeOver(file, join(folder, 'right')),
    readyzMessage: /is damaged/,
    // The writer has cached pages.
    canWrite: false,
    canRead: false,
  },
  {
    name: 'locked by another program',
    async cause({ file }) {
      const script = `import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute('begin immediate')
print('locked', flush=True)
sys.stdin.read()`
      const locking = spawn('python3', ['-c', script, file], { stdio: ['pipe', 'pipe', 'inherit'] })
      locker = locking
      await once(locking.stdout, 'data')
    },
    async repair() {
      if (!locker) return
      locker.kill('SIGKILL')
      await once(locker, 'exit')
    },
    readyzMessage: undefined,
    canWrite: false,
    canRead: true,
  },
  {
    name: 'on a disk that is full',
    cause({ folder }) {
      expect(() => writeFileSync(join(folder, 'filler'), Buffer.alloc(64 * 2 ** 20))).toThrow(
        'ENOSPC',
      )
    },
    repair: ({ folder }) => rmSync(join(folder, 'filler')),
    readyzMessage: /no space left/,
    // While the log has free space from before.
    canWrite: true,
    canRead: true,
  },
]

/** Copies the world into a directory, on a small disk if mounting works here. */
function createDatabase(): DatabasePaths {
  const folder = join(temporaryFolder(), 'disk')
  mkdirSync(folder)
  if (canMount) mountSmallDisk(folder, 48)
  const file = join(folder, 'apps.sqlite')
  copyFileSync(inject('world').source, file)
  return { folder, file }
}

const key = () => inject('world').keys.ada
const readiness = (server: Served) => server.request('GET', '/readyz')

test.for(faults.filter(({ name }) => canMount || !name.includes('full')))(
  'when the database is $name, no write is lost, no request gets a 500, and the service recovers',
  async ({ cause, repair, readyzMessage, canWrite, canRead }) => {
    const { folder, file } = createDatabase()
    const server = await serve(`sqlite:${file}`)
    const writes = noWrites()
    let number = 0
    const create = async () => {
      const name = `Round ${++number}`
      const json = { name, description: `${name} is whole.`, category_id: 1 }
      const { status, body } = await server.request('POST', '/apps', { key: key(), json })
      if (status === 201) writes.created.set(body.data.app_id, name)
      return status
    }
    for (let times = 0; times < 20; times++) expect(await create()).toBe(201)
    expect((await readiness(server)).status).toBe(200)

    await cause({ folder, file })
    if (readyzMessage) {
      const { status, body } = await readiness(server)
      expect([status, body.message]).toEqual([503, expect.stringMatching(readyzMessage)])
    }
    for (let times = 0; times < (canWrite ? 20 : 2); times++) {
      expect(canWrite ? [201, 503] : [503]).toContain(await create())
      expect((await server.request('GET', `/apps?search=s${times}`)).status).toBe(
        canRead ? 200 : 503,
      )
      expect((await readiness(server)).status).toBe(readyzMessage ? 503 : 200)
    }

    await repair({ folder, file })
    await expect.poll(async () => (await readiness(server)).status, { timeout: 30_000 }).toBe(200)
    await expect.poll(create, { timeout: 30_000 }).toBe(201)
    expect((await server.request('GET', '/apps?search=s')).status).toBe(200)
    server.process.kill('SIGTERM')
    expect((await server.exited)[0]).toBe(0)
    expect(server.log.filter((line) => line.includes('"statusCode":500'))).toEqual([])
    expect(await findLosses(file, writes)).toEqual([])
  },
)

test('a command on a missing database does not create one', async () => {
  const { folder, file } = createDatabase()
  renameSync(file, join(folder, 'away'))
  const { code, stderr } = await commandLine(`sqlite:${file}`).run(
    'category',
    'add',
    '--slug',
    'new',
    '--name',
    'New',
  )
  expect([code, stderr]).toEqual([1, expect.stringMatching(/does not exist/)])
  renameSync(join(folder, 'away'), file)
})
