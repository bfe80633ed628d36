import { expect, inject, test } from 'vitest'
import { copyWorld } from '../support/database.ts'
import { share } from '../support/lifetime.ts'
import { commandLine, expectRefusal } from '../support/process.ts'
import { startService } from '../support/service.ts'

/**
 * Each option of the commands that list, on each engine, whose SQL differs. What they print is
 * tested once, in the file of each command.
 */

const { apps, keys } = inject('world')

let list: ReturnType<typeof commandLine>['json']
let run: ReturnType<typeof commandLine>['run']
share(async () => {
  const databaseUrl = await copyWorld()
  ;({ json: list, run } = commandLine(databaseUrl))
  const { request } = await startService({ databaseUrl })
  // Then it is approved and waits for a decision.
  const json = { name: 'Moon Clock' }
  expect((await request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })).status).toBe(200)
})

type Row = Record<string, unknown>
const queued = ['Cloud Atlas', 'Night Train']

test.for<[command: string, rows: string, column: string, found: unknown[]]>([
  [
    'app list',
    'apps',
    'name',
    ['Night Train', 'Bird Song', 'Gone', 'Broken Compass', 'Cloud Atlas', 'Moon Clock'],
  ],
  ['app list --developer Bob', 'apps', 'name', ['Night Train', 'Bird Song']],
  ['app list --category games', 'apps', 'name', ['Bird Song']],
  ['app list moon', 'apps', 'name', ['Moon Clock']],
  ['app list --status pending', 'apps', 'name', queued.toReversed()],
  ['app list --status approved', 'apps', 'name', ['Bird Song', 'Moon Clock']],
  ['app list --status rejected', 'apps', 'name', ['Broken Compass']],
  ['app list --status deleted', 'apps', 'name', ['Gone']],
  ['app list --page 2 --limit 2', 'apps', 'name', ['Gone', 'Broken Compass']],
  ['moderation queue', 'apps', 'name', queued],
  ['moderation queue --developer Bob', 'apps', 'name', ['Night Train']],
  ['moderation queue --category tools', 'apps', 'name', queued],
  ['moderation queue --changed', 'apps', 'name', ['Moon Clock']],
  ['moderation queue --changed --developer Ada', 'apps', 'name', ['Moon Clock']],
  ['moderation queue --page 2 --limit 1', 'apps', 'name', ['Night Train']],
  ['key list', 'keys', 'developer_name', ['Ada', 'Ada', 'Ada', 'Bob']],
  ['key list --developer Bob', 'keys', 'developer_name', ['Bob']],
  ['key list --page 4 --limit 1', 'keys', 'developer_name', ['Bob']],
  ['developer list', 'developers', 'name', ['Ada', 'Bob']],
  ['developer list --page 2 --limit 1', 'developers', 'name', ['Bob']],
  ['review list --app 1', 'reviews', 'reviewer_name', ['Di', 'Ed', 'Cy']],
  ['review list --app 1 --page 2 --limit 1', 'reviews', 'reviewer_name', ['Ed']],
  // The greatest limit.
  ['app list --status deleted --limit 1000', 'apps', 'name', ['Gone']],
  ['moderation queue --limit 1000', 'apps', 'name', queued],
  ['key list --developer Bob --limit 1000', 'keys', 'developer_name', ['Bob']],
  ['developer list --limit 1000', 'developers', 'name', ['Ada', 'Bob']],
  ['review list --app 1 --limit 1000', 'reviews', 'reviewer_name', ['Di', 'Ed', 'Cy']],
])('%s', async ([command, rows, column, found]) => {
  const listed = await list(...command.split(' '))
  expect(listed[rows].map((row: Row) => row[column])).toEqual(found)
})

test.for<[options: string, appIds: (number | null)[]]>([
  ['--app 1', [1, 1, 1]],
  ['--developer Bob', [5, 6, null, 5]],
  ['--until 2020-01-02 --app 5', [5]],
  ['--since 2020-01-01 --app 5', [5, 5]],
  ['--since 1h --app 5', [5]],
  ['--after 12', [6, 1, 4, 5, 3, 4, 1]],
  ['--after 12 --limit 2', [6, 1]],
  ['--limit 2', [4, 1]],
])('audit %s', async ([options, appIds]) => {
  const entries = await list('audit', ...options.split(' '))
  expect(entries.map(({ app_id }: Row) => app_id)).toEqual(appIds)
})

test.for([
  'app list --developer',
  'app list --category',
  'moderation queue --developer',
  'audit --developer',
])('%s "", as with an unset variable of a script, lists nothing', async (command) => {
  expectRefusal(await run(...command.split(' '), ''), /^apps-service: /)
})

test('a rejected app that its owner deletes is listed and counted as deleted alone', async () => {
  const { databaseUrl, request } = await startService()
  const deleted = await request('DELETE', `/apps/${apps.rejected}`, { key: keys.ada })
  expect(deleted.status).toBe(200)
  const { json } = commandLine(databaseUrl)
  const idsOf = async (status: string) =>
    (await json('app', 'list', '--status', status)).apps.map(({ id }: Row) => id)
  expect(await idsOf('rejected')).toEqual([])
  expect(await idsOf('deleted')).toEqual([apps.deleted, apps.rejected].toSorted((a, b) => b - a))
  expect((await json('status')).catalogue.apps).toMatchObject({ rejected: 0, deleted: 2 })
})
