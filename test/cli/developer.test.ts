import { expect, inject, test } from 'vitest'
import { findOrAddDeveloper, renameDeveloper } from '../../src/accounts/account-store.ts'
import { openDatabase } from '../../src/db/database.ts'
import { newApp } from '../contract/valid-requests.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent, expectConsistentAt, findNames } from '../support/consistency.ts'
import { copyWorld, openWorld } from '../support/database.ts'
import { commandLine, serve } from '../support/process.ts'
import { startService } from '../support/service.ts'

const actor = { operator: 'test' }

test('developers are listed with their keys and apps', async () => {
  const cli = commandLine(await copyWorld())
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
  expect(await cli.json('developer', 'list')).toEqual({
    developers: [ada, bob],
    pagination: { current_page: 1, total_pages: 1, per_page: 50, total: 2 },
  })
  expect((await cli.json('developer', 'list', '--limit', '1', '--page', '2')).developers).toEqual([
    bob,
  ])
  expect((await cli.run('developer', 'list')).stdout).toMatch(
    /^ID +NAME +PENDING +APPROVED +REJECTED +DELETED +ACTIVE KEYS\n1 +Ada +1 +1 +1 +1 +1\n2 +Bob +1 +1 +0 +0 +1\n$/,
  )
})

test('a new name is shown and found in a running server at once, and keys stay valid', async () => {
  const address = await copyWorld()
  const server = await serve(address)
  const cli = commandLine(address)
  const { keys, apps } = inject('world')
  /** The developers of the apps that match all words. */
  const names = async (search: string) => {
    const { data } = (await server.request('GET', `/apps?search=${search}`)).body
    return data.apps
      .slice(0, data.search?.full_matches)
      .map((app: { developer_name: string }) => app.developer_name)
  }
  expect([await names('ada'), await names('lovelace')]).toEqual([['Ada'], []])
  expect(await cli.json('developer', 'rename', 'Ada', '--to', ' Lovelace & Co ')).toEqual({
    id: 1,
    name: 'Lovelace & Co',
    listed_apps: 1,
  })
  expect([await names('ada'), await names('lovelace')]).toEqual([[], ['Lovelace & Co']])
  const update = { key: keys.ada, json: { version: '2' } }
  expect(
    (await server.request('PUT', `/apps/${apps.approved}`, update)).body.data.app.developer_name,
  ).toBe('Lovelace & Co')
  // Apps that are not public yet are found by the new name once they are approved.
  await cli.run('moderation', 'approve', String(apps.pending))
  expect(await names('cloud+lovelace')).toEqual(['Lovelace & Co'])
  expect((await cli.json('audit', '--developer', 'Lovelace & Co')).at(-3)).toMatchObject({
    action: 'developer rename',
    app_id: null,
    before: { name: 'Ada' },
    after: { name: 'Lovelace & Co' },
  })
  await expectConsistentAt(address)
})

const refusal = 'a developer name must have 1 to 100 characters, not 0'
const refusalOf = (character: string) => `a developer name must not have the character ${character}`

test.for<[from: string, to: string, message: string]>([
  ['Eve', 'Ada', 'there is no developer "Eve"'],
  [' Eve ', 'Ada', 'there is no developer "Eve"'],
  [' Ada ', 'Bob', 'there is already a developer "Bob"'],
  ['Ada', 'Bob', 'there is already a developer "Bob"'],
  ['Ada', ' Ada', 'the developer already has the name "Ada"'],
  ['Ada', ' ', refusal],
  ['Ada', 'A\nB', 'a developer name must be on one line, without control characters'],
  ['Ada', '\u200b', refusalOf('U+200B (zero width space)')],
  ['Ada', 'a\u202eb', refusalOf('U+202E (right-to-left override)')],
  ['Ada', 'Ada\u{e0041}', refusalOf('U+E0041 (tag)')],
])('%j cannot become %j', async ([from, to, message]) => {
  const database = await openWorld()
  const renamed = database.write((runner) => renameDeveloper(runner, from, to, actor))
  await expect(renamed).rejects.toMatchObject({ name: 'OperatorError', message })
  expect(await findNames(database, 'ada')).toEqual(['Tide Clock'])
})

