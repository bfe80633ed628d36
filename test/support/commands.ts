import type { Command } from 'commander'

/** The commands without subcommands, with their full names. */
export const leafCommands = (
  command: Command,
  names: string[] = [],
): { name: string; command: Command }[] =>
  command.commands.length === 0
    ? [{ name: names.join(' '), command }]
    : command.commands.flatMap((one) => leafCommands(one, [...names, one.name()]))
