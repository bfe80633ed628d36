#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { categoryCommand } from './cli/category.ts'
import { migrateCommand, seedCommand } from './cli/database.ts'
import { keyCommand } from './cli/key.ts'
import { moderationCommand } from './cli/moderation.ts'
import { serveCommand } from './cli/serve.ts'
import { ConfigError } from './config.ts'
import { ServiceError } from './errors.ts'

/** Exit codes: 0 done, 1 failed, 2 misused. */
const program = new Command('apps-service')
  .description('A catalogue of applications: its server, and what its operators do.')
  .addCommand(serveCommand())
  .addCommand(migrateCommand())
  .addCommand(seedCommand())
  .addCommand(keyCommand())
  .addCommand(categoryCommand())
  .addCommand(moderationCommand())

for (const command of [program, ...program.commands.flatMap((group) => [group, ...group.commands])]) {
  command.exitOverride().showHelpAfterError('(--help tells more)')
}

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
}

function exitCodeOf(error: unknown): number {
  // commander has printed its own message, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  process.stderr.write(`apps-service: ${messageOf(error)}\n`)
  return 1
}

function messageOf(error: unknown): string {
  if (error instanceof ServiceError || error instanceof ConfigError) return error.message
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n', 1).join()
}
