import { describe, expect, inject, test } from 'vitest'
import type { AppFilter, AppState } from '../../src/moderation/app-filter.ts'
import { restoreApp, transferApp } from '../../src/moderation/decisions.ts'
import { listApps } from '../../src/moderation/finder.ts'
import { importLines } from '../support/catalogue-file.ts'
import { expectConsistentAt } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'
import { commandLine, serve } from '../support/process.ts'
import { startService } from '../support/service.ts'

describe('the list of apps', () => {
  const all = ['Night Train', 'Bird Song', 'Gone', 'Broken Compass', 'Cloud Atlas', 'Tide Clock']

  test.for<[what: string, state: AppState | undefined, filter: AppFilter, found: string[]]>([
    ['all, newest first', undefined, {}, all],
    ['pending ones', 'pending', {}, ['Night Train', 'Cloud Atlas']],
    ['approved ones', 'approved', {}, ['Bird Song', 'Tide Clock']],
    ['rejected ones', 'rejected', {}, ['Broken Compass']],
    ['deleted ones', 'deleted', {}, ['Gone']],
    ['those of a developer', undefined, { developer: 'Bob' }, ['Night Train', 'Bird Song']],
    ['those in a category', undefined, { category: 'games' }, ['Bird Song']],
    [
      'those of a developer in a state and a category',
      'rejected',
      { developer: 'Ada', category: 'tools' },
      [all[3] ?? ''],
    ],
    ['none of a developer in a category', undefined, { developer: 'Ada', category: 'games' }, []],
  ])('has %s', async ([, state, filter, found]) => {
    const { database } = await startService()
    const list = (limit: number, offset: number) =>
      database.snapshot((runner) => listApps(runner, state, filter, limit, offset))
    const { apps, total } = await list(100, 0)
    expect([apps.map(({ name }) => name), total]).toEqual([found, found.length])
    // The same with pages of one.
    for (const [offset, name] of [...found, undefined].entries()) {
      const page = await list(1, offset)
      expect([page.apps[0]?.name, page.apps.length, page.total]).toEqual([
        name,
        name ? 1 : 0,
        found.length,
      ])
    }
  })

  test.for<[text: string, options: string[], found: string[], total: number]>([
    ['clock', [], ['Tide Clock'], 1],
    ['COMP br', [], ['Broken Compass'], 1],
    ['org.example.gone', [], ['Gone'], 1],
    ['Ada', [], all.slice(2), 4],
    ['Ada', ['--limit', '2', '--page', '2'], all.slice(4), 4],
    ['Ada', ['--limit', '2', '--page', '3'], [], 4],
    ['4', [], ['Gone'], 1],
    ['table', [], [], 0],
    ['', [], [], 0],
  ])('finds by the text %j with %j', async ([text, options, found, total]) => {
    const cli = commandLine(await copyWorld())
    const { apps, pagination } = await cli.json('app', 'list', text, ...options)
    expect([apps.map(({ name }: { name: string }) => name), pagination.total]).toEqual([
      found,
      total,
    ])
  })

  test.for([
    ['--status', 'pending'],
    ['--developer', 'Ada'],
    ['--category', 'tools'],
  ])('by a text is not filtered, too: %s', async (options) => {
    const cli = commandLine(await copyWorld())
    expect(await cli.run('app', 'list', 'clock', ...options)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(
        'a text finds apps in any state; leave out the options that filter',
      ),
    })
  })

  test('says that more than 1,000 apps have a word', async () => {
    const service = await startService()
    await importLines(
      service.database,
      Array.from({ length: 1001 }, (_, index) => ({
        name: `Wave ${index}`,
        description: 'D',
        category: 'tools',
        developer_name: 'Cy',
      })),
    )
    const cli = commandLine(service.databaseUrl)
    const { stdout, stderr } = await cli.run('app', 'list', 'wave', '--limit', '1')
    expect(stdout).toContain('Wave 1000')
    expect(stderr).toContain('More than 1,000 apps match; these are the first 1,000.')
    expect(stderr).toContain('Page 1 of 1000, 1000 in all.')
    expect((await cli.run('app', 'list', 'wave 7', '--limit', '1')).stderr).toBe(
      'Page 1 of 111, 111 in all.\n',
    )
  })

  test('is printed as JSON and as a table', async () => {
    const cli = commandLine(await copyWorld())
    const gone = {
      id: 4,
      name: 'Gone',
      slug: 'gone',
      package_name: 'org.example.gone',
      developer_name: 'Ada',
      category_slug: 'tools',
      status: 'approved',
      deleted_at: '2020-01-01T00:00:00.000Z',
      created_at: '2020-01-01T00:00:00.000Z',
      updated_at: expect.stringMatching(/Z$/),
    }
    expect(await cli.json('app', 'list', 'gone')).toEqual({
      apps: [gone],
      pagination: { current_page: 1, total_pages: 1, per_page: 50, total: 1 },
    })
    const shown = await cli.run('app', 'list', '--developer', 'Ada', '--limit', '2')
    expect(shown.stdout).toMatch(
      /^ID {2}NAME +DEVELOPER +CATEGORY +STATUS +UPDATED\n4 +Gone +Ada +tools +deleted .*\n3 +Broken Compass +Ada +tools +rejected .*\n$/,
    )
    expect(shown.stderr).toBe('Page 1 of 2, 4 in all.\n')
    expect(await cli.run('app', 'list', '--status', 'rejected', '--developer', 'Bob')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No apps.\n',
    })
  })
})

