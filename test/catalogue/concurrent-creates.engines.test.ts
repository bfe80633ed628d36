import { expect, inject, test } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { expectConsistent } from '../support/consistency.ts'
import { holdWrite } from '../support/held-write.ts'
import { type Service, startService } from '../support/service.ts'

/** Creates that wait for the same transaction: on SQLite they share its statements. */

type Create = { by?: 'ada' | 'bob'; idempotencyKey?: string } & Record<string, unknown>

/** Sends creates while another write keeps them waiting; returns their responses. */
async function createTogether(service: Service, creates: Create[]) {
  // The first use of an API key is a write of its own.
  for (const key of [service.world.keys.ada, service.world.keys.bob])
    await service.get('/developer/apps', { key })
  await expect.poll(() => usesRecorded(service)).toBe(2)
  const release = await holdWrite(service.database)
  const replies = creates.map(({ by = 'ada', idempotencyKey, ...fields }) =>
    service.request('POST', '/apps', {
      key: service.world.keys[by],
      ...(idempotencyKey && { headers: { 'Idempotency-Key': idempotencyKey } }),
      json: { ...newApp, package_name: undefined, ...fields },
    }),
  )
  if (inject('engine') === 'sqlite')
    await expect
      .poll(() => service.database.usage().pools.find(({ name }) => name === 'writer')?.queued)
      .toBe(creates.length)
  await release()
  return Promise.all(replies)
}

const usesRecorded = ({ database }: Service) =>
  database.read(async ({ sql }) => {
    const used = await sql('api_keys').whereNotNull('last_used_at').pluck('id')
    return used.length
  })

test.for<[what: string, creates: Create[], statuses: number[]]>([
  ['of different names', [{ name: 'Quill' }, { name: 'Fiddle' }], [201, 201]],
  ['of one name', [{ name: 'Quill' }, { name: 'Quill' }, { name: 'Quill' }], [201, 201, 201]],
  [
    'of two developers',
    [{ name: 'Quill' }, { by: 'bob', name: 'Fiddle' }, { name: 'Recorder' }],
    [201, 201, 201],
  ],
  [
    'one of a category that does not exist',
    [{ name: 'Quill' }, { name: 'Fiddle', category_id: 999 }, { name: 'Recorder' }],
    [201, 422, 201],
  ],
  [
    'two with one package name',
    [
      { name: 'Quill', package_name: 'org.example.quill' },
      { name: 'Recorder' },
      { by: 'bob', name: 'Fiddle', package_name: 'org.Example.Quill' },
    ],
    [201, 201, 409],
  ],
  [
    "three with the package name of one developer's deleted app",
    [
      { name: 'Quill', package_name: 'org.example.gone' },
      { by: 'bob', name: 'Fiddle', package_name: 'org.example.gone' },
      { name: 'Recorder', package_name: 'org.example.Gone' },
    ],
    [201, 409, 409],
  ],
  [
    'with the package name of a deleted app, one with an Idempotency-Key',
    [
      { name: 'Quill', package_name: 'org.example.gone', idempotencyKey: 'k' },
      { name: 'Recorder', package_name: 'org.example.gone' },
    ],
    [201, 409],
  ],
  [
    'without package names',
    [
      { name: 'Quill', package_name: '' },
      { name: 'Fiddle', package_name: '' },
    ],
    [201, 201],
  ],
  [
    'some with an Idempotency-Key',
    [
      { name: 'Quill', idempotencyKey: 'k' },
      { name: 'Fiddle' },
      { name: 'Quill', idempotencyKey: 'k' },
    ],
    [201, 201, 201],
  ],
])('creates at once, %s, fail or succeed as one after the other', async ([, creates, statuses]) => {
  const service = await startService()
  const replies = await createTogether(service, creates)
  expect(replies.map(({ status }) => status).toSorted()).toEqual(statuses.toSorted())

  const created = replies.filter(({ status }) => status === 201)
  const ids = [...new Set<number>(created.map(({ body }) => body.data.app_id))]
  const { rows, authors } = await service.database.read(async ({ sql }) => ({
    rows: await sql('apps')
      .join('api_keys', 'api_keys.developer_id', 'apps.developer_id')
      .whereIn('apps.id', ids)
      .whereNotNull('last_used_at')
      .select('apps.id', 'apps.slug', 'api_keys.id as key_id'),
    authors: await sql('audit').where({ action: 'app create' }).whereIn('app_id', ids),
  }))
  expect(rows.length).toBe(ids.length)
  // Each response is about its own app, and each app has one entry, of its author.
  for (const { body } of created)
    expect(rows).toContainEqual(
      expect.objectContaining({ id: body.data.app_id, slug: body.data.slug }),
    )
  expect(authors.map(({ app_id, key_id }) => [app_id, key_id]).toSorted()).toEqual(
    rows.map(({ id, key_id }) => [id, key_id]).toSorted(),
  )
  await expectConsistent(service.database)
})

test('32 creates that wait together take as many statements as a few', async ({ skip }) => {
  if (inject('engine') !== 'sqlite') skip('PostgreSQL writes each alone')
  const service = await startService()
  await createTogether(service, [{ name: 'Warm' }])
  const statements: string[] = []
  service.database.onStatement((statement) => statements.push(statement))
  const creates = Array.from({ length: 32 }, (_, index) => ({ name: `Quill ${index}` }))
  const replies = await createTogether(service, creates)
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]))
  const writes = statements.filter((statement) => /^(savepoint|insert)/.test(statement))
  expect(writes.map((statement) => statement.split(' ').slice(0, 3).join(' '))).toEqual([
    'insert into apps',
    'insert or replace',
    'insert into audit',
  ])
})
