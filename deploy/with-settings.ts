import { readFileSync } from 'node:fs'
import { fileErrorReason } from '../src/cli/file-errors.ts'

/**
 * Becomes a command with the settings of a file, for the units and as-service-account.sh:
 * with-settings.ts [--environment-first] FILE COMMAND [ARGUMENT…]. Settings replace variables of the
 * environment, or, with --environment-first, only add to them. Lines are read as systemd's
 * EnvironmentFile= reads them (systemd.exec(5)).
 */

if (import.meta.main) {
  const args = process.argv.slice(2)
  const isEnvironmentFirst = args[0] === '--environment-first'
  const [file = '', command = '', ...rest] = isEnvironmentFirst ? args.slice(1) : args

  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
    const { settings, ignoredLines } = parseSettings(text)
    for (const line of ignoredLines)
      console.error(`apps-service: ${file}: line ${line} is ignored, since it is not NAME=value`)
    const variables = {
      // For the commands that a unit prints.
      APPS_SERVICE_COMMAND: 'sudo apps-service',
      ...(isEnvironmentFirst ? { ...settings, ...process.env } : { ...process.env, ...settings }),
    }
    if (!process.execve) throw new Error('this system cannot replace a process')
    process.execve(command, [command, ...rest], variables)
  } catch (error) {
    const reason = fileErrorReason(error as Error)
    console.error(`apps-service: cannot read the settings in ${file}: ${reason}`)
    process.exitCode = 1
  }
}

/** The settings of a file, and the numbers of lines that have no valid name. */
export function parseSettings(text: string) {
  const settings: Record<string, string> = {}
  const ignoredLines: number[] = []
  const comment = /[#;][^\n\r]*/
  const name = /(?<name>[^\n\r][^=\n\r]*)/
  const quoted = /(?<quoted>(?:[ \t]*(?:'[^']*'?|"(?:\\[\s\S]|[^"\\])*"?))*)/
  const bare = /[ \t]*(?<bare>(?:\\[\s\S]|[^\n\r\\])*)\\?/
  const assignment = `${name.source}(?:=${quoted.source}${bare.source})?`
  const lines = new RegExp(`[ \\t\\n\\r]*(?:${comment.source}|${assignment})`, 'gy')
  for (const { index, 0: match, groups } of text.matchAll(lines)) {
    const key = groups?.name?.trimEnd()
    if (key === undefined) continue
    if (groups?.bare !== undefined && /^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) {
      settings[key] = readQuoted(groups.quoted ?? '') + readBare(groups.bare)
    } else {
      const begin = index + match.length - match.trimStart().length
      ignoredLines.push(text.slice(0, begin).split('\n').length)
    }
  }
  return { settings, ignoredLines }
}

/** In single quotes nothing is special, in double quotes a \ before ", \, `, $ and a line break. */
function readQuoted(text: string): string {
  const parts = [...text.matchAll(/'([^']*)'?|"((?:\\[\s\S]|[^"\\])*)"?/g)]
  return parts
    .map(([, single, double = '']) => single ?? double.replaceAll(/\\(?:\n|(["\\`$]))/g, '$1'))
    .join('')
}

/** Without the \ before a character, escaped line breaks, and spaces at the end. */
function readBare(text: string): string {
  const characters = text.match(/\\?[\s\S]/gu) ?? []
  while (/^[ \t]$/.test(characters.at(-1) ?? '')) characters.pop()
  return characters.map((character) => character.replace(/^\\[\n\r]?/, '')).join('')
}
