import { expect, test } from 'vitest'
import type { Queue } from '../../src/catalogue/app-states.ts'
import type { Decision } from '../../src/catalogue/policy.ts'
import type { AppChanges } from '../../src/contract/contract.ts'
import type { Change } from '../../src/moderation/app-details.ts'
import { listQueue } from '../../src/moderation/queue.ts'
import { newApp } from '../contract/valid-requests.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { share } from '../support/lifetime.ts'
import { type Service, startService } from '../support/service.ts'
import { mapOptional, otherFields } from '../support/whole-app.ts'

let service: Service
share(async () => {
  service = await startService({ limits: { writeLimit: 0 } })
})

const ada = () => ({ key: service.world.keys.ada })
const put = async (id: number, json: object) =>
  expect((await service.request('PUT', `/apps/${id}`, { ...ada(), json })).status).toBe(200)

const listOf = async (queue: Queue) =>
  (await service.database.read((runner) => listQueue(runner, queue, {}, 1000, 0))).apps

/** A decision, an update by the owner, or a deletion. */
type Step = Decision | 'delete' | AppChanges

test.for<{
  what: string
  steps: Step[]
  /** The queue in which the app waits in the end, if any. */
  queue?: Queue
  /** The step since which it waits; the creation if left out. */
  since?: number
  changes?: Record<string, [before: string, after: string]>
}>([
  { what: 'a new app', steps: [], queue: 'pending' },
  {
    what: 'a new app with updates, of which nobody has seen the first text',
    steps: [{ name: 'Fog' }, { version: '2' }],
    queue: 'pending',
  },
  { what: 'an approved app', steps: ['approve'] },
  {
    what: 'an approved app with updates, since the first',
    steps: ['approve', { version: '2' }, { version: '3' }],
    queue: 'changed',
    since: 1,
    changes: { version: ['1.0.0', '3'] },
  },
  {
    what: 'an approved app with an update that is undone',
    steps: ['approve', { name: 'Fog' }, { name: newApp.name }],
    queue: 'changed',
    since: 1,
  },
  { what: 'an approved app with approved updates', steps: ['approve', { name: 'Fog' }, 'approve'] },
  {
    what: 'an approved app with an update after approved ones',
    steps: ['approve', { version: '2' }, 'approve', { version: '3' }],
    queue: 'changed',
    since: 3,
    changes: { version: ['2', '3'] },
  },
  { what: 'a rejected app', steps: ['reject'] },
  {
    what: 'an approved app that is rejected with its updates',
    steps: ['approve', { name: 'Fog' }, 'reject'],
  },
  {
    what: 'a rejected app with updates, since the first',
    steps: ['reject', { name: 'Fog' }, { version: '2' }],
    queue: 'pending',
    since: 1,
    changes: { name: [newApp.name, 'Fog'], version: ['1.0.0', '2'] },
  },
  {
    what: 'an app that is rejected with its updates, and updated',
    steps: ['approve', { name: 'Fog' }, 'reject', { version: '2' }],
    queue: 'pending',
    since: 3,
    changes: { version: ['1.0.0', '2'] },
  },
  {
    what: 'an app that is rejected twice, since the last update',
    steps: ['reject', { version: '2' }, 'reject', { name: 'Fog' }],
    queue: 'pending',
    since: 3,
    changes: { name: [newApp.name, 'Fog'] },
  },
  {
    what: 'a rejected app that is updated, approved, and updated again',
    steps: ['reject', { name: 'Fog' }, 'approve', { name: 'Mist' }],
    queue: 'changed',
    since: 3,
    changes: { name: ['Fog', 'Mist'] },
  },
  {
    what: 'a reopened app with updates that nobody has reviewed, since the reopening',
    steps: ['approve', { name: 'Fog' }, 'reopen'],
    queue: 'pending',
    since: 2,
    changes: { name: [newApp.name, 'Fog'] },
  },
  { what: 'an app that is deleted while it waits', steps: ['approve', { name: 'Fog' }, 'delete'] },
])('$what: waits in $queue', async ({ what, steps, queue, since, changes = {} }) => {
  const begin = Date.now()
  const timeOf = (step: number) => begin + (step + 1) * 60_000
  freezeClock(begin)
  const json = { ...newApp, version: '1.0.0' }
  const created = await service.request('POST', '/apps', { ...ada(), json })
  const id: number = created.body.data.app_id
  for (const [index, step] of steps.entries()) {
    freezeClock(timeOf(index))
    if (step === 'delete')
      expect((await service.request('DELETE', `/apps/${id}`, ada())).status, what).toBe(200)
    else if (typeof step === 'string') await service.decide(step, id)
    else await put(id, step)
  }
  const waiting = []
  for (const name of ['pending', 'changed'] as const)
    for (const app of await listOf(name)) if (app.id === id) waiting.push({ name, app })
  expect(waiting.map(({ name }) => name)).toEqual(queue ? [queue] : [])
  if (!queue) return
  expect(waiting).toMatchObject([
    {
      app: {
        waiting_since: new Date(since === undefined ? begin : timeOf(since)).toISOString(),
        changes: Object.entries(changes).map(([field, [before, after]]) => ({
          field,
          before,
          after,
        })),
      },
    },
  ])
})

/** An update of each field that owners set, and a search that finds the app then. */
const updates: Record<keyof AppChanges, { to: string | number | string[]; finds: string }> = {
  name: { to: 'Ebb Table', finds: 'search=ebb+table' },
  ...mapOptional((field) => ({ to: otherFields[field], finds: 'search=ebb' })),
  short_description: { to: 'Moon and shore', finds: 'search=ebb+shore' },
  description: { to: 'It shows the ocean.', finds: 'search=ebb+ocean' },
  category_id: { to: 2, finds: 'search=ebb&category=games' },
  version: { to: '2', finds: 'search=ebb' },
  package_name: { to: 'com.example.almanac', finds: 'search=ebb+almanac' },
  keywords: { to: ['moonrise', 'low water'], finds: 'search=ebb+moonrise' },
}

test('an update of each field waits, is audited and is searched, also within one millisecond', async () => {
  const { approved } = service.world.apps
  freezeClock()
  const expected: Change[] = []
  const before = (await service.get(`/apps/${approved}`)).body.data.app
  for (const [field, { to, finds }] of Object.entries(updates)) {
    await put(approved, { [field]: to })
    expected.push(
      field === 'category_id'
        ? { field: 'category', before: 'tools', after: 'games' }
        : { field, before: inOneLine(before[field]), after: inOneLine(to) },
    )
    const app = (await listOf('changed')).find(({ id }) => id === approved)
    expect(app?.changes.toSorted(byField), field).toEqual(expected.toSorted(byField))

    const entries = await service.database.read(({ sql }) =>
      sql('audit').orderBy('id', 'desc').limit(1).select('before', 'after'),
    )
    const [was = {}, is] = entries.flatMap((entry) =>
      [entry.before, entry.after].map((text) => JSON.parse(text ?? '{}')),
    )
    const stored = Array.isArray(to) ? JSON.stringify(to) : to
    expect([Object.keys(was), is]).toEqual([[field], { [field]: stored }])

    const { apps } = (await service.get(`/apps?${finds}`)).body.data
    expect(apps, field).toMatchObject([{ id: approved }])
  }
  await expectConsistent(service.database)
})

const inOneLine = (value: unknown) => [value].flat().join(', ')

const byField = (one: Change, other: Change) => (one.field < other.field ? -1 : 1)
