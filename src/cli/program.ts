import { Command, CommanderError } from 'commander'
import service from '../../package.json' with { type: 'json' }
import { ConfigError } from '../config.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { printError } from './command.ts'

/** In the order of the help. Each is loaded only when needed, since most of a command's time is spent loading modules. */
const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./serve.ts')).serveCommand(),
  mock: async () => (await import('./mock.ts')).mockCommand(),
  migrate: async () => (await import('./database.ts')).migrateCommand(),
  seed: async () => (await import('./database.ts')).seedCommand(),
  key: async () => (await import('./key.ts')).keyCommand(),
  category: async () => (await import('./category.ts')).categoryCommand(),
  moderation: async () => (await import('./moderation.ts')).moderationCommand(),
  app: async () => (await import('./app.ts')).appCommand(),
  developer: async () => (await import('./developer.ts')).developerCommand(),
  audit: async () => (await import('./audit.ts')).auditCommand(),
  import: async () => (await import('./import.ts')).importCommand(),
  export: async () => (await import('./export.ts')).exportCommand(),
  backup: async () => (await import('./backup.ts')).backupCommand(),
  copy: async () => (await import('./copy.ts')).copyCommand(),
}

/** Runs the command of the arguments. Exit codes: 0 success, 1 failure, 2 usage error. */
export async function run(argv: string[]) {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as head closes the pipe early; that is no error.
    if (error.code !== 'EPIPE') printError(messageOf(error))
    process.exit(1)
  })
  const [, , name = '', subject = ''] = argv
  const program = await programFor(name)
  // commander's help command ignores the names of subcommands.
  const isOfSubcommand = name === 'help' && Object.hasOwn(commands, subject) && argv.length > 4
  const args = isOfSubcommand ? [...argv.slice(0, 2), ...argv.slice(3), '--help'] : argv
  for (const command of [program, ...program.commands.flatMap((group) => [group, ...group.commands])]) {
    command.exitOverride()
  }
  try {
    await program.parseAsync(args)
  } catch (error) {
    // commander has already printed its message or the help.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
    else printError(messageOf(error))
  }
}

/** The program with the named command only; with all commands for help or an unknown name. */
export async function programFor(name: string): Promise<Command> {
  const program = new Command('apps-service')
    .description('A catalogue of applications: its server, and the commands of its operators.')
    .version(service.version)
  const loaders = Object.hasOwn(commands, name) ? [commands[name]] : Object.values(commands)
  for (const load of loaders) if (load) program.addCommand(await load())
  return program
}

function messageOf(error: unknown): string {
  if (error instanceof ServiceError && error.cause instanceof OperatorError) return error.cause.message
  if (error instanceof OperatorError || error instanceof ServiceError || error instanceof ConfigError)
    return error.message
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n', 1).join()
}
