import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, type QueryResultRow } from 'pg'

/** Debian's directory for the programs of each version. */
const versions = '/usr/lib/postgresql'

/** The newest version; undefined if the package is not installed. */
const version = (existsSync(versions) ? readdirSync(versions) : [])
  .toSorted((one, other) => Number(other) - Number(one))
  .find((name) => existsSync(join(versions, name, 'bin/initdb')))

export const isInstalled = version !== undefined

/** An existing server on which the tests can create databases. */
export const configuredServer = process.env.TEST_POSTGRES_URL || undefined

export const hasPostgres = isInstalled || configuredServer !== undefined

/** PostgreSQL refuses to run as root; its package creates this account. */
const isRoot = process.getuid?.() === 0
export const asPostgresAccount = isRoot
  ? ['--reuid=postgres', '--regid=postgres', '--clear-groups']
  : []

/** A program of the package; throws if it is not installed. */
export function program(name: string): string {
  if (version === undefined)
    throw new Error("PostgreSQL is not installed: on Debian, 'apt-get install postgresql'")
  return join(versions, version, 'bin', name)
}

export type PostgresServer = Readonly<{
  /** The directory of its socket. */
  folder: string
  /** Its data directory, which another server can copy once this one was stopped by SIGINT. */
  data: string
  /** Its database `postgres`, for a role that can only create databases. */
  address: string
  start: () => Promise<void>
  /** https://www.postgresql.org/docs/current/server-shutdown.html describes the signals. */
  stop: (signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT') => Promise<void>
  /** Stops it and removes its data. */
  remove: () => Promise<void>
}>

/**
 * Starts a temporary PostgreSQL from Debian's package, empty or with another server's data. It
 * listens only on a socket and stops with this process. It does not flush to disk, because its data
 * need not survive. Its default collation sorts like a dictionary, unlike the service.
 */
export async function startPostgres(from?: string): Promise<PostgresServer> {
  // Sorts like a dictionary; new in 15.
  const locale = Number(version) < 15 ? [] : ['--locale-provider=icu', '--icu-locale=en']
  const folder = mkdtempSync(join(from ? dirname(from) : tmpdir(), 'apps-pg-'))
  const data = join(folder, 'data')
  if (isRoot) execFileSync('chown', ['postgres:', folder])
  const make = from
    ? ['cp', '--recursive', from, data]
    : // biome-ignore format: a program and its arguments
      [program('initdb'), '--pgdata', data, '--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8',
        '--no-locale', ...locale, '--wal-segsize=1']
  execFileSync('setpriv', [...asPostgresAccount, ...make], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })

  // On a busy machine, starting a session takes long.
  const addressFor = (user: string) =>
    `postgres:///postgres?${new URLSearchParams({ host: folder, user, connect_timeout: '25' })}`
  let stopRunning = async (_signal: NodeJS.Signals) => {}

  async function start() {
    // Creating and dropping a database look through all shared buffers.
    // biome-ignore format: one line
    const settings = ['listen_addresses=', 'fsync=off', 'full_page_writes=off', 'autovacuum=off', 'max_connections=300', 'shared_buffers=16MB']
    const child = spawn(
      'setpriv',
      // biome-ignore format: a program and its arguments
      [...asPostgresAccount, '--pdeathsig=QUIT', program('postgres'), '-D', data, '-k', folder,
        ...settings.flatMap((setting) => ['-c', setting])],
      // Ctrl+C must not stop it before the tests.
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], detached: true },
    )
    const exited = once(child, 'exit')
    stopRunning = async (signal) => {
      child.kill(signal)
      await exited
    }
    const log: string[] = []
    await new Promise<void>((resolve, reject) => {
      // Keep reading, or the server would block on a full pipe.
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (log.push(line) > 100) log.shift()
        if (line.includes('database system is ready to accept connections')) resolve()
      })
      exited.then(
        ([code]) => reject(new Error(`PostgreSQL exited with ${code}:\n${log.join('\n')}`)),
        reject,
      )
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
      rmSync(folder, { recursive: true, maxRetries: 10 })
    },
  }
}

/** The database of the world on the tests' own server. */
export const worldName = 'world'

/** The migrated database without rows, beside the world: its file or database. */
export const emptyCatalogue = (world: string) => `${world}_empty`

/**
 * Without flushes, copying files takes half as long as copying through the log, the default since
 * 15.
 */
export const copyStrategy = Number(version) < 15 ? '' : 'strategy file_copy'

/** A unique name for a test database, because a server can be shared. */
export const newName = () => `apps_test_${randomBytes(8).toString('hex')}`

/** The address of another database of the same server. */
export function addressAt(address: string, database: string): string {
  const url = new URL(address)
  url.pathname = `/${database}`
  return url.href
}

/** A connection to the server of an address, by its socket or TCP. */
export function connectTo(address: string): Socket {
  const { host, port } = new Client(address)
  return host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host)
}

/**
 * The same database through a proxy on a port of this machine, with the service's own timeout for
 * connecting.
 */
export function addressThrough(port: number, address: string): string {
  const url = new URL(address)
  url.host = `127.0.0.1:${port}`
  for (const option of ['host', 'connect_timeout']) url.searchParams.delete(option)
  return url.href
}

/** Runs statements one by one on an existing database. */
export async function administer(address: string, ...statements: string[]) {
  for (const statement of statements) await ask(address, statement)
}

/** The rows of one statement. */
export async function ask<Row extends QueryResultRow>(
  address: string,
  statement: string,
): Promise<Row[]> {
  const client = new Client(address)
  // The query reports a broken connection.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(statement)).rows
  } finally {
    await client.end()
  }
}
