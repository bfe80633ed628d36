import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { asPostgresAccount, type PostgresServer } from './postgres.ts'

/** Where Debian's package puts the program is not in everybody's path. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

const versioned = spawnSync('pgbouncer', ['--version'], { env, encoding: 'utf8' }).stdout ?? ''
const minor = Number(/^PgBouncer 1\.(\d+)/.exec(versioned)?.[1])

export const hasPgbouncer = !Number.isNaN(minor)

/** Before 1.21 a statement that was prepared is lost with the transaction: there each client has a connection of its own. */
export const poolMode = minor >= 21 ? 'transaction' : 'session'

/** Few, so that those who share them meet; of its own for each client where they do not. */
const poolSize = poolMode === 'transaction' ? 3 : 50

export type Pgbouncer = Readonly<{
  /** The database, through the pooler. */
  address: string
  /** Has it lead to another database of the server from now on. */
  leadTo: (database: string) => void
  start: () => Promise<void>
  stop: () => Promise<void>
}>

/** Starts a PgBouncer before a database of a server, in the server's folder, as docs/operating.md has it. */
export async function startPgbouncer({ folder, address }: PostgresServer, database: string): Promise<Pgbouncer> {
  const file = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'users.txt')
  writeFileSync(users, '"apps" ""\n')
  const configure = (name: string) =>
    writeFileSync(
      file,
      `[databases]
${database} = host=${folder} dbname=${name}

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
      // Read on to the end, or it would wait for room in the pipe.
      createInterface({ input: child.stderr }).on('line', (line) => {
        log.push(line)
        if (line.includes('process up')) resolve()
      })
      ended.then(() => reject(new Error(`PgBouncer ended:\n${log.join('\n')}`)), reject)
    })
  }

  configure(database)
  await start()
  const url = new URL(address)
  url.pathname = `/${database}`
  url.searchParams.set('port', '6432')
  return {
    address: url.href,
    leadTo(name) {
      configure(name)
      signal('SIGHUP')
    },
    start,
    async stop() {
      signal('SIGKILL')
      await exited
    },
  }
}
