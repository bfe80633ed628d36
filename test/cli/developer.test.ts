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
    active_keys: 1,
    apps: { pending: 1, approved: 1, rejected: 1, deleted: 1 },
  }
  const bob = {
    ...ada,
    id: 2,
    name: 'Bob',
    apps: { pending: 1, approved: 1, rejected: 0, deleted: 0 },
  }
  expect(await json('developer', 'list')).toEqual({
    developers: [ada, bob],
    pagination: { current_page: 1, total_pages: 1, per_page: 50, total: 2 },
  })
  expect((await json('developer', 'list', '--limit', '1', '--page', '2')).developers).toEqual([bob])
  expect((await run('developer', 'list')).stdout).toMatch(
    /^ID +NAME +PENDING +APPROVED +REJECTED +DELETED +ACTIVE KEYS\n1 +Ada +1 +1 +1 +1 +1\n2 +Bob +1 +1 +0 +0 +1\n$/,
  )
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
