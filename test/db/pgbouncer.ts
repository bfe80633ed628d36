import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { asPostgresAccount, type PostgresServer } from '../support/postgres.ts'

/** Debian installs the program in a directory that is not in every PATH. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

const versioned = spawnSync('pgbouncer', ['--version'], { env, encoding: 'utf8' }).stdout ?? ''
const minor = Number(/^PgBouncer 1\.(\d+)/.exec(versioned)?.[1])

export const hasPgbouncer = !Number.isNaN(minor)

/** Before 1.21, transaction mode loses prepared statements, so older versions use session mode. */
export const poolMode = minor >= 21 ? 'transaction' : 'session'

/** Few in transaction mode, so that clients share them; enough for each client in session mode. */
const poolSize = poolMode === 'transaction' ? 3 : 50

export type Pgbouncer = Readonly<{
  /** The database, through the pooler. */
  address: string
  start: () => Promise<void>
  stop: () => Promise<void>
}>

/**
 * Starts a PgBouncer for a database, in the server's directory, configured as in docs/scaling.md.
 */
export async function startPgbouncer(
  { folder, address }: PostgresServer,
  database: string,
): Promise<Pgbouncer> {
  const file = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'users.txt')
  writeFileSync(users, '"apps" ""\n')
  writeFileSync(
    file,
    `[databases]
${database} = host=${folder} dbname=${database}

[pgbouncer]
unix_socket_dir = ${folder}
listen_port = 6432
auth_type = trust
auth_file = ${users}
pool_mode = ${poolMode}
default_pool_size = ${poolSize}
`,
  )

  let signal = (_: NodeJS.Signals) => {}
  let exited: Promise<unknown> = Promise.resolve()
  async function start() {
    const child = spawn('setpriv', [...asPostgresAccount, '--pdeathsig=KILL', 'pgbouncer', file], {
      env,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    signal = (name) => child.kill(name)
    const ended = once(child, 'exit')
    exited = ended
    const log: string[] = []
    await new Promise<void>((resolve, reject) => {
      // Keep reading, or it would block on a full pipe.
      createInterface({ input: child.stderr }).on('line', (line) => {
        log.push(line)
        if (line.includes('process up')) resolve()
      })
      ended.then(() => reject(new Error(`PgBouncer exited:\n${log.join('\n')}`)), reject)
    })
  }

  await start()
  const url = new URL(address)
  url.pathname = `/${database}`
  url.searchParams.set('port', '6432')
  return {
    address: url.href,
    start,
    async stop() {
      signal('SIGKILL')
      await exited
    },
  }
}
