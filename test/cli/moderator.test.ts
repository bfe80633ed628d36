import { expect, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { copyWorld, emptyCatalogueUrl } from '../support/database.ts'
import { commandLine } from '../support/process.ts'

/** What `moderator` prints. test/accounts/moderator-store.engines.test.ts has its rules. */

const time = expect.stringMatching(/^\d{4}-.*Z$/)

test('moderator add prints only the key on standard output, or JSON', async () => {
  const { run, json } = commandLine(await copyWorld())
  const added = await run('moderator', 'add', ' Ada Lovelace ', '--expires', '2999-01-31')
  expect(added).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^apps_mod_[0-9a-z]{12}_[0-9A-Za-z]{49}\n$/),
    stderr: 'Sign-in key of Ada Lovelace, until 2999-01-31 00:00 UTC. It is not shown again:\n',
  })
  expect((await run('moderator', 'list')).stdout).not.toContain(added.stdout.slice(22, -1))
  expect((await run('audit', '--limit', '1')).stdout).toContain('moderator Ada Lovelace')
  expect(await json('moderator', 'add', 'Ada')).toEqual({
    id: expect.stringMatching(/^[0-9a-z]{12}$/),
    key: expect.stringMatching(/^apps_mod_/),
    name: 'Ada',
    expires_at: time,
  })
})

test('moderator add refuses a name on two lines, and a time in the past', async () => {
  const { run } = commandLine(await copyWorld())
  expect(await run('moderator', 'add', 'Ada\nBo')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^apps-service: [^\n]+\n$/),
  })
  const past = await run('moderator', 'add', 'Ada', '--expires', '2020-01-01')
  expect(past).toMatchObject({ code: 2, stdout: '' })
})

test('moderator list says so if there is none', async () => {
  expect(await commandLine(await emptyCatalogueUrl()).run('moderator', 'list')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No moderators; ./apps-service moderator add NAME adds one.\n',
  })
})

test('moderator list prints each key with its state', async () => {
  const { run, json } = commandLine(await copyWorld())
  const bo = await json('moderator', 'add', 'Bo')
  const ada = await json('moderator', 'add', 'Ada')
  await run('moderator', 'revoke', bo.id)
  const row = { created_at: time, expires_at: time, revoked_at: null, last_used_at: null }
  expect(await json('moderator', 'list')).toEqual([
    { ...row, id: ada.id, name: 'Ada', state: 'active' },
    { ...row, id: bo.id, name: 'Bo', state: 'revoked', revoked_at: time },
  ])
  expect((await run('moderator', 'list')).stdout).toMatch(
    new RegExp(
      `^ID +NAME +AGE +EXPIRES \\(UTC\\) +USED +STATE\n${ada.id} +Ada .* never +active\n${bo.id} +Bo .* revoked\n$`,
    ),
  )
})

test('moderator revoke takes the id or the whole key', async () => {
  const { run, json } = commandLine(await copyWorld())
  const ada = await json('moderator', 'add', 'Ada')
  const bo = await json('moderator', 'add', 'Bo')
  expect(await run('moderator', 'revoke', ada.id)).toEqual({
    code: 0,
    stdout: `The sign-in key ${ada.id} of Ada is revoked.\n`,
    stderr: '',
  })
  const revoked = await json('moderator', 'revoke', bo.key)
  expect(revoked).toEqual({ id: bo.id, name: 'Bo', revoked_at: time })
  expect(await run('moderator', 'revoke', bo.id)).toMatchObject({ code: 1, stdout: '' })
})

test.for<{ what: string; argument: string; code: number; stderr: RegExp }>([
  { what: 'an unknown key', argument: 'a'.repeat(12), code: 1, stderr: / aaaaaaaaaaaa\n$/ },
  { what: 'a name', argument: 'Ada', code: 2, stderr: /must be a sign-in key or its id\n$/ },
  {
    what: 'a mistyped key, which may be a secret and is not repeated',
    argument: `apps_mod_${'a'.repeat(12)}_${'x'.repeat(49)}`,
    code: 2,
    stderr: /^(?!.*xxx)/,
  },
])('moderator revoke refuses $what', async ({ argument, code, stderr }) => {
  const refused = await commandLine(await copyWorld()).run('moderator', 'revoke', argument)
  expect(refused).toEqual({ code, stdout: '', stderr: expect.stringMatching(stderr) })
})

test('entries of the audit log that earlier versions wrote stay readable', async () => {
  const address = await copyWorld()
  const database = openDatabase(address)
  const entry = { operator: 'root', at: new Date().toISOString() }
  const [added, revoked] = [
    { id: 'a', name: 'Ada' },
    { id: 'a', name: 'Ada', revoked_at: 'now' },
  ]
  await database.write(({ sql }) =>
    sql('audit').insert([
      { ...entry, action: 'operator add', after: JSON.stringify(added) },
      { ...entry, action: 'operator revoke', after: JSON.stringify(revoked) },
    ]),
  )
  await database.close()
  const { run, json } = commandLine(address)
  expect((await run('audit', '--limit', '2')).stdout).toMatch(
    /root +operator add +moderator Ada\n.*\n.*root +operator revoke +moderator Ada\n/,
  )
  expect(await json('audit', '--limit', '2')).toMatchObject([
    { action: 'operator add', after: added },
    { action: 'operator revoke', after: revoked },
  ])
})
