import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { addModerator } from '../../src/accounts/moderator-store.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { exampleLine, toLines } from '../support/catalogue-file.ts'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, executable, expectRefusal, run } from '../support/process.ts'
import { startService } from '../support/service.ts'

/** What `audit` prints. entries and entry-filters in test/moderation/ have what it finds. */

test('JSON has what an entry is about, who made it and what changed', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const json = { name: 'Tide Table' }
  await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
  const entries = await commandLine(service.databaseUrl).json('audit')
  expect(entries.at(-1)).toEqual({
    id: expect.any(Number),
    at: expect.stringMatching(/Z$/),
    action: 'app update',
    operator: null,
    operator_name: null,
    operator_id: null,
    key_id: keys.ada.slice(5, 17),
    app_id: apps.approved,
    app_slug: 'tide-clock',
    app_name: 'Tide Table',
    developer_id: 1,
    developer_name: 'Ada',
    category_id: null,
    category_slug: null,
    before: { name: 'Tide Clock' },
    after: { name: 'Tide Table' },
  })
  expect(entries.find(({ id }: { id: number }) => id === 1)).toMatchObject({
    action: 'category add',
    operator: 'world',
    key_id: null,
    app_id: null,
    developer_id: null,
    category_slug: 'tools',
    before: null,
    after: { slug: 'tools', name: 'Tools' },
  })
})

test('JSON has keywords as a list, as everywhere', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const { run, json } = commandLine(service.databaseUrl)
  for (const keywords of [['stars', 'night sky'], ['stars'], []])
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { keywords } })
  const changes = (await json('audit')).slice(-3)
  expect(changes).toMatchObject([
    { before: { keywords: ['tides', 'harbour'] }, after: { keywords: ['stars', 'night sky'] } },
    { before: { keywords: ['stars', 'night sky'] }, after: { keywords: ['stars'] } },
    { before: { keywords: ['stars'] }, after: { keywords: null } },
  ])
  const { history } = await json('moderation', 'show', String(apps.approved))
  expect(history.slice(-3).map(({ after }: { after: unknown }) => after)).toEqual(
    changes.map(({ after }: { after: unknown }) => after),
  )
  const { stdout } = await run('audit', '--app', String(apps.approved))
  expect(stdout).toContain('keywords: stars, night sky → stars')
  expect(stdout).toContain('keywords: stars → –')
})

test('audit lists what a moderator did on the page, and not what others did in this name', async () => {
  const service = await startService()
  const { apps } = service.world
  const env = { DATABASE_URL: service.databaseUrl, OPERATOR: 'Ada Lovelace' }
  await run(['moderation', 'approve', String(apps.pending)], env)
  await service.database.write(async (runner) => {
    const { id } = await addModerator(runner, 'Ada Lovelace', { operator: 'test' })
    const actor = { operator: 'test', operatorName: 'Ada Lovelace', operatorId: id }
    await decideApp(runner, 'approve', apps.bobsPending, actor)
  })
  const cli = commandLine(service.databaseUrl)
  expect(await cli.json('audit', '--moderator', 'Ada Lovelace')).toMatchObject([
    { action: 'app approve', app_id: apps.bobsPending },
  ])
  expectRefusal(await cli.run('audit', '--moderator', 'Bo'), /"Bo"; .*Ada Lovelace$/m)
})

