import { toSingleLine } from './text.ts'

/** The command that starts the program, in a clone, in a container and in the texts of its help. */
const inDirectory = './apps-service'

/**
 * A command of this program, for a reader who types it: `./apps-service migrate`. It begins as the
 * running command was typed, which the executable and the files of deploy/ say in
 * APPS_SERVICE_COMMAND: a path or a name, possibly after `sudo `. A shell reads any other value as
 * the name of one program.
 */
export function formatCommand(args: string): string {
  const typed = toSingleLine(process.env.APPS_SERVICE_COMMAND ?? '') || inDirectory
  const sudo = typed.startsWith('sudo ') ? 'sudo ' : ''
  const file = typed.slice(sudo.length)
  const word = /^[\w./+@-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`
  return `${sudo}${word} ${args}`
}

/** The same for each command of a text of the help. */
export const formatCommands = (help: string): string =>
  help.replaceAll(`${inDirectory} `, () => formatCommand(''))
