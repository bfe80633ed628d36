import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, type QueryResultRow } from 'pg'

/** Where Debian's package puts the programs of each version. */
const versions = '/usr/lib/postgresql'

/** The newest one; undefined where the package is not installed. */
const version = (existsSync(versions) ? readdirSync(versions) : [])
  .toSorted((one, other) => Number(other) - Number(one))
  .find((name) => existsSync(join(versions, name, 'bin/initdb')))

export const isInstalled = version !== undefined

/** A server that is there already, on which the tests may make databases. */
export const configuredServer = process.env.TEST_POSTGRES_URL || undefined

export const hasPostgres = isInstalled || configuredServer !== undefined

/** PostgreSQL refuses to run as root; its package brings an account. */
const isRoot = process.getuid?.() === 0
export const asPostgresAccount = isRoot ? ['--reuid=postgres', '--regid=postgres', '--clear-groups'] : []

/** A program of the package; throws where it is not installed. */
export function program(name: string): string {
  if (version === undefined) throw new Error("PostgreSQL is not installed: on Debian, 'apt-get install postgresql'")
  return join(versions, version, 'bin', name)
}

export type PostgresServer = Readonly<{
  /** Where its socket is. */
  folder: string
  /** What another one can begin as, when this one was stopped by SIGINT. */
  data: string
  /** Its database `postgres`, for a role that may make databases and nothing else that is special. */
  address: string
  start: () => Promise<void>
  /** As its documentation says of each (https://www.postgresql.org/docs/current/server-shutdown.html). */
  stop: (signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT') => Promise<void>
  /** Stops it, and removes all that it held. */
  remove: () => Promise<void>
}>

/**
 * Starts a throw-away PostgreSQL from Debian's package, which is reached by a socket alone, and ends with this process,
 * whatever ends that. It is empty, or holds what another one held. What is written need not survive a power cut, so nothing is
 * flushed to the disk; it writes nothing by itself, which would be another version of the data (autovacuum); and left to itself
 * it orders text as a dictionary does, which is not how the service wants it.
 */
export async function startPostgres(from?: string): Promise<PostgresServer> {
  // As a dictionary orders: new in 15.
  const locale = Number(version) < 15 ? [] : ['--locale-provider=icu', '--icu-locale=en']
  const folder = mkdtempSync(join(tmpdir(), 'apps-pg-'))
  const data = join(folder, 'data')
  if (isRoot) execFileSync('chown', ['postgres:', folder])
  const make = from
    ? ['cp', '--recursive', from, data]
    : // biome-ignore format: a program, and its arguments
      [program('initdb'), '--pgdata', data, '--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8',
        '--no-locale', ...locale, '--wal-segsize=1']
  execFileSync('setpriv', [...asPostgresAccount, ...make], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })

  // On a busy machine the server takes its time to begin a session.
  const addressFor = (user: string) =>
    `postgres:///postgres?${new URLSearchParams({ host: folder, user, connect_timeout: '25' })}`
  let stopRunning = async (_signal: NodeJS.Signals) => {}

  async function start() {
    // biome-ignore format: a line
    const settings = ['listen_addresses=', 'fsync=off', 'full_page_writes=off', 'autovacuum=off', 'max_connections=300']
    const child = spawn(
      'setpriv',
      // biome-ignore format: a program, and its arguments
      [...asPostgresAccount, '--pdeathsig=QUIT', program('postgres'), '-D', data, '-k', folder,
        ...settings.flatMap((setting) => ['-c', setting])],
      // Ctrl+C is for others to hear first.
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], detached: true },
    )
    const exited = once(child, 'exit')
    stopRunning = async (signal) => {
      child.kill(signal)
      await exited
    }
    const log: string[] = []
    await new Promise<void>((resolve, reject) => {
      // Read on to the end, or the server would wait for room in the pipe.
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (log.push(line) > 100) log.shift()
        if (line.includes('database system is ready to accept connections')) resolve()
      })
      exited.then(([code]) => reject(new Error(`PostgreSQL ended with ${code}:\n${log.join('\n')}`)), reject)
    })
  }

  await start()
  if (!from) await administer(addressFor('postgres'), 'create role apps login createdb')
  return {
    folder,
    data,
    address: addressFor('apps'),
    start,
    stop: (signal) => stopRunning(signal),
    async remove() {
      await stopRunning('SIGQUIT')
      rmSync(folder, { recursive: true })
    },
  }
}

/** The database of the world, where the server is the tests' own. */
export const worldName = 'world'

/** Where nothing is flushed, files are copied in half the time that it takes by way of the log. Since 15 it is the latter by itself. */
export const copyStrategy = Number(version) < 15 ? '' : 'strategy file_copy'

/** For a database of the tests': others may have some on the same server. */
export const newName = () => `apps_test_${randomBytes(8).toString('hex')}`

/** The address of another database of the same server. */
export function addressAt(address: string, database: string): string {
  const url = new URL(address)
  url.pathname = `/${database}`
  return url.href
}

/** Runs statements, each by itself, on a database that is there. */
export async function administer(address: string, ...statements: string[]) {
  for (const statement of statements) await ask(address, statement)
}

/** The rows of one statement. */
export async function ask<Row extends QueryResultRow>(address: string, statement: string): Promise<Row[]> {
  const client = new Client(address)
  // What breaks it is told to whoever asks.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(statement)).rows
  } finally {
    await client.end()
  }
}
