import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, inject } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { expectConsistent, expectSound } from '../support/consistency.ts'
import { executable, type Served, serve } from '../support/process.ts'

/** The writes that the service or a command acknowledged. */
type AcknowledgedWrites = {
  /** Names by id. */
  created: Map<number, string>
  /** By id, the numbers of the last acknowledged and the last sent change. */
  changed: Map<number, { acknowledged: number; sent: number }>
  approved: Set<number>
  /** Files that `backup` reported as written. */
  backups: string[]
}

export const noWrites = (): AcknowledgedWrites => ({
  created: new Map(),
  changed: new Map(),
  approved: new Set(),
  backups: [],
})

export const noTotals = () => ({ created: 0, changed: 0, approved: 0, backups: 0 })

export function addTo(
  totals: ReturnType<typeof noTotals>,
  { created, changed, approved, backups }: AcknowledgedWrites,
) {
  totals.created += created.size
  for (const { acknowledged } of changed.values()) totals.changed += acknowledged
  totals.approved += approved.size
  totals.backups += backups.length
}

/**
 * Starts a server with clients that create and change apps, and separate processes for an operator,
 * an import and backups. `acknowledged` resolves after that many creates and as many changes. `kill`
 * sends SIGKILL to all processes at once and returns whether the import and a backup were running.
 */
export async function startWriting(file: string, writes: AcknowledgedWrites, round: number) {
  const server = await serve(`sqlite:${file}`)
  const processes: ChildProcess[] = []
  let isOver = false
  const count = { create: 0, change: 0 }
  let wanted = Number.POSITIVE_INFINITY
  const reached = Promise.withResolvers<void>()
  const acknowledge = (kind: keyof typeof count) => {
    count[kind]++
    if (Math.min(count.create, count.change) >= wanted) reached.resolve()
  }

  function start(command: string, args: string[]) {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, DATABASE_URL: `sqlite:${file}` },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.on('error', () => {
      // Killed before it read everything.
    })
    processes.push(child)
    return child
  }

  const operator = start(process.execPath, [`${import.meta.dirname}/operator.ts`, file])
  createInterface({ input: operator.stdout }).on('line', (line) =>
    writes.approved.add(Number(line)),
  )
  const importing = start(executable, ['import', '-', '--json'])
  importing.stdout.resume()
  importing.stdin.end(catalogueLines(round))

  async function backUp() {
    for (let number = 1; !isOver; number++) {
      const target = `${file}-backup-${round}-${number}`
      const child = start(executable, ['backup', target, '--json'])
      child.stdout.resume()
      const [code] = await once(child, 'exit')
      if (code === 0) writes.backups.push(target)
    }
  }

  const clients = [
    ...Array.from({ length: 4 }, (_, client) =>
      create(server, writes, `Round ${round} client ${client}`, () => acknowledge('create')),
    ),
    ...[inject('world').apps.approved, inject('world').apps.pending].map((id) =>
      change(server, writes, id, () => acknowledge('change')),
    ),
  ]
  const backups = backUp()

  return {
    acknowledged: (number: number) => {
      wanted = number
      return reached.promise
    },
    async kill() {
      isOver = true
      const isRunning = ({ exitCode }: ChildProcess) => exitCode === null
      const wasRunning = {
        import: isRunning(importing),
        backup: processes.slice(-1).some(isRunning),
      }
      const running = [server.process, ...processes].filter(isRunning)
      const exits = running.map((child) => once(child, 'exit'))
      for (const child of running) child.kill('SIGKILL')
      await Promise.all([...exits, ...clients, backups])
      // The file was not replaced.
      expect(server.log.filter((line) => line.includes('UnusableDatabase'))).toEqual([])
      return wasRunning
    },
  }
}

async function create(
  server: Served,
  writes: AcknowledgedWrites,
  prefix: string,
  acknowledge: () => void,
) {
  const key = inject('world').keys.ada
  for (let number = 1; ; number++) {
    const name = `${prefix} app ${number}`
    const json = { name, description: `${name} is whole.`, category_id: 1 }
    const reply = await server.request('POST', '/apps', { key, json }).catch(() => undefined)
    if (!reply) return
    if (isUnavailable(reply)) continue
    expect(reply.status).toBe(201)
    writes.created.set(reply.body.data.app_id, name)
    acknowledge()
  }
}

