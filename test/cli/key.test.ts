import { expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { copyWorld } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'
import { commandLine, serve } from '../support/process.ts'

const time = expect.stringMatching(/^\d{4}-.*Z$/)
const idOf = (key: string) => key.slice(5, 17)

test('keys are shown by their prefix, never with their secret', async () => {
  const cli = commandLine(await copyWorld())
  const { keys } = inject('world')
  const key = {
    name: null,
    developer_name: 'Ada',
    created_at: time,
    expires_at: time,
    last_used_at: null,
  }
  const listed = await cli.json('key', 'list')
  expect(listed.pagination).toEqual({ current_page: 1, total_pages: 1, per_page: 50, total: 4 })
  expect(
    listed.keys.toSorted((a: { state: string }, b: { state: string }) =>
      a.state < b.state ? -1 : 1,
    ),
  ).toEqual(
    expect.arrayContaining([
      { ...key, id: idOf(keys.ada), revoked_at: null, state: 'active' },
      { ...key, id: idOf(keys.bob), developer_name: 'Bob', revoked_at: null, state: 'active' },
      { ...key, id: idOf(keys.expired), revoked_at: null, state: 'expired' },
      { ...key, id: idOf(keys.revoked), revoked_at: time, state: 'revoked' },
    ]),
  )
  const table = await cli.run('key', 'list', '--developer', 'Bob')
  expect(table.stdout).toMatch(
    new RegExp(
      `^KEY +DEVELOPER +NAME +AGE +EXPIRES \\(UTC\\) +USED +STATE\napps_${idOf(keys.bob)} +Bob +\\d+\\w+ +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +never +active\n$`,
    ),
  )
  expect(table.stderr).toBe('Page 1 of 1, 1 in all.\n')
  expect(table.stdout).not.toContain(keys.bob.slice(18, 30))
})

test('a key can have a name and an expiry', async () => {
  const address = await copyWorld()
  const cli = commandLine(address)
  const issued = await cli.json(
    'key',
    'issue',
    '--developer',
    'Bob',
    '--name',
    ' nightly upload ',
    '--expires',
    '12h',
  )
  expect(issued).toEqual({
    id: idOf(issued.key),
    key: expect.stringMatching(/^apps_/),
    name: 'nightly upload',
    developer_name: 'Bob',
    expires_at: time,
  })
  expect(Date.parse(issued.expires_at) - Date.now()).toBeGreaterThan(11.9 * 60 * 60 * 1000)
  expect(Date.parse(issued.expires_at) - Date.now()).toBeLessThanOrEqual(12 * 60 * 60 * 1000)
  const { expires_at } = await cli.json(
    'key',
    'issue',
    '--developer',
    'Bob',
    '--expires',
    '2999-01-31',
  )
  expect(expires_at).toBe('2999-01-31T00:00:00.000Z')
  const brief = await cli.json('key', 'issue', '--developer', 'Bob', '--expires', '2s')

  const server = await serve(address)
  const read = async (key: string) => (await server.request('GET', '/apps', { key })).status
  expect(await read(issued.key)).toBe(200)
  await expect.poll(() => read(brief.key)).toBe(401)
  const found = async (id: string) =>
    (await cli.json('key', 'list', '--developer', 'Bob')).keys.find(
      (key: { id: string }) => key.id === id,
    )
  // The last use is written after the response.
  await expect
    .poll(() => found(issued.id))
    .toMatchObject({ name: 'nightly upload', last_used_at: time, state: 'active' })
  expect(await found(brief.id)).toMatchObject({ name: null, state: 'expired' })
  const entry = (await cli.json('audit', '--developer', 'Bob')).at(-3)
  expect(entry).toMatchObject({ action: 'key issue', before: null })
  // Not the key.
  expect(entry.after).toEqual({
    id: issued.id,
    name: 'nightly upload',
    expires_at: issued.expires_at,
  })
})

test('a revoked key fails at the next request to a running server', async () => {
  const address = await copyWorld()
  const server = await serve(address)
  const cli = commandLine(address)
  const { keys } = inject('world')
  const update = async (key: string) =>
    (await server.request('PUT', '/apps/1', { key, json: { version: String(Math.random()) } }))
      .status
  expect([await update(keys.ada), await update(keys.bob)]).toEqual([200, 403])

  // By the whole key, or by its prefix.
  expect(await cli.run('key', 'revoke', keys.ada)).toEqual({
    code: 0,
    stdout: `The key apps_${idOf(keys.ada)} of Ada is revoked.\n`,
    stderr: '',
  })
  expect([await update(keys.ada), await update(keys.bob)]).toEqual([401, 403])
  expect(await cli.json('key', 'revoke', `apps_${idOf(keys.bob)}`)).toEqual({
    id: idOf(keys.bob),
    developer_name: 'Bob',
    revoked_at: time,
  })
  expect([await update(keys.ada), await update(keys.bob)]).toEqual([401, 401])
  expect((await cli.json('audit', '--developer', 'Bob')).at(-1)).toMatchObject({
    action: 'key revoke',
    key_id: null,
    before: { id: idOf(keys.bob), revoked_at: null },
    after: { id: idOf(keys.bob), revoked_at: time },
  })

  expect(await cli.run('key', 'revoke', idOf(keys.ada))).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^apps-service: the key apps_\w{12} was already revoked at \d{4}-\S+\n$/,
    ),
  })
  expect(await cli.run('key', 'revoke', 'apps_000000000000')).toMatchObject({
    code: 1,
    stderr: 'apps-service: there is no key apps_000000000000\n',
  })
  // A mistyped key may still be most of a secret.
  const mistyped = `${keys.expired.slice(0, -1)}-`
  const refused = await cli.run('key', 'revoke', mistyped)
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toBe('apps-service: the argument must be an API key or its id\n')
})

