import { expect, inject, test } from 'vitest'
import type { AppChanges } from '../../src/contract/contract.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { importLines } from '../support/catalogue-file.ts'
import { copyWorld } from '../support/database.ts'
import { commandLine } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { wholeApp } from '../support/whole-app.ts'

const { approved, rejected, deleted } = inject('world').apps
const past = '2020-01-01T00:00:00.000Z'
const recent = expect.stringMatching(/^20[2-9]\d-.*Z$/)

test('JSON has all that the database knows of an app', async () => {
  const { json } = commandLine(await copyWorld())
  const entry = {
    id: expect.any(Number),
    operator: 'world',
    operator_name: null,
    operator_id: null,
    key_id: null,
    app_id: approved,
    app_slug: 'tide-clock',
    app_name: 'Tide Clock',
    developer_id: 1,
    developer_name: 'Ada',
    category_id: null,
    category_slug: null,
  }
  expect(await json('moderation', 'show', String(approved))).toEqual({
    ...wholeApp,
    id: approved,
    revision: expect.stringMatching(/^[0-9a-z]{5}$/),
    slug: 'tide-clock',
    status: 'approved',
    rejection_reason: null,
    deleted_at: null,
    unreviewed_since: null,
    created_at: past,
    updated_at: recent,
    approved_at: recent,
    total_downloads: 100,
    average_rating: 4.67,
    rating_count: 3,
    review_count: 3,
    category: { id: 1, slug: 'tools', name: 'Tools' },
    developer: {
      id: 1,
      name: 'Ada',
      created_at: recent,
      contact: 'ada@example.org',
      active_keys: 3,
      apps: { pending: 1, approved: 1, rejected: 1, deleted: 1 },
    },
    similar: [],
    warnings: [],
    changes: [],
    history: [
      {
        ...entry,
        at: past,
        action: 'app create',
        before: null,
        after: expect.objectContaining({ name: 'Tide Clock', status: 'pending', developer_id: 1 }),
      },
      {
        ...entry,
        at: recent,
        action: 'app approve',
        before: expect.objectContaining({ status: 'pending' }),
        after: expect.objectContaining({ status: 'approved' }),
      },
    ],
  })
})

const starMap = {
  name: 'Star Map',
  short_description: 'Stars.',
  description: 'The sky.\nAll of it.',
  version: '2',
  package_name: 'org.example.stars',
  website_url: 'https://stars.example/',
  // The а of the host is Cyrillic.
  source_code_url: 'https://ex\u0430mple.org/',
  license: 'MIT',
  keywords: ['stars', 'night sky'],
} satisfies AppChanges

test('a reopened app waits without a change', async () => {
  const { database, databaseUrl, world } = await startService()
  const { rejected } = world.apps
  await database.write((runner) => decideApp(runner, 'reopen', rejected, { operator: 'test' }))
  const { run } = commandLine(databaseUrl)
  const { code, stdout } = await run('moderation', 'show', String(rejected))
  expect(code).toBe(0)
  expect(stdout).toContain('app reopen')
  expect(stdout).not.toContain('Changed since')
})

