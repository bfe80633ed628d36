import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { addressAt, administer, startPostgres } from '../test/support/postgres.ts'

/**
 * Runs a command with the DATABASE_URL of a temporary PostgreSQL: `node on-postgres.ts COMMAND`.
 */

const server = await startPostgres()
await administer(server.address, 'create database apps')
const address = addressAt(server.address, 'apps')
const [command = '', ...args] = process.argv.slice(2)
console.error(`Started a temporary PostgreSQL, removed at exit. In a second terminal, before any command:

  export DATABASE_URL='${address}'
`)
const child = spawn(command, args, {
  stdio: 'inherit',
  env: { ...process.env, DATABASE_URL: address },
})
// A terminal sends SIGINT to the command as well. SIGTERM reaches only this process.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
const [code] = await once(child, 'exit')
await server.remove()
process.exitCode = code ?? 1
