import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { copyWorld } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'
import { commandLine } from '../support/process.ts'

/** What `key` prints. test/accounts/ has its rules. */

const time = expect.stringMatching(/^\d{4}-.*Z$/)
const idOf = (key: string) => key.slice(5, 17)
const { apps, keys } = inject('world')

test('keys are shown by their prefix, never with their secret', async () => {
  const { run, json } = commandLine(await copyWorld())
  const key = {
    name: null,
    developer_name: 'Ada',
    developer_contact: 'ada@example.org',
    created_at: time,
    expires_at: time,
    last_used_at: null,
    revoked_at: null,
    app_id: null,
    read_only: false,
  }
  const listed = await json('key', 'list')
  expect(listed.pagination).toEqual({ current_page: 1, total_pages: 1, per_page: 50, total: 6 })
  expect(listed.keys).toHaveLength(6)
  expect(listed.keys).toEqual(
    expect.arrayContaining([
      { ...key, id: idOf(keys.ada), state: 'active' },
      {
        ...key,
        id: idOf(keys.bob),
        developer_name: 'Bob',
        developer_contact: null,
        state: 'active',
      },
      { ...key, id: idOf(keys.expired), state: 'expired' },
      { ...key, id: idOf(keys.oneApp), app_id: apps.pending, state: 'active' },
      { ...key, id: idOf(keys.readOnly), read_only: true, state: 'active' },
      { ...key, id: idOf(keys.revoked), revoked_at: time, state: 'revoked' },
    ]),
  )
  const { stdout, stderr } = await run('key', 'list', '--developer', 'Bob')
  expect(stdout).toMatch(
    new RegExp(
      `^KEY +DEVELOPER +NAME +AGE +EXPIRES \\(UTC\\) +USED +STATE\napps_${idOf(keys.bob)} +Bob +\\d+\\w+ +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +never +active\n$`,
    ),
  )
  expect(stderr).toBe('Page 1 of 1, 1 in all.\n')
  expect(stdout).not.toContain(keys.bob.slice(18, 30))
})

