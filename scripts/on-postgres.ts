import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { addressAt, administer, startPostgres } from '../test/support/postgres.ts'

/** Runs a command with DATABASE_URL naming a throw-away PostgreSQL, which goes when the command ends: `node on-postgres.ts COMMAND`. */

const server = await startPostgres()
await administer(server.address, 'create database apps')
const address = addressAt(server.address, 'apps')
const [command = '', ...args] = process.argv.slice(2)
console.error(`A throw-away PostgreSQL, gone when this ends: ${address}`)
const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, DATABASE_URL: address } })
// The terminal sends it to all; what another process sends reaches this one alone.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
const [code] = await once(child, 'exit')
await server.remove()
process.exitCode = code ?? 1
