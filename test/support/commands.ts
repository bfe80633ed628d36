import type { Command } from 'commander'

/** The commands that do something, with what is typed for them behind the names given. */
export const leavesOf = (command: Command, names: string[] = []): { name: string; command: Command }[] =>
  command.commands.length === 0
    ? [{ name: names.join(' '), command }]
    : command.commands.flatMap((one) => leavesOf(one, [...names, one.name()]))
