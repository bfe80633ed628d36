import { describe, expect, inject, test } from 'vitest'
import { findApp, saveApp } from '../../src/catalogue/app-store.ts'
import type { Decision } from '../../src/catalogue/policy.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { findAppDetails } from '../../src/moderation/app-details.ts'
import {
  type AppDecision,
  decideApp,
  decideEach,
  restoreApp,
  transferApp,
} from '../../src/moderation/decisions.ts'
import { required } from '../../src/util/helpers.ts'
import { importLines, setCounters } from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent, findNames } from '../support/consistency.ts'
import { openWorld } from '../support/database.ts'
import { share } from '../support/lifetime.ts'
import { addReviews } from '../support/reviews.ts'
import { startService } from '../support/service.ts'

const { apps } = inject('world')
const { approved, pending, rejected, deleted, bobs, bobsPending } = apps
const actor = { operator: 'test' }
const past = '2020-01-01T00:00:00.000Z'

const detailsOf = (database: DatabaseWithTools, id: number) =>
  database.read((runner) => findAppDetails(runner, id, 100, (entry) => entry))
const update = async (runner: QueryRunner, id: number, changes: object) => {
  const app = required(await findApp(runner, id), `app ${id}`)
  await saveApp(runner, 'app update', app, changes, actor)
}

test.for<{ decision: Decision; of: keyof typeof apps; reason?: string; after: object }>([
  { decision: 'approve', of: 'pending', after: { status: 'approved', rejection_reason: null } },
  { decision: 'approve', of: 'rejected', after: { status: 'approved', rejection_reason: null } },
  {
    decision: 'reject',
    of: 'pending',
    reason: ' Too\ndark. ',
    // It was never approved.
    after: { status: 'rejected', rejection_reason: 'Too\ndark.', approved_at: null },
  },
  { decision: 'reject', of: 'approved', reason: 'No.', after: { status: 'rejected' } },
  { decision: 'reopen', of: 'approved', after: { status: 'pending' } },
  { decision: 'reopen', of: 'rejected', after: { status: 'pending', rejection_reason: null } },
])('$decision, of one that is $of', async ({ decision, of, reason, after }) => {
  const database = await openWorld()
  const { app: before } = await detailsOf(database, apps[of])
  const decided = await database.write((runner) =>
    decideApp(runner, decision, before.id, actor, { reason }),
  )
  expect(decided).toMatchObject({ id: before.id, slug: before.slug, before: { id: before.id } })
  const { app, history } = await detailsOf(database, before.id)
  expect(app).toMatchObject(after)
  expect(decided.status).toBe(app.status)
  if (before.approved_at) expect(app.approved_at).toBe(before.approved_at)
  expect(history.at(-1)).toMatchObject({ action: `app ${decision}`, operator: 'test' })
})

describe('is refused, and changes nothing:', () => {
  let database: DatabaseWithTools
  share(async () => {
    database = await openWorld()
  })

  const decide = (decision: Decision, id: number, options = {}) =>
    [
      `${decision} app ${id} ${JSON.stringify(options)}`,
      (runner: QueryRunner) => decideApp(runner, decision, id, actor, options),
    ] as const
  const restore = (id: number, revision?: string) =>
    [
      `restore app ${id} ${revision}`,
      (runner: QueryRunner) => restoreApp(runner, id, actor, revision),
    ] as const
  const transfer = (id: number, to: string) =>
    [
      `transfer app ${id} to ${to}`,
      (runner: QueryRunner) => transferApp(runner, id, to, actor),
    ] as const
  const reason = 'Because.'
  const mustBeRestored = `app ${deleted} is deleted now; it must be restored first`
  const hasChanged = (id: number) => `app ${id} has changed since revision 00000; look at it again`

  test.for<
    [what: string, act: (runner: QueryRunner) => Promise<unknown>, message: string | RegExp]
  >([
    [...decide('approve', approved), `app ${approved} is already approved`],
    [...decide('reject', rejected, { reason }), `app ${rejected} is already rejected`],
    [...decide('reopen', pending), `app ${pending} is already pending`],
    [...decide('approve', deleted), mustBeRestored],
    [...decide('reject', deleted, { reason }), mustBeRestored],
    [...decide('reopen', deleted), mustBeRestored],
    [...decide('approve', 99), 'there is no app 99'],
    [...decide('reject', pending), /^a reason /],
    [...decide('approve', pending, { revision: '00000' }), hasChanged(pending)],
    [...decide('reject', approved, { reason, revision: '00000' }), hasChanged(approved)],
    [...restore(99), 'there is no app 99'],
    [...restore(approved), `app ${approved} is not deleted; it is approved`],
    [...restore(deleted, '00000'), hasChanged(deleted)],
    [...transfer(99, 'Bob'), 'there is no app 99'],
    [...transfer(deleted, 'Bob'), mustBeRestored],
    [...transfer(approved, 'Eve'), /"Eve"$/],
    [...transfer(approved, 'Ada'), `app ${approved} already belongs to "Ada"`],
  ])('%s', async ([, act, message]) => {
    const state = () =>
      database.read(async ({ sql }) => [
        await sql('apps').orderBy('id'),
        await sql('audit').count(),
      ])
    const before = await state()
    const done = database.write(act)
    await expect(done).rejects.toMatchObject({ name: 'OperatorError' })
    await expect(done).rejects.toThrow(message)
    expect(await state()).toEqual(before)
  })
})

