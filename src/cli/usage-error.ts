import { Command } from 'commander'

/** Improves commander's errors about wrong usage. program.ts prints them. */

/**
 * commander's error on one line, about a command of the program. It suggests commands of every
 * group, and an option that was mistyped although a required one is missing, too.
 */
export function usageError(
  text: string,
  program: Command,
  command: Command,
  words: string[],
): string {
  const [, unknown] = /^error: unknown command '(.+)'/.exec(text) ?? []
  if (unknown !== undefined) return unknownCommand(unknown, program)
  // commander reports a missing option before an unknown one.
  const mistyped = text.startsWith('error: required option')
    ? errorOf(words, (probe) => {
        for (const { flags } of command.options) probe.option(flags)
        probe.argument('[words...]')
      })
    : undefined
  return toLine(mistyped ?? text)
}

const toLine = (text: string) => text.trim().replace('error: ', '').replaceAll('\n', ' ')

/** commander suggests only commands of the level at which the unknown one was typed. */
function unknownCommand(unknown: string, program: Command): string {
  const paths = program.commands.flatMap((command) => [
    command.name(),
    ...command.commands.map((one) => `${command.name()} ${one.name()}`),
  ])
  const pathsOf = Map.groupBy(paths, (path) => path.split(' ').at(-1) ?? path)
  const error = errorOf([unknown], (probe) => {
    for (const name of pathsOf.keys()) probe.command(name)
  })
  const [, similar] = /\n\(Did you mean (?:one of )?([^\n?]+)\?\)$/.exec(error ?? '') ?? []
  const meant = pathsOf.has(unknown) ? [unknown] : (similar?.split(', ') ?? [])
  const suggested = meant.flatMap((name) => {
    const found = pathsOf.get(name) ?? [name]
    return found.includes(name) ? [name] : found
  })
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(suggested)
  return `unknown command '${unknown}'${list && `; did you mean ${list}?`}`
}

/** The error of commander, with its suggestion, for a command that has only these parts. */
function errorOf(words: string[], addParts: (probe: Command) => void): string | undefined {
  const probe = new Command().exitOverride().configureOutput({ writeErr: () => {} })
  addParts(probe)
  try {
    probe.parse(words, { from: 'user' })
  } catch (error) {
    return (error as Error).message
  }
}
