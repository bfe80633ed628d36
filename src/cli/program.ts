import {
  constants,
  createReadStream,
  existsSync,
  fstatSync,
  openSync,
  writeFileSync,
} from 'node:fs'
import { parseEnv } from 'node:util'
import { Command, CommanderError } from 'commander'
import document from '../../generated/openapi.json' with { type: 'json' }
import { envFile } from '../config.ts'
import { OperatorError, UsageError } from '../contract/errors.ts'
import { readText } from '../import-export/read-lines.ts'
import { formatCommands } from '../util/command.ts'
import { cannotRead } from './file-errors.ts'
import { errorPrefix, messageOf, printError, printInfo } from './output.ts'

/**
 * The command line: finds the command, runs it, prints its error and sets the exit code. Called by
 * main.ts.
 */

/**
 * Commands and groups of commands, in the order of the help. Each is a file of its name, which
 * exports it as `command`.
 */
const commandNames = [
  'serve',
  'demo',
  'migrate',
  'status',
  'seed',
  'key',
  'category',
  'moderation',
  'moderator',
  'app',
  'review',
  'developer',
  'audit',
  'import',
  'counters',
  'export',
  'backup',
  'restore',
  'copy',
]

/** Runs the command that the arguments name. Exit codes: 0 success, 1 failure, 2 usage error. */
export async function run(args: string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as head closes the pipe early, which is not an error.
    if (error.code !== 'EPIPE') printError(messageOf(error))
    process.exit(1)
  })
  if (fstatSync(process.stdout.fd).isFile()) process.stdout._write = writeWhole
  const [first = '', second = ''] = args
  // commander's help command ignores the names of subcommands.
  const isHelp = first === 'help' && commandNames.includes(second)
  const words = isHelp ? [...args.slice(1), '--help'] : args
  const program = await programFor(words[0] ?? '')
  for (const command of [
    program,
    ...program.commands.flatMap((group) => [group, ...group.commands]),
  ]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => process.stdout.write(formatCommands(text)),
      writeErr: (text) => process.stderr.write(formatCommands(text)),
      outputError: (text) => printInfo(errorPrefix + toLine(text)),
    })
  }
  try {
    await loadEnvFile()
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    // commander has printed the error or the help.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
    else {
      printError(messageOf(error as Error))
      if (error instanceof UsageError) process.exitCode = 2
    }
  }
}

/**
 * Writes a chunk to a file. Node's own function does not notice if a disk takes only a part of it,
 * so a full disk would truncate the output with exit code 0.
 */
const writeWhole: typeof process.stdout._write = (chunk, _encoding, done) => {
  try {
    writeFileSync(process.stdout.fd, chunk)
    done()
  } catch (error) {
    done(error as Error)
  }
}

/**
 * Sets the variables of `.env`, if there is one, that are not set. Unlike Node's own function, it
 * refuses a file that is not UTF-8.
 */
export async function loadEnvFile(): Promise<void> {
  // deploy/as-service-account.sh names an empty file to Node, and sets the variables itself.
  const isReplaced = process.execArgv.some((option) => option.startsWith('--env-file'))
  if (isReplaced || !existsSync(envFile)) return
  const text = await readTrusted(envFile).catch((error: Error) => {
    throw cannotRead(envFile, error)
  })
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
}

/**
 * Refuses a file that is not regular, and one that accounts other than this process's, root and the
 * user of sudo own, or that everyone can write to, because it chooses the database. Windows has no
 * such accounts.
 */
async function readTrusted(file: string) {
  // Otherwise opening a FIFO waits for its writer.
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const stats = fstatSync(fd)
  if (!stats.isFile()) throw new OperatorError('it is not a regular file')
  const { uid, mode } = stats
  const owners = [process.getuid?.(), 0, Number(process.env.SUDO_UID)]
  if (process.getuid && (mode & 0o002 || !owners.includes(uid)))
    throw new OperatorError(
      `it belongs to uid ${uid}; it must belong to this account or root (chown), and not be writable by everyone (chmod o-w)`,
    )
  return readText(createReadStream(file, { fd }))
}

/** The program with the named command only; with all commands for help or an unknown name. */
export async function programFor(name: string): Promise<Command> {
  const program = new Command('./apps-service')
    .description('A catalogue of applications: its server, and the commands of its operators.')
    .version(document.info.version)
  // Most of a command's time is spent loading modules.
  for (const needed of commandNames.includes(name) ? [name] : commandNames) {
    const file = `./${needed}.ts`
    const { command }: { command: Command } = await import(file)
    program.addCommand(command)
  }
  return program
}

/** An error of commander, with its suggestion on the same line. */
const toLine = (text: string) => text.trim().replace('error: ', '').replaceAll('\n', ' ')