test('a developer without apps and active keys can be removed, and stays in the audit log', async () => {
  const address = await copyWorld()
  const cli = commandLine(address)
  const { id: key } = await cli.json('key', 'issue', '--developer', 'Eve')
  expect(await cli.run('developer', 'remove', 'Eve')).toMatchObject({
    code: 1,
    stderr:
      'apps-service: Eve has apps, possibly deleted ones, or active keys; transfer the apps and revoke the keys first\n',
  })
  await cli.run('key', 'revoke', key)
  expect(await cli.json('developer', 'remove', ' Eve ')).toEqual({ id: 3, name: 'Eve' })
  expect((await cli.json('developer', 'list')).developers).toMatchObject([
    { name: 'Ada' },
    { name: 'Bob' },
  ])
  // The others keep their expired and revoked ones.
  expect((await cli.json('key', 'list')).pagination.total).toBe(4)
  expect((await cli.json('audit')).slice(-3)).toMatchObject([
    { action: 'key issue', developer_id: 3, developer_name: null },
    { action: 'key revoke', developer_id: 3, after: { id: key } },
    { action: 'developer remove', developer_id: 3, before: { name: 'Eve' }, after: { name: null } },
  ])
  expect((await cli.run('audit')).stdout).toMatch(
    /developer remove +developer 3 \(removed\)\n +name: Eve → –\n$/,
  )
  await expectConsistentAt(address)
})

type Cli = ReturnType<typeof commandLine>
type IssuedKey = { id: string; key: string; expires_at: string }

test.for<[state: string, end: (cli: Cli, key: IssuedKey) => unknown]>([
  ['revoked', (cli, { id }) => cli.run('key', 'revoke', id)],
  ['expired at this moment', (_cli, { expires_at }) => freezeClock(Date.parse(expires_at))],
])(
  'a developer who has created an app with a key that is %s is removed once the app is transferred',
  async ([, end]) => {
    const service = await startService()
    const cli = commandLine(service.databaseUrl)
    const key: IssuedKey = await cli.json('key', 'issue', '--developer', 'Eve', '--expires', '1h')
    const createWith = (apiKey: string) =>
      service.request('POST', '/apps', {
        key: apiKey,
        headers: { 'Idempotency-Key': 'once' },
        json: newApp,
      })
    const adas = await createWith(service.world.keys.ada)
    const eves = (await createWith(key.key)).body.data.app_id
    const remove = () => cli.run('developer', 'remove', 'Eve')
    await end(cli, key)
    expect(await remove()).toMatchObject({ code: 1, stderr: expect.stringMatching(/Eve has apps/) })
    await cli.json('app', 'transfer', String(eves), '--to', 'Bob')
    expect(await remove()).toEqual({
      code: 0,
      stdout: 'Removed the developer Eve.\n',
      stderr: '',
    })
    // The other developers keep their Idempotency-Keys, and the audit log the entries of the key.
    expect((await createWith(service.world.keys.ada)).text).toBe(adas.text)
    expect((await cli.json('audit', '--app', String(eves)))[0]).toMatchObject({
      action: 'app create',
      key_id: key.id,
      developer_id: 3,
      developer_name: null,
    })
    await expectConsistent(service.database)
  },
)

test('a developer whose only app is deleted is not removed', async () => {
  const address = await copyWorld()
  const database = openDatabase(address)
  await database.write(async (runner) => {
    const { id } = await findOrAddDeveloper(runner, 'Eve')
    const { deleted } = inject('world').apps
    await runner.sql('apps').where({ id: deleted }).update({ developer_id: id })
  })
  await database.close()
  const cli = commandLine(address)
  expect(await cli.run('developer', 'remove', 'Eve')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Eve has apps, possibly deleted ones'),
  })
  expect(await cli.run('developer', 'remove', 'Mia')).toMatchObject({
    code: 1,
    stderr: 'apps-service: there is no developer "Mia"\n',
  })
})

test('a rename prints the new name', async () => {
  const cli = commandLine(await copyWorld())
  expect(await cli.run('developer', 'rename', 'Ada', '--to', 'Lovelace')).toEqual({
    code: 0,
    stdout: 'The developer is Lovelace now, with 1 listed app.\n',
    stderr: '',
  })
})