test('people read the fields, the description, the changes and the history', async () => {
  const { database, databaseUrl } = await startService()
  const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()
  const line = {
    ...starMap,
    slug: 'star-map',
    category: 'tools',
    developer_name: 'Grace',
    status: 'approved',
    total_downloads: 1234,
    average_rating: 4.5,
    rating_count: 10,
    created_at: time(1),
    approved_at: time(2),
    updated_at: time(3),
    reviews: [{ reviewer_name: 'Cy', rating: 4, comment: 'Fine.', created_at: time(2) }],
  }
  await importLines(database, [line])
  const before = {
    name: 'Moon Map',
    short_description: null,
    description: 'The sky.',
    source_code_url: 'https://example.org/',
    keywords: '["stars"]',
    category_id: 2,
  }
  await database.write(({ sql }) =>
    sql('apps')
      .where({ slug: 'star-map' })
      .update({ unreviewed_since: time(3), unreviewed_changes: JSON.stringify(before) }),
  )
  const { run, json } = commandLine(databaseUrl)
  const { code, stdout, stderr } = await run('moderation', 'show', '7')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [shown, history] = stdout.replace(/7@\w{5}/, '7@REVISION').split('\nWHEN (UTC)')
  expect(shown).toBe(`App             7@REVISION (star-map)
Status          approved
Changed since   2026-01-03T00:00:00.000Z
Name            Star Map
Version         2
Package name    org.example.stars
Website         https://stars.example/
Source code     https://xn--exmple-4nf.org/ (ex\u0430mple.org)
Licence         MIT
Keywords        stars, night sky
Category        Tools (tools)
Developer       Grace: 0 pending, 1 approved, 0 rejected, 0 deleted
Downloads       1234
Ratings         11, 4.45 on average
Reviews         1
Created         2026-01-01T00:00:00.000Z
First approved  2026-01-02T00:00:00.000Z
Updated         2026-01-03T00:00:00.000Z
In short        Stars.
Warning         Host with letters of another script: xn--exmple-4nf.org

The sky.
All of it.

Changed since the last decision

  name
  - Moon Map
  + Star Map

  short_description
  - (none)
  + Stars.

  description
  - The sky.
  + The sky.
  + All of it.

  source_code_url
  - https://example.org/
  + https://xn--exmple-4nf.org/ (ex\u0430mple.org)

  keywords
  - stars
  + stars, night sky

  category
  - games
  + tools

History
`)
  expect(history).toMatch(/app import\n {4}name: Star Map; /)
  // As they were sent.
  const { changes, source_code_url } = await json('moderation', 'show', '7')
  expect(source_code_url).toBe(starMap.source_code_url)
  expect(changes).toContainEqual({
    field: 'source_code_url',
    before: before.source_code_url,
    after: starMap.source_code_url,
  })
})

test('deleted, rejected and unrated apps are shown, too', async () => {
  const { run } = commandLine(await copyWorld())
  const { stdout } = await run('moderation', 'show', String(rejected))
  expect(stdout).toMatch(
    /^App +3@\w+ \(broken-compass\)\nStatus +rejected\nReason +It points south\.\n/,
  )
  expect(stdout).toContain('\nDownloads       0\nRatings         none\nReviews         0\n')
  expect(stdout).toMatch(
    /world +app reject\n {4}status: pending → rejected; rejection_reason: – → It points/,
  )
  expect((await run('moderation', 'show', String(deleted))).stdout).toMatch(
    /\nStatus +approved, deleted at 2020-01-01T/,
  )
})

test.for([['99'], ['99', '--json']])('a missing app is refused: show %s', async (args) => {
  const refused = await commandLine(await copyWorld()).run('moderation', 'show', ...args)
  expect(refused).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/ 99\n$/) })
})

test('a long history has its newest hundred entries, and says how to list more', async () => {
  const service = await startService()
  const key = service.world.keys.ada
  const put = (version: string) =>
    service.request('PUT', `/apps/${approved}`, { key, json: { version } })
  const { run, json } = commandLine(service.databaseUrl)
  // With its creation and its approval, it has a hundred entries.
  for (let version = 1; version <= 98; version++) await put(`${version}`)
  expect((await run('moderation', 'show', '1')).stderr).toBe('')
  await put('99')
  const { stdout, stderr } = await run('moderation', 'show', '1')
  expect(stderr).toBe(
    'The newest 100 entries; ./apps-service audit --app 1 --limit 1000 shows more.\n',
  )
  expect(stdout.match(/ {2}app (?:create|approve|update)$/gm)).toHaveLength(100)
  const { history } = await json('moderation', 'show', '1')
  expect(new Set(history.map(({ id }: { id: number }) => id)).size).toBe(100)
})