test('a restored app shows in a running server at once', async () => {
  const address = await copyWorld()
  const server = await serve(address)
  const cli = commandLine(address)
  const { keys, apps } = inject('world')
  /** The apps that match all words. */
  const found = async (search: string) => {
    const { data } = (await server.request('GET', `/apps?search=${search}`)).body
    return data.apps.slice(0, data.search?.full_matches).map(({ id }: { id: number }) => id)
  }
  const listed = async () =>
    (await server.request('GET', '/apps?category=games&limit=1')).body.data.pagination.total_pages

  const before = (await server.request('GET', `/apps/${apps.bobs}`)).body.data.app
  await server.request('DELETE', `/apps/${apps.bobs}`, { key: keys.bob })
  expect([await found('bird'), await listed()]).toEqual([[], 0])
  expect(await cli.run('app', 'restore', String(apps.bobs))).toEqual({
    code: 0,
    stdout: `Restored app ${apps.bobs} (bird-song); its status is approved.\n`,
    stderr: '',
  })
  expect([await found('bird'), await listed()]).toEqual([[apps.bobs], 1])
  const { updated_at, ...after } = (await server.request('GET', `/apps/${apps.bobs}`)).body.data.app
  expect({ ...after, updated_at: before.updated_at }).toEqual(before)
  expect(updated_at > before.updated_at).toBe(true)
  expect((await cli.json('audit', '--app', String(apps.bobs), '--limit', '1'))[0]).toMatchObject({
    action: 'app restore',
    key_id: null,
    before: { deleted_at: expect.any(String) },
    after: { deleted_at: null },
  })

  // While it is pending, only its owner sees it.
  await server.request('DELETE', `/apps/${apps.pending}`, { key: keys.ada })
  expect(await cli.json('app', 'restore', String(apps.pending))).toEqual({
    id: apps.pending,
    slug: 'cloud-atlas',
    status: 'pending',
  })
  expect((await server.request('GET', `/apps/${apps.pending}`)).status).toBe(404)
  expect((await server.request('GET', `/apps/${apps.pending}`, { key: keys.ada })).status).toBe(200)
  await expectConsistentAt(address)
})

test('a transferred app belongs to the new owner at once in a running server', async () => {
  const address = await copyWorld()
  const server = await serve(address)
  const cli = commandLine(address)
  const { keys, apps } = inject('world')
  const path = `/apps/${apps.approved}`
  /** The apps that match all words. */
  const found = async (search: string) => {
    const { data } = (await server.request('GET', `/apps?search=${search}`)).body
    return data.apps.slice(0, data.search?.full_matches).map(({ id }: { id: number }) => id)
  }

  expect([await found('tide+ada'), await found('tide+bob')]).toEqual([[apps.approved], []])
  expect(await cli.json('app', 'transfer', String(apps.approved), '--to', 'Bob')).toEqual({
    id: apps.approved,
    slug: 'tide-clock',
    developer_name: 'Bob',
  })
  expect([await found('tide+ada'), await found('tide+bob')]).toEqual([[], [apps.approved]])
  expect((await server.request('GET', path)).body.data.app.developer_name).toBe('Bob')
  expect(
    (await server.request('PUT', path, { key: keys.ada, json: { version: '2' } })).status,
  ).toBe(403)
  expect((await server.request('DELETE', path, { key: keys.ada })).status).toBe(403)
  expect(
    (await server.request('PUT', path, { key: keys.bob, json: { version: '2' } })).status,
  ).toBe(200)
  const [transfer] = (await cli.json('audit', '--app', String(apps.approved))).slice(-2)
  expect(transfer).toMatchObject({
    action: 'app transfer',
    developer_name: 'Bob',
    before: { developer_id: 1 },
    after: { developer_id: 2 },
  })

  // The old owner does not see a pending app any more.
  expect((await cli.run('app', 'transfer', String(apps.pending), '--to', ' Bob ')).stdout).toBe(
    `App ${apps.pending} (cloud-atlas) belongs to Bob now.\n`,
  )
  expect((await server.request('GET', `/apps/${apps.pending}`, { key: keys.ada })).status).toBe(404)
  expect((await server.request('GET', `/apps/${apps.pending}`, { key: keys.bob })).status).toBe(200)
  await expectConsistentAt(address)
})

test.for<[what: string, message: string]>([
  ['restore 99', 'there is no app 99'],
  ['restore 1', 'app 1 is not deleted; it is approved'],
  ['transfer 99 Bob', 'there is no app 99'],
  ['transfer 4 Bob', 'app 4 is deleted now; it must be restored first'],
  ['transfer 1 Eve', 'there is no developer "Eve"'],
  ['transfer 1 Ada', 'app 1 already belongs to "Ada"'],
])('%s is refused, and changes nothing', async ([what, message]) => {
  const { database } = await startService()
  const [command, id, to = ''] = what.split(' ')
  const audited = () => database.read(({ sql }) => sql('audit').count())
  const before = await audited()
  const done = database.write<unknown>((runner) => {
    return command === 'restore'
      ? restoreApp(runner, Number(id), { operator: 'test' })
      : transferApp(runner, Number(id), to, { operator: 'test' })
  })
  await expect(done).rejects.toMatchObject({ name: 'OperatorError', message })
  expect(await audited()).toEqual(before)
})
