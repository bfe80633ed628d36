import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { addModerator } from '../../src/accounts/moderator-store.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, executable, expectRefusal, run } from '../support/process.ts'
import { startService } from '../support/service.ts'

test('audit prints the newest entries, of all, an app or a developer, from and to a time', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  await service.request('PUT', `/apps/${apps.approved}`, {
    key: keys.ada,
    json: { name: 'Tide Table' },
  })
  await service.request('DELETE', `/apps/${apps.bobs}`, { key: keys.bob })
  const cli = commandLine(service.databaseUrl)
  type Entry = {
    id: number
    action: string
    app_id: number | null
    developer_name: string
    at: string
  }
  const audit = async (...options: string[]): Promise<Entry[]> => cli.json('audit', ...options)

  const [update, deletion] = await audit('--limit', '2')
  expect(update).toEqual({
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
  expect(deletion).toMatchObject({
    action: 'app delete',
    app_slug: 'bird-song',
    app_name: 'Bird Song',
    before: { deleted_at: null },
  })

  const all = await audit()
  expect(all.map(({ at }) => at)).toEqual(all.map(({ at }) => at).toSorted())
  expect(all.find(({ id }) => id === 1)).toMatchObject({
    action: 'category add',
    operator: 'world',
    operator_name: null,
    app_id: null,
    developer_id: null,
    category_slug: 'tools',
    before: null,
    after: { slug: 'tools', name: 'Tools' },
  })
  expect(await audit('--app', String(apps.bobs))).toEqual(
    all.filter(({ app_id }) => app_id === apps.bobs),
  )
  expect(await audit('--developer', 'Bob')).toEqual(
    all.filter(({ developer_name }) => developer_name === 'Bob'),
  )
  expect(await audit('--since', '7d')).toEqual(all.filter(({ at }) => !at.startsWith('2020')))
  const { at: newest = '' } = all.at(-1) ?? {}
  expect(await audit('--since', newest)).toEqual(all.filter(({ at }) => at === newest))
  expect(await audit('--since', '2999-01-01')).toEqual([])
  expect(await audit('--until', newest)).toEqual(all.filter(({ at }) => at !== newest))
  expect(await audit('--until', '2021-01-01', '--since', '2020-01-01')).toEqual(
    all.filter(({ at }) => at.startsWith('2020')),
  )
  expect(await audit('--until', '7d', '--limit', '2')).toEqual(
    all.filter(({ at }) => at.startsWith('2020')).slice(-2),
  )
  for (const one of [[], ['--app', '1'], ['--developer', 'Ada']]) {
    expect(await audit(...one, '--since', '2999-01-01')).toEqual([])
    expect(await audit(...one, '--until', '2019-01-01')).toEqual([])
  }
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
  expectRefusal(
    await cli.run('audit', '--moderator', 'Bo'),
    /there is no moderator "Bo"; there are: Ada Lovelace$/m,
  )
})

test.for<[options: string, message: string]>([
  ...['--app 1 --developer Ada', '--app 1 --moderator Ada', '--developer Ada --moderator Ada'].map(
    (options): [string, string] => [
      options,
      'choose one of app, developer and moderator; an app has the fewest entries',
    ],
  ),
  ...['--app 1', '--developer Ada', '--moderator Ada', '--since 1d', '--until 1d'].map(
    (options): [string, string] => [
      `--after 0 ${options}`,
      `option '--after <id>' cannot be used with option '${options.split(' ')[0]} <`,
    ],
  ),
])('audit %s is wrong usage', async ([options, message]) => {
  const { code, stdout, stderr } = await commandLine(await copyWorld()).run(
    'audit',
    ...options.split(' '),
  )
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^apps-service: [^\n]+\n$/)
  expect(stderr).toContain(message)
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
  for (const [option, value, message] of [
    ['--app', '99', 'there is no app 99'],
    ['--developer', 'Eve', 'there is no developer "Eve"'],
  ] as const)
    expect(await cli.run('audit', option, value)).toEqual({
      code: 1,
      stdout: '',
      stderr: `apps-service: ${message}\n`,
    })
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
  test('names the person beside the account, in the audit log, the history of an app and the status', async () => {
    const address = await copyWorld()
    const cli = commandLine(address)
    const file = join(temporaryFolder(), 'apps.ndjson')
    writeFileSync(
      file,
      JSON.stringify({
        name: 'Star Map',
        description: 'D',
        category: 'tools',
        developer_name: 'Ada',
      }),
    )
    const env = { DATABASE_URL: address, OPERATOR: ' Jörg ' }
    expect(await run(['moderation', 'approve', '2'], env)).toMatchObject({ code: 0 })
    expect(await run(['import', file], env)).toMatchObject({ code: 0 })
    expect(await cli.run('moderation', 'approve', '6')).toMatchObject({ code: 0 })

    const [named, imported, unnamed] = await cli.json('audit', '--limit', '3')
    expect([named.operator_name, imported.operator_name, unnamed.operator_name]).toEqual([
      'Jörg',
      'Jörg',
      null,
    ])
    expect(named.operator).toBe(unnamed.operator)
    const account = unnamed.operator
    const lines = (await cli.run('audit', '--limit', '3')).stdout
      .split('\n')
      .filter((line) => /^\d/.test(line))
    expect(
      lines.map((line) => line.slice('2026-01-01 00:00  '.length).split(/ {2}/, 1)[0]),
    ).toEqual([`Jörg (${account})`, `Jörg (${account})`, account])
    expect((await cli.run('moderation', 'show', '2')).stdout).toContain(
      `  Jörg (${account})  app approve\n`,
    )
    expect((await cli.run('status')).stdout).toMatch(` by Jörg (${account})\n`)
    expect((await cli.json('status')).catalogue.last_import).toMatchObject({
      operator: account,
      operator_name: 'Jörg',
    })
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
      stderr: `apps-service: cannot read ${join(folder, '.env')}: line 2 is not UTF-8\n`,
    })
    writeFileSync(join(folder, '.env'), gzipSync('OPERATOR=Ada\n'))
    await expect(approve('3')).rejects.toMatchObject({
      code: 1,
      stderr: `apps-service: cannot read ${join(folder, '.env')}: the file is compressed with gzip; it must be plain text in UTF-8\n`,
    })
  })

  test('that is not a name is refused, and nothing is done', async () => {
    const address = await copyWorld()
    const refused = await run(['moderation', 'approve', '2'], {
      DATABASE_URL: address,
      OPERATOR: 'Ada\nroot',
    })
    expectRefusal(refused, /OPERATOR must be a name in UTF-8, of 1 to 100 characters/)
    expect((await commandLine(address).json('moderation', 'queue')).pagination.total).toBe(2)
  })
})