const line = { name: 'Cloud Atlas', category: 'tools', developer_name: 'Ada', updated_at: past }
test.for<{
  what: string
  change: (database: DatabaseWithTools) => Promise<unknown>
  isRefused: boolean
}>([
  {
    what: 'its owner',
    change: ({ write }) => write((runner) => update(runner, pending, { name: 'Bank Login' })),
    isRefused: true,
  },
  {
    what: 'its owner, who undid it',
    change: async ({ write }) => {
      for (const name of ['Bank Login', 'Cloud Atlas'])
        await write((runner) => update(runner, pending, { name }))
    },
    isRefused: true,
  },
  {
    what: 'another decision',
    change: ({ write }) =>
      write((runner) => decideApp(runner, 'reject', pending, actor, { reason: 'No.' })),
    isRefused: true,
  },
  {
    what: 'an import',
    change: (database) => importLines(database, [{ ...line, description: 'New.' }]),
    isRefused: true,
  },
  {
    what: 'a deletion, from which it was restored',
    change: async ({ write }) => {
      await write((runner) => update(runner, pending, { deleted_at: past }))
      await write((runner) => restoreApp(runner, pending, actor))
    },
    isRefused: true,
  },
  {
    what: 'reviews, downloads and ratings alone',
    change: async (database) => {
      const counters = { total_downloads: 7, average_rating: 5, rating_count: 1 }
      await setCounters(database, [{ slug: 'cloud-atlas', ...counters }])
      const review = { reviewer_name: 'Cy', rating: 1, comment: '', created_at: past }
      await database.write((runner) => addReviews(runner, [{ app_id: pending, ...review }]))
    },
    isRefused: false,
  },
])(
  'of a decision on the revision that was read, the app was changed by $what: refused is $isRefused',
  async ({ change, isRefused }) => {
    const database = await openWorld()
    const { revision } = (await detailsOf(database, pending)).app
    expect(revision).toMatch(/^[0-9a-z]{5}$/)
    await change(database)
    const { app: changed } = await detailsOf(database, pending)
    const approve = (revision: string) =>
      database.write((runner) => decideApp(runner, 'approve', pending, actor, { revision }))
    if (isRefused) await expect(approve(revision)).rejects.toThrow('has changed since')
    expect(changed.revision !== revision).toBe(isRefused)
    await approve(changed.revision)
  },
)

test('the acceptance of changes is audited, and changes no response', async () => {
  const service = await startService()
  const key = service.world.keys.ada
  await service.request('PUT', `/apps/${approved}`, { key, json: { name: 'Tide Table' } })
  const before = (await service.get(`/apps/${approved}`)).body.data.app
  await service.decide('approve', approved)
  const { updated_at, ...after } = (await service.get(`/apps/${approved}`)).body.data.app
  expect({ ...after, updated_at: before.updated_at }).toEqual(before)
  expect(updated_at > before.updated_at).toBe(true)
  const { changes, history } = await detailsOf(service.database, approved)
  expect(changes).toEqual([])
  // To toMatchObject, any object is {}.
  const entry = { action: 'app approve', operator: 'test', before: {}, after: {} }
  expect(history.at(-1)).toEqual(expect.objectContaining(entry))
})

test('a restored app is as it was, and public again if it was', async () => {
  const { get, request, database, world } = await startService()
  const before = (await get(`/apps/${bobs}`)).body.data.app
  await request('DELETE', `/apps/${bobs}`, { key: world.keys.bob })
  expect(await findNames(database, 'bird')).toEqual([])
  const restored = await database.write((runner) => restoreApp(runner, bobs, actor))
  expect(restored).toEqual({ id: bobs, slug: 'bird-song', status: 'approved' })
  const { updated_at, ...after } = (await get(`/apps/${bobs}`)).body.data.app
  expect({ ...after, updated_at: before.updated_at }).toEqual(before)
  expect(updated_at > before.updated_at).toBe(true)
  expect((await detailsOf(database, bobs)).history.at(-1)).toMatchObject({
    action: 'app restore',
    key_id: null,
    before: { deleted_at: expect.any(String) },
    after: { deleted_at: null },
  })
  const { ada } = world.keys
  await request('DELETE', `/apps/${pending}`, { key: ada })
  await database.write((runner) => restoreApp(runner, pending, actor))
  expect((await get(`/apps/${pending}`)).status).toBe(404)
  expect((await get(`/apps/${pending}`, { key: ada })).status).toBe(200)
  await expectConsistent(database)
})

