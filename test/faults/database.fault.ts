import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { temporaryFolder } from '../support/database.ts'
import { canMount, mountSmallDisk } from '../support/disk.ts'
import { commandLine, type Served, serve } from '../support/process.ts'
import { findLosses, noWrites } from './acknowledged-writes.ts'

type DatabasePaths = { folder: string; file: string }

/** A fault of a running server's file, and its repair. */
type Fault = {
  name: string
  strike: (place: DatabasePaths) => unknown
  mend: (place: DatabasePaths) => unknown
  /** The message of /readyz, if the service is not ready. */
  told: RegExp | undefined
  /** Whether the service acknowledges writes and answers reads meanwhile. */
  writes: boolean
  reads: boolean
}

const writeOver = (file: string, from: string) =>
  execFileSync('dd', [`if=${from}`, `of=${file}`, 'bs=1M', 'conv=notrunc', 'status=none'])

let holder: ReturnType<typeof spawn> | undefined

const faults: Fault[] = [
  {
    name: 'replaced by another database',
    strike({ folder, file }) {
      renameSync(file, join(folder, 'away'))
      copyFileSync(inject('world').source, file)
    },
    mend: ({ folder, file }) => renameSync(join(folder, 'away'), file),
    told: /was replaced/,
    writes: false,
    reads: false,
  },
  {
    name: 'gone',
    strike: ({ folder, file }) => renameSync(file, join(folder, 'away')),
    mend: ({ folder, file }) => renameSync(join(folder, 'away'), file),
    told: /is gone/,
    writes: false,
    reads: false,
  },
  {
    name: 'overwritten with garbage',
    strike({ folder, file }) {
      copyFileSync(file, join(folder, 'right'))
      const garbage = join(folder, 'garbage')
      writeFileSync(garbage, Buffer.alloc(readFileSync(file).length, 'no database '))
      writeOver(file, garbage)
    },
    mend: ({ folder, file }) => writeOver(file, join(folder, 'right')),
    told: /is damaged/,
    // The writer has cached pages.
    writes: false,
    reads: false,
  },
  {
    name: 'locked by another program',
    async strike({ file }) {
      const script = `import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute('begin immediate')
print('locked', flush=True)
sys.stdin.read()`
      const locking = spawn('python3', ['-c', script, file], { stdio: ['pipe', 'pipe', 'inherit'] })
      holder = locking
      await once(locking.stdout, 'data')
    },
    async mend() {
      if (!holder) return
      holder.kill('SIGKILL')
      await once(holder, 'exit')
    },
    told: undefined,
    writes: false,
    reads: true,
  },
  {
    name: 'on a disk that is full',
    strike({ folder }) {
      expect(() => writeFileSync(join(folder, 'filler'), Buffer.alloc(64 * 2 ** 20))).toThrow('ENOSPC')
    },
    mend: ({ folder }) => rmSync(join(folder, 'filler')),
    told: /no room left/,
    // While the log has free space from before.
    writes: true,
    reads: true,
  },
]

/** A directory on a small disk, if mounting works here. */
function place(): DatabasePaths {
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
  'a database that is $name is reported, no write is lost, nothing gets a 500, and the service recovers',
  async ({ strike, mend, told, writes, reads }) => {
    const { folder, file } = place()
    const server = await serve(`sqlite:${file}`)
    const deeds = noWrites()
    let number = 0
    const create = async () => {
      const name = `Round ${++number}`
      const json = { name, description: `${name} is whole.`, category_id: 1 }
      const { status, body } = await server.request('POST', '/apps', { key: key(), json })
      if (status === 201) deeds.created.set(body.data.app_id, name)
      return status
    }
    for (let times = 0; times < 20; times++) expect(await create()).toBe(201)
    expect((await readiness(server)).status).toBe(200)

    await strike({ folder, file })
    if (told) {
      const { status, body } = await readiness(server)
      expect([status, body.message]).toEqual([503, expect.stringMatching(told)])
    }
    for (let times = 0; times < (writes ? 20 : 2); times++) {
      expect(writes ? [201, 503] : [503]).toContain(await create())
      expect((await server.request('GET', `/apps?search=s${times}`)).status).toBe(reads ? 200 : 503)
      expect((await readiness(server)).status).toBe(told ? 503 : 200)
    }

    await mend({ folder, file })
    await expect.poll(async () => (await readiness(server)).status, { timeout: 30_000 }).toBe(200)
    await expect.poll(create, { timeout: 30_000 }).toBe(201)
    expect((await server.request('GET', '/apps?search=s')).status).toBe(200)
    server.process.kill('SIGTERM')
    expect((await server.exited)[0]).toBe(0)
    expect(server.log.filter((line) => line.includes('"statusCode":500'))).toEqual([])
    expect(await findLosses(file, deeds)).toEqual([])
  },
)

test('a command on a missing database does not create one', async () => {
  const { folder, file } = place()
  renameSync(file, join(folder, 'away'))
  const { code, stderr } = await commandLine(`sqlite:${file}`).run('category', 'add', '--slug', 'new', '--name', 'New')
  expect([code, stderr]).toEqual([1, expect.stringMatching(/does not exist/)])
  renameSync(join(folder, 'away'), file)
})