describe('--after', () => {
  /** A catalogue with entries of several kinds, and all entries in the order of their ids. */
  async function start() {
    const service = await startService()
    const { keys, apps } = service.world
    for (const version of ['2', '3', '4'])
      await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { version } })
    await service.request('DELETE', `/apps/${apps.bobs}`, { key: keys.bob })
    const cli = commandLine(service.databaseUrl)
    const all: { id: number; app_id: number; developer_name: string; at: string }[] =
      await cli.json('audit', '--limit', '1000')
    all.sort((a, b) => a.id - b.id)
    return { cli, all }
  }

  test('lists the first entries after an id', async () => {
    const { cli, all } = await start()
    const [oldest, second] = all
    const newest = all.at(-1)
    const id = (entry = newest) => String(entry?.id)
    const cases: [what: string, args: string[], entries: typeof all][] = [
      ['all', ['0', '--limit', '1000'], all],
      ['fifty by default', ['0'], all.slice(0, 50)],
      ['the oldest, unlike without --after', ['0', '--limit', '2'], all.slice(0, 2)],
      ['the next ones', [id(second), '--limit', '2'], all.slice(2, 4)],
      ['all but the oldest', [id(oldest), '--limit', '1000'], all.slice(1)],
      ['an id before the newest', [id(all.at(-2))], all.slice(-1)],
      ['the newest', [id()], []],
      ['an id that does not exist yet', ['9007199254740991'], []],
    ]
    for (const [what, args, entries] of cases)
      expect(await cli.json('audit', '--after', ...args), what).toEqual(entries)
  })

  test('prints a table, and where to continue', async () => {
    const { cli, all } = await start()
    const before = String(all.at(-4)?.id)
    const shown = await cli.run('audit', '--after', before, '--limit', '2')
    expect(shown.stdout.split('\n').filter((line) => /^ /.test(line))).toEqual([
      '    version: 2 → 3',
      '    version: 3 → 4',
    ])
    const next = String(all.at(-2)?.id)
    expect(shown).toMatchObject({
      code: 0,
      stderr: `Newer entries are not listed. Use --after ${next} to go on.\n`,
    })
    const last = await cli.run('audit', '--after', next, '--limit', '1')
    expect(last).toMatchObject({ code: 0, stderr: '' })
    expect(last.stdout).toMatch(/ {2}app delete {2}app \d+ bird-song\n/)
    expect(await cli.run('audit', '--after', String(all.at(-1)?.id))).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No entries.\n',
    })
  })

  test('refuses what no id of an entry is', async () => {
    const cli = commandLine(await copyWorld())
    for (const id of ['-1', '00', '1.5', 'x', '', '9007199254740992', '1e3', '0x1'])
      expect(await cli.run('audit', `--after=${id}`), id).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/^apps-service: [^\n]* must be a whole number from 0\.\n$/),
      })
  })
})

test('audit ends silently if its reader closes the pipe', async () => {
  const env = { PATH: process.env.PATH, DATABASE_URL: await copyWorld() }
  const piped = promisify(execFile)('sh', ['-c', `"${executable}" audit --json | true`], { env })
  expect(await piped).toEqual({ stdout: '', stderr: '' })
})
