#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { appCommand } from './cli/app.ts'
import { auditCommand } from './cli/audit.ts'
import { backupCommand } from './cli/backup.ts'
import { categoryCommand } from './cli/category.ts'
import { complain } from './cli/command.ts'
import { migrateCommand, seedCommand } from './cli/database.ts'
import { developerCommand } from './cli/developer.ts'
import { exportCommand } from './cli/export.ts'
import { importCommand } from './cli/import.ts'
import { keyCommand } from './cli/key.ts'
import { mockCommand } from './cli/mock.ts'
import { moderationCommand } from './cli/moderation.ts'
import { serveCommand } from './cli/serve.ts'
import { ConfigError } from './config.ts'
import { Refusal, ServiceError } from './errors.ts'

// More threads than a database has connections, before the first of them is used: else a statement that waits for a lock would
// hold up whoever asks only for the data's version.
// An import has one, and each thread keeps memory of its own: one for its statements, one for its file.
process.env.UV_THREADPOOL_SIZE ??= process.argv[2] === 'import' ? '2' : '8'

/** Exit codes: 0 done, 1 failed, 2 misused. */
const program = new Command('apps-service')
  .description('A catalogue of applications: its server, and what its operators do.')
  .addCommand(serveCommand())
  .addCommand(mockCommand())
  .addCommand(migrateCommand())
  .addCommand(seedCommand())
  .addCommand(keyCommand())
  .addCommand(categoryCommand())
  .addCommand(moderationCommand())
  .addCommand(appCommand())
  .addCommand(developerCommand())
  .addCommand(auditCommand())
  .addCommand(importCommand())
  .addCommand(exportCommand())
  .addCommand(backupCommand())

for (const command of [program, ...program.commands.flatMap((group) => [group, ...group.commands])]) {
  command.exitOverride()
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough, as head has, needs no word about it.
  if (error.code !== 'EPIPE') complain(messageOf(error))
  process.exit(1)
})

try {
  await program.parseAsync()
} catch (error) {
  // commander has printed its own message, or the help that was asked for.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else complain(messageOf(error))
}

function messageOf(error: unknown): string {
  if (error instanceof Refusal || error instanceof ServiceError || error instanceof ConfigError) return error.message
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n', 1).join()
}
