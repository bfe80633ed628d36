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

test('a usage error is one line, and nothing is done', async () => {
  const cases: [command: string, complaint: RegExp][] = [
    ['moderation queue --loud', /unknown option '--loud'/],
    ['moderation queue --chagned', /unknown option '--chagned' \(Did you mean --changed\?\)\n/],
    ['key issue --develper Ada', /required option '--developer <name>' not specified\n/],
    ['category add --slug a --nmae A', /required option '--name <name>' not specified\n/],
    ['review remove 2 --because Spam', /required option '--reason <text>' not specified\n/],
    ['moderation queue --limit all', /must be a whole number from 1/],
    ...['moderation queue', 'app list', 'key list', 'developer list', 'review list --app 1'].map(
      (list): [string, RegExp] => [`${list} --limit 1001`, /must be 1000 at most/],
    ),
    ['moderation queue --page 0', /must be a whole number from 1/],
    ['moderation show', /missing required argument 'id'/],
    ['moderation show x', /must be a whole number from 1/],
    ['moderation approve', /missing required argument 'ids'/],
    ['moderation approve 2 0x6', /must be a number such as 108, or 108@\w+ with a revision/],
    ['moderation reject 2', /required option '--reason <text>'/],
    // An empty reason.
    ['moderation reject 2 --reason ', /a reason must have 1 to 1000 characters, not 0/],
    ['review remove 2 --reason ', /a reason must have 1 to 1000 characters, not 0/],
    ['moderator revoke Ada', /the argument must be a sign-in key or its id/],
    ['key revoke Ada', /the argument must be an API key or its id/],
    ['copy --to mysql://x', /--to must be sqlite:PATH/],
    ['app list --status gone', /Allowed choices are pending, approved, rejected, deleted/],
    ['app list --limit 0', /must be a whole number from 1/],
    ['app restore x', /must be a number such as 108/],
    ['app transfer 1', /required option '--to <developer>'/],
    ['audit --app Tide', /must be a whole number from 1/],
    ['audit --until 2026-02-30', /must be a time in UTC such as/],
    ['audit --since 2026-02-30', /must be a time in UTC such as/],
    ['key issue', /required option '--developer <name>'/],
    ['key issue --developer Ada --expires 2020-01-01', /must be in the future/],
    ['key issue --developer Ada --expires never', /must be a time in UTC such as/],
    ['developer rename Ada', /required option '--to <name>'/],
    ['category rename tools --slug utilities', /required option '--name <name>'/],
  ]
  const env = { DATABASE_URL: 'sqlite:/dev/null/none.sqlite' }
  const expectUsageError = async ([command, message]: (typeof cases)[number]) => {
    const { code, stdout, stderr } = await run(command.split(' '), env)
    expect(stderr).toMatch(message)
    expect(stderr, command).toMatch(/^apps-service: (?!error)[^\n]+\n$/)
    expect([code, stdout], command).toEqual([2, ''])
  }
  await Promise.all(cases.map(expectUsageError))
})