test.for<{ args: string; message: RegExp }>([
  { args: '--app 1 --developer Ada', message: /developer/ },
  { args: '--after 0 --app 1', message: /'--after <id>' cannot be used with option '--app/ },
  { args: '--after 0 --developer Ada', message: /with option '--developer/ },
  { args: '--after 0 --moderator Ada', message: /with option '--moderator/ },
  { args: '--after 0 --since 1d', message: /with option '--since/ },
  { args: '--after 0 --until 1d', message: /with option '--until/ },
])('audit $args is wrong usage', async ({ args, message }) => {
  const { code, stdout, stderr } = await commandLine(await copyWorld()).run(
    'audit',
    ...args.split(' '),
  )
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^apps-service: [^\n]+\n$/)
  expect(stderr).toMatch(message)
})

test('audit prints a table', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const texts = {
    name: 'Tide Table',
    description: `Tide Clock is here. ${'Very '.repeat(100)}`,
    version: '2',
  }
  await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: texts })
  const cli = commandLine(service.databaseUrl)
  const shown = await cli.run('audit', '--limit', '1')
  expect(shown.code).toBe(0)
  expect(shown.stdout.split('\n')).toEqual([
    'WHEN (UTC)        WHO                      WHAT        ON',
    expect.stringMatching(
      /^\d{4}-\d\d-\d\d \d\d:\d\d {2}Ada \(apps_[0-9a-z]{12}\) {2}app update {2}app 1 tide-clock$/,
    ),
    '    name: Tide Clock → Tide Table; description: …is here. → …is here. Very Very…',
    '',
  ])
  expect(shown.stderr).toBe('Older entries are not listed. Use a higher --limit, or --until.\n')
  const entries = await cli.json('audit')
  const whole = await cli.run('audit', '--limit', String(entries.length))
  expect(whole.stderr).toBe('')
  // An entry is about an app, a developer or a category.
  expect(whole.stdout).toMatch(
    / {2}category add +category tools\n[\s\S]* {2}key issue +developer Bob\n/,
  )
  expect(await cli.run('audit', '--since', '2999-01-01')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No entries.\n',
  })
  for (const [option, value] of [
    ['--app', '99'],
    ['--developer', 'Eve'],
  ] as const)
    expectRefusal(await cli.run('audit', option, value), new RegExp(value))
})

test('the table shows new values, and changes with a dash for no value', async () => {
  const service = await startService()
  const { ada } = service.world.keys
  const json = { name: 'Star Map', description: 'The sky.', category_id: 1 }
  const created = await service.request('POST', '/apps', { key: ada, json })
  const id = String(created.body.data.app_id)
  for (const short_description of ['In short.', '']) {
    await service.request('PUT', `/apps/${id}`, { key: ada, json: { short_description } })
  }
  const { stdout } = await commandLine(service.databaseUrl).run('audit', '--app', id)
  expect(stdout.split('\n').filter((line) => line.startsWith(' '))).toEqual([
    '    name: Star Map; description: The sky.; version: 1.0.0; category_id: 1; stat…',
    '    short_description: – → In short.',
    '    short_description: In short. → –',
  ])
})

test('the table shows addresses as browsers send them, with their hosts whole', async () => {
  const service = await startService()
  const { ada } = service.world.keys
  const { pending } = service.world.apps
  for (const host of ['ex\u0430mple.org', 'b\u00FCcher.example'])
    await service.request('PUT', `/apps/${pending}`, {
      key: ada,
      json: { source_code_url: `https://${host}/a/long/path` },
    })
  const json = { name: 'Star Map', description: 'D', category_id: 1, version: '1' }
  const website_url = `https://b\u00FCcher.example/${'x'.repeat(100)}`
  await service.request('POST', '/apps', { key: ada, json: { ...json, website_url } })
  const { stdout } = await commandLine(service.databaseUrl).run('audit', '--limit', '3')
  expect(stdout.split('\n').filter((line) => line.startsWith(' '))).toEqual([
    '    source_code_url: –',
    '    → https://xn--exmple-4nf.org/a/long/path (ex\u0430mple.org)',
    '    source_code_url: https://xn--exmple-4nf.org/a/long/path (ex\u0430mple.org)',
    '    → https://xn--bcher-kva.example/a/long/path (b\u00FCcher.example)',
    expect.stringMatching(/^ {4}name: Star Map; /),
    `    website_url: https://xn--bcher-kva.example/${'x'.repeat(15)}… (b\u00FCcher.example)`,
  ])
})

test('the table names a removed developer by number', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  await service.request('PUT', `/apps/${apps.bobs}`, { key: keys.bob, json: { version: '2' } })
  const cli = commandLine(service.databaseUrl)
  for (const id of [apps.bobs, apps.bobsPending])
    await cli.json('app', 'transfer', String(id), '--to', 'Ada')
  await cli.json('key', 'revoke', keys.bob)
  await cli.json('developer', 'remove', 'Bob')
  expect((await cli.run('audit', '--app', String(apps.bobs))).stdout).toMatch(
    / {2}developer 2 \(apps_[0-9a-z]{12}\) {2}app update {2}/,
  )
})

