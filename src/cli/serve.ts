import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { withDatabase } from './command.ts'

export const command = new Command('serve')
  .description('serve the catalogue over HTTP until SIGTERM or SIGINT')
  .addHelpText('after', '\nIt is configured by environment variables; see docs/running.md.')
  .action(serve)

/** Milliseconds. A statement that takes longer means that the network to the database hangs. */
export const writeTimeout = 25_000

async function serve() {
  const config = readConfig()
  // Imported here, because the help needs none of it.
  const { serveUntilSignal } = await import('../servers.ts')
  await withDatabase((database) => serveUntilSignal(config, database), { writeTimeout })
}