test('each change of an app gives it a later time, even if the clock stands still', async () => {
  const database = await openWorld()
  freezeClock(Date.parse(past))
  const changes: ((runner: QueryRunner) => Promise<unknown>)[] = [
    (runner) => transferApp(runner, approved, 'Bob', actor),
    (runner) => decideApp(runner, 'reject', approved, actor, { reason: 'No.' }),
    (runner) => decideApp(runner, 'reopen', approved, actor),
    (runner) => transferApp(runner, approved, 'Ada', actor),
  ]
  const times = []
  for (const change of changes) {
    times.push((await detailsOf(database, approved)).app.updated_at)
    await database.write(change)
  }
  times.push((await detailsOf(database, approved)).app.updated_at)
  expect(times).toEqual([...new Set(times)].toSorted())
})

test('a transferred app is the new owner’s alone, and is found by the new name', async () => {
  const { get, request, database, world } = await startService()
  const { ada, bob } = world.keys
  for (const id of [approved, pending])
    await database.write((runner) => transferApp(runner, id, ' Bob ', actor))
  expect(await findNames(database, 'ada')).toEqual([])
  expect(await findNames(database, 'bob')).toContain('Tide Clock')
  const path = `/apps/${approved}`
  expect((await get(path)).body.data.app.developer_name).toBe('Bob')
  const json = { version: '2' }
  expect((await request('PUT', path, { key: ada, json })).status).toBe(403)
  expect((await request('DELETE', path, { key: ada })).status).toBe(403)
  expect((await request('PUT', path, { key: bob, json })).status).toBe(200)
  expect((await get(`/apps/${pending}`, { key: ada })).status).toBe(404)
  expect((await get(`/apps/${pending}`, { key: bob })).status).toBe(200)
  expect((await detailsOf(database, pending)).history.at(-1)).toMatchObject({
    action: 'app transfer',
    developer_name: 'Bob',
    before: { developer_id: 1 },
    after: { developer_id: 2 },
  })
  await expectConsistent(database)
})

test('of several decisions, each is made or refused by itself; the same again decide nothing', async () => {
  const database = await openWorld()
  await database.write(async (runner) => {
    const unreviewed = { unreviewed_since: past, unreviewed_changes: '{"version":"1"}' }
    await update(runner, bobs, { version: '2', ...unreviewed })
  })
  const decisions: AppDecision[] = [
    { id: bobs, decision: 'approve', reason: '' },
    { id: approved, decision: 'reject', reason: 'One' },
    { id: 999, decision: 'approve', reason: '' },
    { id: pending, decision: 'approve', reason: '' },
    { id: deleted, decision: 'approve', reason: '' },
    { id: bobsPending, decision: 'reject', reason: 'Two' },
    { id: rejected, decision: 'reject', reason: 'Three' },
  ]
  const stateOf = () =>
    database.read(({ sql }) =>
      sql('apps').orderBy('id').select('id', 'status', 'rejection_reason', 'unreviewed_since'),
    )
  const apply = async () => {
    const version = await database.dataVersion()
    const entries = () => database.read(({ sql }) => sql('audit').orderBy('id'))
    const last = (await entries()).length
    const made: [id: number, status: string][] = []
    for await (const result of decideEach(database, decisions, actor))
      made.push([result.id, 'error' in result ? result.error.name : result.status])
    return {
      made,
      audited: (await entries()).slice(last).map(({ app_id, action }) => `${action} ${app_id}`),
      isPublic: (await database.dataVersion()) !== version,
    }
  }
  expect(await apply()).toEqual({
    made: [
      [bobs, 'approved'],
      [approved, 'rejected'],
      [999, 'OperatorError'],
      [pending, 'approved'],
      [deleted, 'OperatorError'],
      [bobsPending, 'rejected'],
      [rejected, 'OperatorError'],
    ],
    audited: [
      `app approve ${bobs}`,
      `app reject ${approved}`,
      `app approve ${pending}`,
      `app reject ${bobsPending}`,
    ],
    isPublic: true,
  })
  const decided = await stateOf()
  expect(decided.map(({ id, status, rejection_reason }) => [id, status, rejection_reason])).toEqual(
    [
      [approved, 'rejected', 'One'],
      [pending, 'approved', null],
      [rejected, 'rejected', 'It points south.'],
      [deleted, 'approved', null],
      [bobs, 'approved', null],
      [bobsPending, 'rejected', 'Two'],
    ],
  )
  expect(decided.filter(({ unreviewed_since }) => unreviewed_since !== null)).toEqual([])
  expect(await apply()).toEqual({
    made: decisions.map(({ id }) => [id, 'OperatorError']),
    audited: [],
    isPublic: false,
  })
  expect(await stateOf()).toEqual(decided)
})
