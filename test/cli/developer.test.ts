import { expect, test } from 'vitest'
import { copyWorld } from '../support/database.ts'
import { commandLine } from '../support/process.ts'

/** What `developer` prints. test/accounts/account-store.engines.test.ts has its rules. */

test('developers are printed with their keys and apps', async () => {
  const { run, json } = commandLine(await copyWorld())
  const created_at = expect.stringMatching(/Z$/)
  const ada = {
    id: 1,
    name: 'Ada',
    created_at,
    contact: 'ada@example.org',
    active_keys: 3,
    apps: { pending: 1, approved: 1, rejected: 1, deleted: 1 },
  }
  const bob = {
    ...ada,
    id: 2,
    name: 'Bob',
    contact: null,
    active_keys: 1,
    apps: { pending: 1, approved: 1, rejected: 0, deleted: 0 },
  }
  expect(await json('developer', 'list')).toEqual({
    developers: [ada, bob],
    pagination: { current_page: 1, total_pages: 1, per_page: 50, total: 2 },
  })
  expect((await json('developer', 'list', '--limit', '1', '--page', '2')).developers).toEqual([bob])
  const { stdout } = await run('developer', 'list')
  expect(stdout.replaceAll(/ +/g, ' ').split('\n')).toEqual([
    'ID NAME PENDING APPROVED REJECTED DELETED ACTIVE KEYS',
    '1 Ada 1 1 1 1 3',
    ' contact: ada@example.org',
    '2 Bob 1 1 0 0 1',
    '',
  ])
})

test('a contact is printed, changed and removed, and the audit log has no address', async () => {
  const { run, json } = commandLine(await copyWorld())
  const contact = async (...args: string[]) => (await run('developer', 'contact', ...args)).stdout
  expect(await contact('Ada')).toBe('The contact of Ada is ada@example.org.\n')
  expect(await contact('Ada', 'new@example.org')).toBe('The contact of Ada is new@example.org.\n')
  expect(await contact('Ada', 'new@example.org')).toBe('The contact of Ada is new@example.org.\n')
  for (let time = 0; time < 2; time++)
    expect(await contact('Ada', '--none')).toBe('Ada has no contact.\n')
  expect(await contact('Ada')).toBe('Ada has no contact.\n')
  expect(await json('developer', 'contact', 'Bob', ' bob@example.org ')).toEqual({
    id: 2,
    name: 'Bob',
    contact: 'bob@example.org',
  })
  const { stdout } = await run('audit', '--limit', '100')
  // Nothing that changed nothing.
  expect(stdout.match(/contact: \w+$/gm)).toEqual(Array(3).fill('contact: changed'))
  expect(stdout).not.toContain('@')
  expect((await json('key', 'list', '--developer', 'Bob')).keys).toMatchObject([
    { developer_contact: 'bob@example.org' },
  ])
})

test.for([
  { args: ['Mia', 'mia@example.org'], code: 1, named: 'there is no developer "Mia"' },
  { args: ['Bob', 'bob@example.org', '--none'], code: 2, named: 'choose an address or --none' },
  {
    args: ['Bob', 'bob'],
    code: 1,
    named: 'the contact must be an e-mail address such as ada@example.org',
  },
  {
    args: ['Bob', 'bob@bücher.example'],
    code: 1,
    named: 'the contact must have the ASCII form of its host: bob@xn--bcher-kva.example',
  },
])('developer contact $args is refused', async ({ args, code, named }) => {
  const result = await commandLine(await copyWorld()).run('developer', 'contact', ...args)
  expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(named) })
})

test('a rename prints the new name, and how many apps have it', async () => {
  const { run, json } = commandLine(await copyWorld())
  expect(await run('developer', 'rename', 'Ada', '--to', ' Lovelace & Co ')).toEqual({
    code: 0,
    stdout: 'The developer is Lovelace & Co now, with 1 listed app.\n',
    stderr: '',
  })
  const renamed = await json('developer', 'rename', 'Lovelace & Co', '--to', 'Lovelace')
  expect(renamed).toEqual({ id: 1, name: 'Lovelace', listed_apps: 1 })
})

test('a developer is removed once the keys are revoked, and has a number in the audit log', async () => {
  const { run, json } = commandLine(await copyWorld())
  const { id: key } = await json('key', 'issue', '--developer', 'Eve')
  expect(await run('developer', 'remove', 'Eve')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'apps-service: Eve has apps, possibly deleted ones, or active keys; transfer the apps and revoke the keys first\n',
  })
  await run('key', 'revoke', key)
  expect(await run('developer', 'remove', 'Eve')).toEqual({
    code: 0,
    stdout: 'Removed the developer Eve.\n',
    stderr: '',
  })
  const lines = (await run('audit', '--limit', '3')).stdout
  expect(lines).toMatch(/developer remove +developer 3 \(removed\)\n +name: Eve → –\n$/)
})

test.for([
  ['rename', 'Ada', '--to', 'Bob'],
  ['remove', 'Mia'],
])('developer %s %s is refused', async (args) => {
  expect(await commandLine(await copyWorld()).run('developer', ...args)).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^apps-service: .*"(Bob|Mia)"\n$/),
  })
})