describe('OPERATOR', () => {
  test('names the person beside the account, wherever an entry is printed', async () => {
    const address = await copyWorld()
    const { run: runUnnamed, json } = commandLine(address)
    const env = { DATABASE_URL: address, OPERATOR: ' Jörg ' }
    expect(await run(['moderation', 'approve', '2'], env)).toMatchObject({ code: 0 })
    expect(await run(['import', '-'], env, toLines([exampleLine]))).toMatchObject({ code: 0 })
    expect(await runUnnamed('moderation', 'approve', '6')).toMatchObject({ code: 0 })

    const [named, , unnamed] = await json('audit', '--limit', '3')
    const { operator } = unnamed
    expect(unnamed).toMatchObject({ operator_name: null })
    expect(named).toMatchObject({ operator, operator_name: 'Jörg' })
    const { stdout } = await runUnnamed('audit', '--limit', '3')
    expect(stdout.match(/^\d.{15} {2}.*?(?= {2})/gm)?.map((line) => line.slice(18))).toEqual([
      `Jörg (${operator})`,
      `Jörg (${operator})`,
      operator,
    ])
    expect((await runUnnamed('moderation', 'show', '2')).stdout).toContain(
      `  Jörg (${operator})  app approve\n`,
    )
    expect((await runUnnamed('status')).stdout).toContain(` by Jörg (${operator})\n`)
    const { last_import } = (await json('status')).catalogue
    expect(last_import).toMatchObject({ operator, operator_name: 'Jörg' })
  })

  test('can be in .env, where the environment has precedence', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, '.env'), '\uFEFFOPERATOR=Ada\n')
    const address = await copyWorld()
    const approve = (id: string, more = {}) =>
      promisify(execFile)(executable, ['moderation', 'approve', id], {
        env: { PATH: process.env.PATH, DATABASE_URL: address, ...more },
        cwd: folder,
      })
    await approve('2')
    await approve('6', { OPERATOR: 'Bob' })
    const entries = await commandLine(address).json('audit', '--limit', '2')
    expect(entries.map(({ operator_name }: { operator_name: string }) => operator_name)).toEqual([
      'Ada',
      'Bob',
    ])
    writeFileSync(join(folder, '.env'), Buffer.from('PORT=1\nOPERATOR=J\xf6rg\n', 'latin1'))
    await expect(approve('3')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^apps-service: [^\n]*\/\.env: line 2 [^\n]*\n$/),
    })
  })

  test('that is not a name is refused, and nothing is done', async () => {
    const address = await copyWorld()
    const refused = await run(['moderation', 'approve', '2'], {
      DATABASE_URL: address,
      OPERATOR: 'Ada\nroot',
    })
    expectRefusal(refused, /OPERATOR must be .*"Ada/)
    expect((await commandLine(address).json('moderation', 'queue')).pagination.total).toBe(2)
  })
})

test('--after prints the entries after an id, oldest first, and where to continue', async () => {
  const service = await startService()
  const key = service.world.keys.ada
  const cli = commandLine(service.databaseUrl)
  const [last] = await cli.json('audit', '--limit', '1')
  for (const version of ['2', '3', '4'])
    await service.request('PUT', '/apps/1', { key, json: { version } })
  const after = (id: number, ...options: string[]) =>
    cli.run('audit', '--after', String(id), ...options)
  const first = await after(last.id, '--limit', '2')
  expect(first.stdout.split('\n').filter((line) => /^ /.test(line))).toEqual([
    '    version: 1.0.0 → 2',
    '    version: 2 → 3',
  ])
  expect(first).toMatchObject({
    code: 0,
    stderr: `Newer entries are not listed. Use --after ${last.id + 2} to go on.\n`,
  })
  const rest = await after(last.id + 2, '--limit', '1')
  expect(rest).toMatchObject({ code: 0, stderr: '' })
  expect(rest.stdout).toContain('    version: 3 → 4\n')
  expect(await after(last.id + 3)).toEqual({ code: 0, stdout: '', stderr: 'No entries.\n' })
  const greatest = await after(Number.MAX_SAFE_INTEGER)
  expect(greatest).toEqual({ code: 0, stdout: '', stderr: 'No entries.\n' })
})

test.for(['-1', '00', '1.5', 'x', '', '9007199254740992', '1e3', '0x1'])(
  '--after refuses %j, which is no id of an entry',
  async (id) => {
    expect(await run(['audit', `--after=${id}`])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^apps-service: [^\n]* must be a whole number from 0\.\n$/),
    })
  },
)

test('audit ends silently if its reader closes the pipe', async () => {
  const env = { PATH: process.env.PATH, DATABASE_URL: await copyWorld() }
  const piped = promisify(execFile)('sh', ['-c', `"${executable}" audit --json | true`], { env })
  expect(await piped).toEqual({ stdout: '', stderr: '' })
})
