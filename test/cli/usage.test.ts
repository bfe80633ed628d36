import type { Command } from 'commander'
import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { programFor } from '../../src/cli/program.ts'
import { run } from '../support/process.ts'

/** Help and usage errors, which need no database. */

test('--help lists the commands', async () => {
  const { code, stdout, stderr } = await run(['--help'])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(
    /serve[\s\S]*migrate[\s\S]*seed[\s\S]*key[\s\S]*category[\s\S]*moderation[\s\S]*app[\s\S]*developer[\s\S]*audit/,
  )
})

test('--version prints the version', async () => {
  expect(await run(['--version'])).toEqual({
    code: 0,
    stdout: `${document.info.version}\n`,
    stderr: '',
  })
})

test.for<[how: string, args: string[], output: RegExp]>([
  ['without a command', [], /Usage: \.\/apps-service/],
  ['with an unknown command', ['frobnicate'], /^apps-service: unknown command 'frobnicate'\n$/],
  [
    'with a mistyped command',
    ['migrat'],
    /^apps-service: unknown command 'migrat' \(Did you mean migrate\?\)\n$/,
  ],
  [
    'with a command of a group, without the group',
    ['approve', '3'],
    /^apps-service: unknown command 'approve'\n$/,
  ],
  [
    'with a mistyped command of a group',
    ['moderation', 'aprove', '1'],
    /^apps-service: unknown command 'aprove' \(Did you mean approve\?\)\n$/,
  ],
  ['with help for an unknown command', ['help', 'frobnicate'], /Usage: \.\/apps-service/],
])('exits with 2 %s', async ([, args, output]) => {
  const { code, stdout, stderr } = await run(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(output)
  expect(stderr).not.toMatch(/\n\s+at /)
})

test('every command has help that fits a terminal, describes all its parts, and has an example and the JSON fields', async () => {
  const seen: string[] = []
  const read = (command: Command, name: string) => {
    const help = helpOf(command)
    expect(help).toMatch(new RegExp(`^Usage: ${['\\./apps-service', name].join(' ').trim()} `))
    expect(
      // A line of a catalogue file cannot be wrapped.
      help.split('\n').filter((line) => line.length > 80 && !line.startsWith('{"')),
      name,
    ).toEqual([])
    expect(help).toMatch(/^Usage: [^\n]+(?:\n[^\n]+)*\n\n(?!Arguments:|Options:|Commands:)[A-Za-z]/)
    const terms = [...help.matchAll(/\n(?:Arguments|Options|Commands):\n((?: .*\n)+)/g)]
      .flatMap(([, list = '']) => list.split('\n'))
      .filter((line) => /^ {2}\S/.test(line))
    expect(
      terms.filter((line) => !/\S {2,}\S/.test(line)),
      `${name}: what is not described`,
    ).toEqual([])
    // commander leaves an argument without description out of its list.
    for (const part of [...command.registeredArguments, ...command.options])
      expect([part.name(), part.description], name).not.toContain('')
    for (const { flags } of command.options.filter(({ mandatory }) => mandatory))
      expect(help.split('\n\n', 1).join(), name).toContain(` ${flags}`)
    if (help.includes('--json'))
      expect(help).toMatch(/\nExamples?:\n {2}\.\/apps-service [\s\S]*\nJSON: /)
    seen.push(name)
    for (const one of command.commands) read(one, `${name} ${one.name()}`.trim())
  }
  read(await programFor(''), '')
  expect(seen).toEqual(expect.arrayContaining(['serve', 'key issue', 'moderation queue', 'backup']))
})

test.for<[level: string, names: string[]]>([
  ['the program', []],
  ['a command', ['serve']],
  ['a group', ['key']],
  ['a command of a group', ['key', 'issue']],
])('prints the help of %s, and exits with 0', async ([, names]) => {
  let command = await programFor(names[0] ?? '')
  for (const name of names)
    command = command.commands.find((one) => one.name() === name) ?? expect.fail()
  const help = helpOf(command)
  for (const args of [
    [...names, '--help'],
    ['help', ...names],
  ])
    expect(await run(args)).toEqual({ code: 0, stdout: help, stderr: '' })
})

/** The help on a terminal of 80 columns. */
function helpOf(command: Command): string {
  let help = ''
  const output = { ...command.configureOutput() }
  command.configureOutput({ getOutHelpWidth: () => 80, writeOut: (text) => (help += text) })
  command.outputHelp()
  // Later tests run the same command.
  command.configureOutput(output)
  return help
}

const lists = ['moderation queue', 'app list', 'key list', 'developer list', 'review list --app 1']

/** `named` is what the error says, of which commander writes most. */
test.for<{ command: string; named: RegExp }>([
  { command: 'moderation queue --loud', named: /unknown option '--loud'/ },
  {
    command: 'moderation queue --chagned',
    named: /unknown option '--chagned' \(Did you mean --changed\?\)\n/,
  },
  { command: 'moderation queue --limit all', named: /'--limit <number>' argument 'all'/ },
  { command: 'app list --limit 0', named: /'--limit <number>' argument '0'/ },
  ...lists.map((list) => ({
    command: `${list} --limit 1001`,
    named: /'--limit <number>' argument '1001' is invalid\. It must be 1000 at most\./,
  })),
  {
    command: 'moderation queue --page 0',
    named: /'--page <number>' argument '0' is invalid\. It must be a whole number from 1\./,
  },
  { command: 'moderation show', named: /missing required argument 'id'/ },
  { command: 'moderation show x', named: /argument value 'x'/ },
  { command: 'moderation approve', named: /missing required argument 'ids'/ },
  { command: 'moderation approve 2 0x6', named: /argument value '0x6'/ },
  { command: 'moderation reject 2', named: /required option '--reason <text>' not specified/ },
  // An empty reason.
  { command: 'moderation reject 2 --reason ', named: /a reason / },
  { command: 'review remove 2 --reason ', named: /a reason / },
  { command: 'review remove 2 --because Spam', named: /required option '--reason <text>'/ },
  { command: 'moderator revoke Ada', named: /sign-in key/ },
  { command: 'key revoke Ada', named: /API key/ },
  { command: 'key issue', named: /required option '--developer <name>'/ },
  { command: 'key issue --develper Ada', named: /required option '--developer <name>'/ },
  {
    command: 'key issue --developer Ada --expires 2020-01-01',
    named: /'--expires <time>' argument '2020-01-01'/,
  },
  { command: 'copy --to mysql://x', named: /--to .*sqlite:PATH/ },
  { command: 'app list --status gone', named: /Allowed choices are pending, approved, / },
  { command: 'app restore x', named: /argument value 'x'/ },
  { command: 'app transfer 1', named: /required option '--to <developer>'/ },
  { command: 'audit --app Tide', named: /'--app <id>' argument 'Tide'/ },
  { command: 'audit --until 2026-02-30', named: /'--until <time>' argument '2026-02-30'/ },
  { command: 'audit --since 2026-02-30', named: /'--since <time>' argument '2026-02-30'/ },
  { command: 'developer rename Ada', named: /required option '--to <name>'/ },
  { command: 'category add --slug a --nmae A', named: /required option '--name <name>'/ },
  { command: 'category rename tools --slug utilities', named: /required option '--name <name>'/ },
])('$command is a usage error in one line, and nothing is done', async ({ command, named }) => {
  const env = { DATABASE_URL: 'sqlite:/dev/null/none.sqlite' }
  const { code, stdout, stderr } = await run(command.split(' '), env)
  expect(stderr).toMatch(named)
  expect(stderr).toMatch(/^apps-service: (?!error)[^\n]+\n$/)
  expect([code, stdout]).toEqual([2, ''])
})
