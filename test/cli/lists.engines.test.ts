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

/** The rows of each list, and the column that tells them apart. */
const columns: Record<string, [rows: string, column: string]> = {
  app: ['apps', 'name'],
  moderation: ['apps', 'name'],
  key: ['keys', 'developer_name'],
  developer: ['developers', 'name'],
  review: ['reviews', 'reviewer_name'],
}

test.for<{ command: string; found: string[] }>([
  {
    command: 'app list',
    found: ['Night Train', 'Bird Song', 'Gone', 'Broken Compass', 'Cloud Atlas', 'Moon Clock'],
  },
  { command: 'app list --developer Bob', found: ['Night Train', 'Bird Song'] },
  { command: 'app list --category games', found: ['Bird Song'] },
  { command: 'app list moon', found: ['Moon Clock'] },
  { command: 'app list --status pending', found: queued.toReversed() },
  { command: 'app list --status approved', found: ['Bird Song', 'Moon Clock'] },
  { command: 'app list --status rejected', found: ['Broken Compass'] },
  { command: 'app list --status deleted', found: ['Gone'] },
  { command: 'app list --page 2 --limit 2', found: ['Gone', 'Broken Compass'] },
  { command: 'moderation queue', found: queued },
  { command: 'moderation queue --developer Bob', found: ['Night Train'] },
  { command: 'moderation queue --category tools', found: queued },
  { command: 'moderation queue --changed', found: ['Moon Clock'] },
  { command: 'moderation queue --changed --developer Ada', found: ['Moon Clock'] },
  { command: 'moderation queue --page 2 --limit 1', found: ['Night Train'] },
  { command: 'key list', found: [...Array(5).fill('Ada'), 'Bob'] },
  { command: 'key list --developer Bob', found: ['Bob'] },
  { command: 'key list --page 6 --limit 1', found: ['Bob'] },
  { command: 'developer list', found: ['Ada', 'Bob'] },
  { command: 'developer list --page 2 --limit 1', found: ['Bob'] },
  { command: 'review list --app 1', found: ['Di', 'Ed', 'Cy'] },
  { command: 'review list --app 1 --page 2 --limit 1', found: ['Ed'] },
  { command: 'app list --status deleted --limit 1000', found: ['Gone'] },
  { command: 'moderation queue --limit 1000', found: queued },
  { command: 'key list --developer Bob --limit 1000', found: ['Bob'] },
  { command: 'developer list --limit 1000', found: ['Ada', 'Bob'] },
  { command: 'review list --app 1 --limit 1000', found: ['Di', 'Ed', 'Cy'] },
])('$command', async ({ command, found }) => {
  const words = command.split(' ')
  const [rows = '', column = ''] = columns[words[0] ?? ''] ?? []
  const listed = await list(...words)
  expect(listed[rows].map((row: Row) => row[column])).toEqual(found)
})

test.for<{ options: string; appIds: (number | null)[] }>([
  { options: '--app 1', appIds: [1, 1, 1] },
  { options: '--developer Bob', appIds: [5, 6, null, 5] },
  { options: '--until 2020-01-02 --app 5', appIds: [5] },
  { options: '--since 2020-01-01 --app 5', appIds: [5, 5] },
  { options: '--since 1h --app 5', appIds: [5] },
  { options: '--after 12', appIds: [6, 1, 4, 5, 3, 4, null, null, 1] },
  { options: '--after 12 --limit 2', appIds: [6, 1] },
  { options: '--limit 2', appIds: [null, 1] },
])('audit $options', async ({ options, appIds }) => {
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