describe('key issue', () => {
  test('prints the key alone on standard output', async () => {
    const { run } = commandLine(await copyWorld())
    expect(await run('key', 'issue', '--developer', 'Ada', '--expires', '2999-01-31')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^apps_[0-9a-z]{12}_[0-9A-Za-z]{49}\n$/),
      stderr: 'Key of Ada, until 2999-01-31 00:00 UTC. It is not shown again:\n',
    })
    const { stderr } = await run('key', 'issue', '--developer', ' Grace ')
    expect(stderr).toMatch(/^Key of the new developer Grace, .*\n$/)
    expect(await run('key', 'issue', '--developer', ' ')).toMatchObject({ code: 1, stdout: '' })
  })

  test('prints JSON', async () => {
    const { json } = commandLine(await copyWorld())
    const named = ['--name', ' nightly ', '--expires', '2999-01-31']
    const issued = await json('key', 'issue', '--developer', 'Bob', ...named)
    expect(issued).toEqual({
      id: idOf(issued.key),
      key: expect.stringMatching(/^apps_/),
      name: 'nightly',
      developer_name: 'Bob',
      expires_at: '2999-01-31T00:00:00.000Z',
      app_id: null,
      read_only: false,
    })
    expect(await json('key', 'issue', '--developer', 'Bob')).toMatchObject({ name: null })
  })

  test('makes a key for one app, for reading, or both; key list and the audit log have its rights', async () => {
    const { run, json } = commandLine(await copyWorld())
    const rights = [
      { options: ['--app', `${apps.bobs}`], app_id: apps.bobs, read_only: false },
      { options: ['--read-only'], app_id: null, read_only: true },
      { options: ['--app', `${apps.bobs}`, '--read-only'], app_id: apps.bobs, read_only: true },
    ]
    for (const { options, ...expected } of rights) {
      const { id } = await json('key', 'issue', '--developer', 'Bob', ...options)
      const { keys: listed } = await json('key', 'list', '--developer', 'Bob')
      expect(listed.find((key: { id: string }) => key.id === id)).toMatchObject(expected)
      expect(await json('audit', '--limit', '1')).toMatchObject([{ after: { id, ...expected } }])
    }
    const { stderr } = await run(
      'key',
      'issue',
      '--developer',
      'Bob',
      ...(rights[2]?.options ?? []),
    )
    expect(stderr).toContain(`Key of Bob, for app ${apps.bobs}, read-only, until `)
    const { stdout } = await run('key', 'list', '--developer', 'Bob')
    const details = stdout.split('\n').filter((line) => line.startsWith('  '))
    const app = `    app: ${apps.bobs}`
    expect(details).toEqual([app, '    read-only', app, '    read-only', app, '    read-only'])
  })

  test.for<{ what: string; options: string[]; code: number; reason: RegExp }>([
    { what: 'no app', options: ['Bob', '--app', '999'], code: 1, reason: /^there is no app 999$/ },
    {
      what: 'an app of another developer',
      options: ['Bob', '--app', `${apps.approved}`],
      code: 1,
      reason: /^app \d+ belongs to "Ada"$/,
    },
    {
      what: 'an app, of a new developer',
      options: ['Eve', '--app', `${apps.approved}`],
      code: 1,
      reason: /^app \d+ belongs to "Ada"$/,
    },
    {
      what: 'a deleted app',
      options: ['Ada', '--app', `${apps.deleted}`],
      code: 1,
      reason: /^app \d+ is deleted now; it must be restored first$/,
    },
    { what: 'a slug', options: ['Ada', '--app', 'gone'], code: 2, reason: /whole number/ },
  ])('refuses $what', async ({ options, code, reason }) => {
    const { run, json } = commandLine(await copyWorld())
    const refused = await run('key', 'issue', '--developer', ...options)
    expect(refused).toMatchObject({ code, stdout: '' })
    expect(refused.stderr.replace('apps-service: ', '').trim()).toMatch(reason)
    // Nothing was issued, and no developer was added.
    expect(await json('key', 'list')).toMatchObject({ pagination: { total: 6 } })
    expect(await json('developer', 'list')).toMatchObject({ pagination: { total: 2 } })
  })

  test('points out that the name of a new developer resembles others', async () => {
    const { run } = commandLine(await copyWorld())
    const issue = async (developer: string) =>
      (await run('key', 'issue', '--developer', developer)).stderr
    expect(await issue('Harbour Software')).not.toContain('similar')
    expect(await issue('Harbor Software')).toMatch(
      /^New developer; similar: Harbour Software\.\nKey of the new developer /,
    )
    expect(await issue('Harbor Software')).not.toContain('similar')
  })
})

describe('key revoke', () => {
  test.for<{ how: string; key: string }>([
    { how: 'the whole key', key: keys.bob },
    { how: 'its prefix', key: `apps_${idOf(keys.bob)}` },
    { how: 'its id', key: idOf(keys.bob) },
  ])('takes $how', async ({ key }) => {
    const { run, json } = commandLine(await copyWorld())
    expect(await run('key', 'revoke', key)).toEqual({
      code: 0,
      stdout: `The key apps_${idOf(keys.bob)} of Bob is revoked.\n`,
      stderr: '',
    })
    // The newest entry is of the command.
    expect(await json('audit', '--limit', '1')).toMatchObject([{ action: 'key revoke' }])
    expect(await run('key', 'revoke', key)).toMatchObject({ code: 1, stdout: '' })
  })

  test('does not repeat what may be most of a secret', async () => {
    const { run } = commandLine(await copyWorld())
    expect(await run('key', 'revoke', `${keys.ada.slice(0, -1)}-`)).toEqual({
      code: 2,
      stdout: '',
      stderr: 'apps-service: the argument must be an API key or its id\n',
    })
  })
})

test('a command that finds no developer of a name lists similar ones, and does not wait for writes', async () => {
  const address = await copyWorld()
  const { run } = commandLine(address)
  await run('key', 'issue', '--developer', 'Harbour Software')
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  onTestFinished(await holdWrite(database))
  for (const command of [
    ['key', 'list', '--developer'],
    ['audit', '--developer'],
    ['app', 'list', '--developer'],
    ['moderation', 'queue', '--developer'],
    ['app', 'transfer', '1', '--to'],
    ['developer', 'remove'],
    ['developer', 'rename', '--to', 'Harbour', '--'],
  ]) {
    const refused = await run(...command, 'Harbor Software')
    expect(refused, command.join(' ')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/"Harbor Software"; similar: Harbour Software\n$/),
    })
  }
})
