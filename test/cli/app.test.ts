import { describe, expect, inject, test } from 'vitest'
import { importLines } from '../support/catalogue-file.ts'
import { copyWorld } from '../support/database.ts'
import { commandLine } from '../support/process.ts'
import { startService } from '../support/service.ts'

/** What `app` prints. test/moderation/ has what it finds, restores and transfers. */

const { approved, deleted } = inject('world').apps

describe('app list', () => {
  test('prints JSON and a table', async () => {
    const { run, json } = commandLine(await copyWorld())
    const gone = {
      id: deleted,
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
    expect(await json('app', 'list', 'gone')).toEqual({
      apps: [gone],
      pagination: { current_page: 1, total_pages: 1, per_page: 50, total: 1 },
    })
    const shown = await run('app', 'list', '--developer', 'Ada', '--limit', '2')
    expect(shown.stdout).toMatch(
      /^ID {2}NAME +DEVELOPER +CATEGORY +STATUS +UPDATED\n4 +Gone +Ada +tools +deleted .*\n3 +Broken Compass +Ada +tools +rejected .*\n$/,
    )
    expect(shown.stderr).toBe('Page 1 of 2, 4 in all.\n')
    expect(await run('app', 'list', '--status', 'rejected', '--developer', 'Bob')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No apps.\n',
    })
  })

  test.for<{ args: string[]; names: string[]; total: number }>([
    { args: ['COMP br'], names: ['Broken Compass'], total: 1 },
    { args: ['Ada', '--limit', '2'], names: ['Gone', 'Broken Compass'], total: 4 },
    {
      args: ['Ada', '--limit', '2', '--page', '2'],
      names: ['Cloud Atlas', 'Tide Clock'],
      total: 4,
    },
    { args: ['Ada', '--limit', '2', '--page', '3'], names: [], total: 4 },
    { args: [''], names: [], total: 0 },
  ])('with the text and options $args finds $names', async ({ args, names, total }) => {
    const { apps, pagination } = await commandLine(await copyWorld()).json('app', 'list', ...args)
    expect(apps.map(({ name }: { name: string }) => name)).toEqual(names)
    expect(pagination.total).toBe(total)
  })

  test.for([
    ['--status', 'pending'],
    ['--developer', 'Ada'],
    ['--category', 'tools'],
  ])('with a text does not filter, too: %s', async (options) => {
    const { run } = commandLine(await copyWorld())
    expect(await run('app', 'list', 'clock', ...options)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('leave out the options that filter'),
    })
  })

  test('says that more than 1,000 apps have a word', async () => {
    const { database, databaseUrl } = await startService()
    const line = { description: 'D', category: 'tools', developer_name: 'Cy' }
    const lines = Array.from({ length: 1001 }, (_, index) => ({ ...line, name: `Wave ${index}` }))
    await importLines(database, lines)
    const { run } = commandLine(databaseUrl)
    const { stdout, stderr } = await run('app', 'list', 'wave', '--limit', '1')
    expect(stdout).toContain('Wave 1000')
    expect(stderr).toMatch(/^More than 1,000 .*\nPage 1 of 1000, 1000 in all\.\n$/)
    const few = await run('app', 'list', 'wave 7', '--limit', '1')
    expect(few.stderr).toBe('Page 1 of 111, 111 in all.\n')
  })
})

test.for<{ args: string[]; stdout: string; json: object }>([
  {
    args: ['restore', String(deleted)],
    stdout: 'Restored app 4 (gone); its status is approved.\n',
    json: { id: deleted, slug: 'gone', status: 'approved' },
  },
  {
    args: ['transfer', String(approved), '--to', ' Bob '],
    stdout: 'App 1 (tide-clock) belongs to Bob now.\n',
    json: { id: approved, slug: 'tide-clock', developer_name: 'Bob' },
  },
])('app $args.0 prints what it did', async ({ args, stdout, json }) => {
  expect(await commandLine(await copyWorld()).run('app', ...args)).toEqual({
    code: 0,
    stdout,
    stderr: '',
  })
  expect(await commandLine(await copyWorld()).json('app', ...args)).toEqual(json)
})

test('app restore says which app has the package name', async () => {
  const service = await startService()
  const { keys } = inject('world')
  await service.request('PUT', `/apps/${approved}`, {
    key: keys.ada,
    json: { package_name: 'org.example.gone' },
  })
  const { run } = commandLine(service.databaseUrl)
  expect(await run('app', 'restore', String(deleted))).toMatchObject({
    code: 0,
    stdout:
      'Restored app 4 (gone); its status is approved. Its package name org.example.gone belongs to app 1 now.\n',
  })
})

test.for([
  ['restore', '99'],
  ['restore', '1'],
  ['restore', '4@00000'],
  ['transfer', '99', '--to', 'Bob'],
  ['transfer', '1', '--to', 'Eve'],
])('app %s %s is refused', async (args) => {
  const refused = await commandLine(await copyWorld()).run('app', ...args)
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^apps-service: .*\n$/),
  })
})