async function change(
  server: Served,
  writes: AcknowledgedWrites,
  id: number,
  acknowledge: () => void,
) {
  const key = inject('world').keys.ada
  const known = writes.changed.get(id) ?? { acknowledged: 0, sent: 0 }
  writes.changed.set(id, known)
  for (;;) {
    known.sent++
    const json = { short_description: `Change ${known.sent}` }
    const reply = await server.request('PUT', `/apps/${id}`, { key, json }).catch(() => undefined)
    if (!reply) return
    if (isUnavailable(reply)) continue
    expect(reply.status).toBe(200)
    known.acknowledged = known.sent
    acknowledge()
  }
}

/**
 * On a busy machine, a write may time out in the queue. That is allowed, because it is not
 * acknowledged.
 */
const isUnavailable = ({ status }: { status: number }) => status === 503

/** Enough lines that the import is still running when everything is killed. */
const catalogueLines = (round: number) =>
  Array.from({ length: 1000 }, (_, number) =>
    JSON.stringify({
      name: `Imported ${round} ${number}`,
      description: `Imported in round ${round}.`,
      package_name: `org.example.round${round}.app${number}`,
      category: { slug: 'tools', name: 'Tools' },
      developer_name: 'Importer',
      created_at: '2026-01-01T00:00:00.000Z',
      reviews: [
        {
          reviewer_name: 'Cy',
          rating: 4,
          comment: 'Fine.',
          created_at: '2026-01-01T00:00:00.000Z',
        },
      ],
    }),
  ).join('\n')

/**
 * The acknowledged writes that are missing. Throws if the database is damaged or a write is
 * incomplete.
 */
export async function findLosses(file: string, writes: AcknowledgedWrites): Promise<string[]> {
  const database = openDatabase(`sqlite:${file}`)
  try {
    await expectSound(database)
    return await database.snapshot(async ({ sql }) => {
      const rows: {
        id: number
        name: string
        status: string
        description: string
        short_description: string | null
      }[] = await sql('apps').select('id', 'name', 'status', 'description', 'short_description')
      const apps = new Map(rows.map((row) => [row.id, row]))
      const incomplete = rows.filter(
        ({ name, description }) => name.startsWith('Round') && description !== `${name} is whole.`,
      )
      expect(incomplete).toEqual([])
      const [unreviewed] = await sql('apps')
        .whereLike('name', 'Imported %')
        .whereNot({ review_count: 1 })
        .count({ count: '*' })
      expect(Number(unreviewed?.count)).toBe(0)
      const [unaudited] = await sql('apps')
        .whereLike('name', 'Round %')
        .whereNotIn('id', sql('audit').where({ action: 'app create' }).select('app_id'))
        .count({ count: '*' })
      expect(Number(unaudited?.count)).toBe(0)
      const changeOf = (id: number) =>
        Number(/^Change (\d+)$/.exec(apps.get(id)?.short_description ?? '')?.[1] ?? 0)
      return [
        ...[...writes.created]
          .filter(([id, name]) => apps.get(id)?.name !== name)
          .map(([id]) => `app ${id}`),
        ...[...writes.changed]
          .filter(([id, { acknowledged }]) => changeOf(id) < acknowledged)
          .map(
            ([id, { acknowledged }]) =>
              `change ${acknowledged} of app ${id}, which has ${changeOf(id)}`,
          ),
        ...[...writes.approved]
          .filter((id) => apps.get(id)?.status !== 'approved')
          .map((id) => `decision on ${id}`),
        ...writes.backups.filter((backup) => !existsSync(backup)),
      ]
    })
  } finally {
    await database.close()
  }
}

/** Checks the search index, counters and ratings of the database and of its last backup. */
export async function expectIntact(file: string, writes: AcknowledgedWrites) {
  for (const path of [file, ...writes.backups.slice(-1)]) {
    const database = openDatabase(`sqlite:${path}`)
    await expectSound(database)
      .then(() => expectConsistent(database))
      .finally(() => database.close())
  }
}

/** A random integer. */
export const between = (from: number, to: number) =>
  from + Math.floor(Math.random() * (to - from + 1))
