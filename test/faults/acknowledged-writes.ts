import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, inject } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { expectConsistent, expectSound } from '../support/consistency.ts'
import { type Served, serve } from '../support/process.ts'

/** Everything that was acknowledged. */
export type AcknowledgedWrites = {
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

/** Their number. */
export type Totals = { created: number; changed: number; approved: number; backups: number }

export const noTotals = (): Totals => ({ created: 0, changed: 0, approved: 0, backups: 0 })

export function addTo(totals: Totals, { created, changed, approved, backups }: AcknowledgedWrites) {
  totals.created += created.size
  for (const { acknowledged } of changed.values()) totals.changed += acknowledged
  totals.approved += approved.size
  totals.backups += backups.length
}

const sources = `${import.meta.dirname}/../..`

/**
 * Starts a server with clients that create and change apps, and separate processes for an operator, imports and backups.
 * `acknowledged` resolves after that many creates and changes. `kill` sends SIGKILL to all processes at once and returns
 * which were running.
 */
export async function startWriting(
  file: string,
  deeds: AcknowledgedWrites,
  round: number,
  env: Record<string, string> = {},
) {
  const server = await serve(`sqlite:${file}`, env)
  const processes: ChildProcess[] = []
  let isOver = false
  let count = 0
  let wanted = Number.POSITIVE_INFINITY
  const reached = Promise.withResolvers<void>()
  const acknowledge = () => {
    count++
    if (count >= wanted) reached.resolve()
  }

  function start(args: string[]) {
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, DATABASE_URL: `sqlite:${file}`, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.on('error', () => {
      // Killed before it read everything.
    })
    processes.push(child)
    return child
  }

  const operator = start([`${sources}/test/faults/operator.ts`, file])
  createInterface({ input: operator.stdout }).on('line', (line) => deeds.approved.add(Number(line)))
  const importing = start([`${sources}/src/apps-service.js`, 'import', '-', '--json'])
  importing.stdout.resume()
  importing.stdin.end(catalogueLines(round))

  async function backUp() {
    for (let number = 1; !isOver; number++) {
      const target = `${file}-backup-${round}-${number}`
      const child = start([`${sources}/src/apps-service.js`, 'backup', target, '--json'])
      child.stdout.resume()
      const [code] = await once(child, 'exit')
      if (code === 0) deeds.backups.push(target)
    }
  }

  const clients = [
    ...Array.from({ length: 4 }, (_, client) => create(server, deeds, `Round ${round} client ${client}`, acknowledge)),
    ...[inject('world').apps.approved, inject('world').apps.pending].map((id) =>
      change(server, deeds, id, acknowledge),
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
      const working = { importing: importing.exitCode === null, backups: processes.at(-1)?.exitCode === null }
      const all = [server.process, ...processes].filter(({ exitCode }) => exitCode === null)
      const ends = all.map((child) => once(child, 'exit'))
      for (const child of all) child.kill('SIGKILL')
      await Promise.all([...ends, ...clients, backups])
      // The file was not replaced.
      expect(server.log.filter((line) => line.includes('UnusableDatabase'))).toEqual([])
      return working
    },
  }
}

async function create(server: Served, deeds: AcknowledgedWrites, prefix: string, acknowledge: () => void) {
  const key = inject('world').keys.ada
  for (let number = 1; ; number++) {
    const name = `${prefix} app ${number}`
    const json = { name, description: `${name} is whole.`, category_id: 1 }
    const reply = await server.request('POST', '/apps', { key, json }).catch(() => undefined)
    if (!reply) return
    if (isUnavailable(reply)) continue
    expect(reply.status).toBe(201)
    deeds.created.set(reply.body.data.app_id, name)
    acknowledge()
  }
}

async function change(server: Served, deeds: AcknowledgedWrites, id: number, acknowledge: () => void) {
  const key = inject('world').keys.ada
  const known = deeds.changed.get(id) ?? { acknowledged: 0, sent: 0 }
  deeds.changed.set(id, known)
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

/** On a busy machine, a write may time out in the queue. It is not acknowledged, so this is not a fault. */
const isUnavailable = ({ status }: { status: number }) => status === 503

/** Enough to be still running when the others are killed. */
const catalogueLines = (round: number) =>
  Array.from({ length: 1000 }, (_, number) =>
    JSON.stringify({
      name: `Imported ${round} ${number}`,
      description: `Imported in round ${round}.`,
      package_name: `org.example.round${round}.app${number}`,
      category: { slug: 'tools', name: 'Tools' },
      developer_name: 'Importer',
      created_at: '2026-01-01T00:00:00.000Z',
      reviews: [{ reviewer_name: 'Cy', rating: 4, comment: 'Fine.', created_at: '2026-01-01T00:00:00.000Z' }],
    }),
  ).join('\n')

/** The acknowledged writes that are missing. Throws if the database is damaged or a write is incomplete. */
export async function findLosses(file: string, deeds: AcknowledgedWrites): Promise<string[]> {
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
      const halves = rows.filter(
        ({ name, description }) => name.startsWith('Round') && description !== `${name} is whole.`,
      )
      expect(halves).toEqual([])
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
      const changeOf = (id: number) => Number(/^Change (\d+)$/.exec(apps.get(id)?.short_description ?? '')?.[1] ?? 0)
      return [
        ...[...deeds.created].filter(([id, name]) => apps.get(id)?.name !== name).map(([id]) => `app ${id}`),
        ...[...deeds.changed]
          .filter(([id, { acknowledged }]) => changeOf(id) < acknowledged)
          .map(([id, { acknowledged }]) => `change ${acknowledged} of app ${id}, which has ${changeOf(id)}`),
        ...[...deeds.approved].filter((id) => apps.get(id)?.status !== 'approved').map((id) => `decision on ${id}`),
        ...deeds.backups.filter((backup) => !existsSync(backup)),
      ]
    })
  } finally {
    await database.close()
  }
}

/** Also checks the search index, counters, ratings and backups. */
export async function expectNoLosses(file: string, deeds: AcknowledgedWrites) {
  for (const path of [file, ...deeds.backups.slice(-1)]) {
    const database = openDatabase(`sqlite:${path}`)
    await expectSound(database)
      .then(() => expectConsistent(database))
      .finally(() => database.close())
  }
}

/** Differs in each run; a failure prints it. */
export const between = (from: number, to: number) => from + Math.floor(Math.random() * (to - from + 1))