test('a new developer whose name resembles others is pointed out', async () => {
  const cli = commandLine(await copyWorld())
  const issue = async (developer: string) =>
    (await cli.run('key', 'issue', '--developer', developer)).stderr
  expect(await issue('Harbour Software')).not.toContain('similar')
  const similarTo = async (name: string) =>
    /^New developer; similar: (.*)\.$/m.exec(await issue(name))?.[1]
  expect(await similarTo('H\u0430rbour software')).toBe('Harbour Software')
  expect(await similarTo('H\u0430rb\u043Eur s\u043Eftware')).toMatch(/^Harbour Software/)
  expect(await similarTo('Harbor Software')).toMatch(/^Harbour Software/)
  expect(await issue('Гавань')).not.toContain('similar')
  expect(await similarTo('Гaвaнь')).toBe('Гавань')
  expect(await issue('Harbour Software')).not.toContain('similar')
})

test('a command that finds no developer of a name lists similar ones, and does not wait for writes', async () => {
  const address = await copyWorld()
  const cli = commandLine(address)
  await cli.run('key', 'issue', '--developer', 'Harbour Software')
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  const release = await holdWrite(database)
  onTestFinished(release)
  for (const command of [
    ['key', 'list', '--developer'],
    ['audit', '--developer'],
    ['app', 'list', '--developer'],
    ['moderation', 'queue', '--developer'],
    ['app', 'transfer', '1', '--to'],
    ['developer', 'remove'],
    ['developer', 'rename', '--to', 'Harbour', '--'],
  ]) {
    const { code, stderr } = await cli.run(...command, 'Harbor Software')
    expect([code, stderr], command.join(' ')).toEqual([
      1,
      'apps-service: there is no developer "Harbor Software"; similar: Harbour Software\n',
    ])
  }
  // Names with words that begin with those of the text.
  expect((await cli.run('key', 'list', '--developer', 'soft harb')).stderr).toBe(
    'apps-service: there is no developer "soft harb"; similar: Harbour Software\n',
  )
})

test.for<[what: string, args: string[], outcome: object]>([
  [
    'a key, alone on standard output',
    ['issue', '--developer', 'Ada'],
    {
      code: 0,
      stdout: expect.stringMatching(/^apps_[0-9a-z]{12}_[0-9A-Za-z]{49}\n$/),
      stderr: expect.stringMatching(
        /^Key of Ada, until \d{4}-\d\d-\d\d \d\d:\d\d UTC\. It is not shown again:\n$/,
      ),
    },
  ],
  [
    'the new developer of a key',
    ['issue', '--developer', ' Grace '],
    { code: 0, stderr: expect.stringMatching(/^Key of the new developer Grace, .*\n$/) },
  ],
  [
    'why a developer needs a name',
    ['issue', '--developer', ' '],
    {
      code: 1,
      stdout: '',
      stderr: 'apps-service: a developer name must have 1 to 100 characters, not 0\n',
    },
  ],
  [
    'that a developer does not exist',
    ['list', '--developer', 'Eve'],
    { code: 1, stdout: '', stderr: 'apps-service: there is no developer "Eve"\n' },
  ],
])('prints %s', async ([, args, outcome]) => {
  const cli = commandLine(await copyWorld())
  expect(await cli.run('key', ...args)).toMatchObject(outcome)
})

test('a key is issued as JSON', async () => {
  const cli = commandLine(await copyWorld())
  expect(await cli.json('key', 'issue', '--developer', 'Ada')).toEqual({
    id: expect.stringMatching(/^[0-9a-z]{12}$/),
    key: expect.stringMatching(/^apps_/),
    name: null,
    developer_name: 'Ada',
    expires_at: expect.stringMatching(/Z$/),
  })
})
