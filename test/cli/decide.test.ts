import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { type AppDecision, decideEach } from '../../src/moderation/decisions.ts'
import { importLines, toLines } from '../support/catalogue-file.ts'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, expectRefusal } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { approved, pending, rejected, bobsPending, bobs, deleted } = inject('world').apps

function fileOf(text: string | Buffer): string {
  const file = join(temporaryFolder(), 'decisions.ndjson')
  writeFileSync(file, text)
  return file
}

const statuses = async (cli: ReturnType<typeof commandLine>) => {
  const { apps } = await cli.json('app', 'list')
  return new Map(apps.map(({ id, status }: { id: number; status: string }) => [id, status]))
}

const mixed = `\uFEFF${toLines([
  { id: pending, decision: 'approve' },
  { id: bobsPending, decision: 'reject', reason: 'Two lines,\nin quotes.' },
])}
${toLines([
  { id: String(approved), decision: 'approve', reason: '' },
  { id: rejected, decision: 'reopen' },
  { id: 999, decision: 'approve' },
  { id: deleted, decision: 'reject', reason: 'Gone' },
])}`

test('decides what a file says, and lists each refusal', async () => {
  const cli = commandLine(await copyWorld())
  const before = await statuses(cli)
  const refusals = [
    `apps-service: app ${approved} is already approved`,
    'apps-service: there is no app 999',
    `apps-service: app ${deleted} is deleted now; it must be restored first`,
  ]
  expect(await cli.run('moderation', 'decide', fileOf(mixed))).toEqual({
    code: 1,
    stdout: expect.stringMatching(
      /^App 2 \(cloud-atlas\) is now approved\. Its name is "Cloud Atlas"; before the decision, it last changed \d+d ago\.\nApp 6 .* is now rejected\. Its name is "Night Train"; .*\nApp 3 .* is now pending\. Its name is "Broken Compass"; .*\n$/,
    ),
    stderr: `${refusals.join('\n')}\n`,
  })
  const after = new Map(before)
    .set(pending, 'approved')
    .set(bobsPending, 'rejected')
    .set(rejected, 'pending')
  expect(await statuses(cli)).toEqual(after)
  const { rejection_reason } = await cli.json('moderation', 'show', String(bobsPending))
  expect(rejection_reason).toBe('Two lines,\nin quotes.')
})

test('decides what standard input says, and refuses an invalid line there, too', async () => {
  const cli = commandLine(await copyWorld())
  const decide = (text: string) => cli.runWith(text, 'moderation', 'decide', '-', '--json')
  expectRefusal(await decide('{"id": 2}'), /nothing was decided: line 1: the decision must be/)
  expectRefusal(await decide(''), /cannot read standard input: it is empty$/m)
  const { code, stdout } = await decide(toLines([{ id: pending, decision: 'approve' }]))
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    [{ id: pending, slug: 'cloud-atlas', status: 'approved' }],
  ])
})

test('takes a file of a thousand decisions with long reasons', async () => {
  const cli = commandLine(await copyWorld())
  const reason = 'x'.repeat(500)
  const lines = Array.from({ length: 1000 }, (_, index) => ({
    id: 1001 + index,
    decision: 'reject',
    reason,
  }))
  const { code, stderr } = await cli.run('moderation', 'decide', fileOf(toLines(lines)))
  expect(code).toBe(1)
  expect(stderr.match(/there is no app/g)).toHaveLength(1000)
})

test('decides what a file says about the revisions that were read', async () => {
  const service = await startService()
  const cli = commandLine(service.databaseUrl)
  const { apps } = await cli.json('moderation', 'queue')
  const json = { name: 'Bank Login' }
  await service.request('PUT', `/apps/${pending}`, { key: service.world.keys.ada, json })
  const lines = apps.map(({ id, revision }: { id: number; revision: string }) => ({
    id: `${id}@${revision}`,
    decision: 'approve',
  }))
  const refusal = `app ${pending} has changed since revision ${apps[0].revision}; look at it again`
  const decided = await cli.run('moderation', 'decide', fileOf(toLines(lines)), '--json')
  expect(JSON.parse(decided.stdout)).toEqual([
    { id: pending, error: refusal },
    { id: bobsPending, slug: 'night-train', status: 'approved' },
  ])
  expect((await statuses(cli)).get(pending)).toBe('pending')
})

const approval = '{"id": 2, "decision": "approve"}'

test.for<[what: string, text: string | Buffer, message: RegExp]>([
  [
    'an unknown decision',
    '{"id": 2, "decision": "accept"}',
    /nothing was decided: line 1: the decision must be approve, reject or reopen, not "accept"/,
  ],
  [
    'a rejection without a reason',
    `${approval}\n{"id": 6, "decision": "reject"}`,
    /: line 2: a reason must have 1 to/,
  ],
  [
    'an approval with a reason',
    '{"id": 2, "decision": "approve", "reason": "Nice"}',
    /line 1: approve takes no reason/,
  ],
  [
    'a reopened app with a reason',
    '{"id": 1, "decision": "reopen", "reason": "Oops"}',
    /line 1: reopen takes no reason/,
  ],
  [
    'a repeated id',
    `${approval}\n{"id": "2@k3f9a", "decision": "approve"}`,
    /line 2: the id 2 is repeated/,
  ],
  [
    'an id that is repeated further down',
    `${approval}\n\n{"id": 5, "decision": "approve"}\n${approval}`,
    /line 4: the id 2 is repeated/,
  ],
  [
    'a bad id',
    '{"id": "0x2", "decision": "approve"}',
    /line 1: the id must be a number such as 108, or 108@\w+ with a revision, not "0x2"/,
  ],
  ['a bad revision', '{"id": "2@K", "decision": "approve"}', /line 1: the id must be a number/],
  ['no id', '{"decision": "approve"}\n', /line 1: the id is missing/],
  [
    'an unknown field',
    '{"id": 2, "decision": "approve", "note": "x"}',
    /line 1: note is not a field; the fields are id, decision and reason/,
  ],
  [
    'a line that ends too early',
    `${approval}\n{`,
    /: line 2: it is not valid JSON: it ends too early, at line 2, column 2$/m,
  ],
  [
    'a comma after the last field',
    `${approval}\n{"id": 3,}\n`,
    /: line 2: it is not valid JSON at line 2, column 10$/m,
  ],
  ['CSV', 'id,decision,reason\n2,approve,\n', /it must have one JSON object per line \(NDJSON\)$/m],
  ['a JSON array', `[${approval}]`, /the file is a JSON array; it must have one JSON object/],
  ['no lines', '', /it is empty/],
  [
    'a reason that is not text',
    '{"id": 2, "decision": "reject", "reason": {}}',
    /line 1: the reason must be text/,
  ],
  [
    'a reason of null',
    '{"id": 2, "decision": "reject", "reason": null}',
    /line 1: a reason must have 1 to/,
  ],
  ['a list', `${approval}\n[[1]]`, /line 2: 0 is not a field/],
  [
    'many problems',
    '{"id": "x", "decision": "approve"}\n'.repeat(12),
    /line 10: the id must [^;]+; and 2 more$/m,
  ],
  [
    'a reason in Windows-1252',
    Buffer.from(
      `${approval}\n{"id": 6, "decision": "reject", "reason": "Gr\xf6\xdfe"}\n`,
      'latin1',
    ),
    /: line 2: it is not UTF-8$/m,
  ],
  [
    'a reason with a replacement character',
    '{"id": 6, "decision": "reject", "reason": "Gr\uFFFD\uFFFDe"}',
    /line 1: .*U\+FFFD/,
  ],
  [
    'text in UTF-16',
    Buffer.from(`\uFEFF${approval}`, 'utf16le'),
    /: the file is in UTF-16; it must be UTF-8/,
  ],
])('decides nothing because of %s', async ([, text, message]) => {
  const cli = commandLine(await copyWorld())
  expectRefusal(await cli.run('moderation', 'decide', fileOf(text)), message)
  expect((await cli.json('moderation', 'queue')).pagination.total).toBe(2)
})

test('a file that cannot be read is named', async () => {
  expectRefusal(
    await commandLine(await copyWorld()).run('moderation', 'decide', '/none.ndjson'),
    /cannot read \/none\.ndjson: no such file or directory$/m,
  )
})

test('the queue as JSON has all apps, unless there is a limit', async () => {
  const address = await copyWorld()
  const database = openDatabase(address)
  const line = (name: string) => ({
    name,
    description: 'D',
    category: 'tools',
    developer_name: 'Cy',
  })
  await importLines(
    database,
    Array.from({ length: 60 }, (_, index) => line(`Wave ${index}`)),
  )
  await database.close()
  const cli = commandLine(address)
  expect((await cli.json('moderation', 'queue')).apps).toHaveLength(62)
  expect((await cli.json('moderation', 'queue', '--limit', '50')).apps).toHaveLength(50)
  expect((await cli.run('moderation', 'queue')).stderr).toContain('Page 1 of 2, 62 in all.')
})

test('a mix of decisions is applied one by one; the same mix again decides nothing', async () => {
  const service = await startService()
  const { database, world } = service
  const { apps, keys } = world
  // Approved, with changes that wait.
  await service.request('PUT', `/apps/${bobs}`, { key: keys.bob, json: { version: '2' } })
  const mix: AppDecision[] = [
    { id: bobs, decision: 'approve', reason: '' },
    { id: approved, decision: 'reject', reason: 'One' },
    { id: 999, decision: 'approve', reason: '' },
    { id: pending, decision: 'approve', reason: '' },
    { id: deleted, decision: 'approve', reason: '' },
    { id: bobsPending, decision: 'reject', reason: 'Two' },
    { id: apps.rejected, decision: 'reject', reason: 'Three' },
  ]
  const ids = [...Object.values(apps)].toSorted((a, b) => a - b)
  const state = () =>
    database.read(({ sql }) =>
      sql('apps')
        .orderBy('id')
        .select('id', 'status', 'rejection_reason', 'unreviewed_since', 'revision'),
    )
  const apply = async () => {
    const version = await database.dataVersion()
    const entries = () => database.read(({ sql }) => sql('audit').orderBy('id'))
    const last = (await entries()).length
    const results = []
    for await (const result of decideEach(database, mix, { operator: 'test' }))
      results.push('error' in result ? result.error.message : result.status)
    return {
      results,
      audited: (await entries()).slice(last).map(({ app_id, action }) => `${action} ${app_id}`),
      isPublic: (await database.dataVersion()) !== version,
    }
  }
  const refusals = {
    missing: 'there is no app 999',
    deleted: `app ${deleted} is deleted now; it must be restored first`,
    rejected: `app ${apps.rejected} is already rejected`,
  }
  expect(await apply()).toEqual({
    results: [
      'approved',
      'rejected',
      refusals.missing,
      'approved',
      refusals.deleted,
      'rejected',
      refusals.rejected,
    ],
    audited: [
      `app approve ${bobs}`,
      `app reject ${approved}`,
      `app approve ${pending}`,
      `app reject ${bobsPending}`,
    ],
    isPublic: true,
  })
  const decided = await state()
  expect(decided.map(({ id }) => id)).toEqual(ids)
  expect(
    new Map(decided.map(({ id, status, rejection_reason }) => [id, [status, rejection_reason]])),
  ).toEqual(
    new Map([
      [approved, ['rejected', 'One']],
      [pending, ['approved', null]],
      [apps.rejected, ['rejected', 'It points south.']],
      [deleted, ['approved', null]],
      [bobs, ['approved', null]],
      [bobsPending, ['rejected', 'Two']],
    ]),
  )
  expect(decided.filter(({ unreviewed_since }) => unreviewed_since !== null)).toEqual([])
  expect(await apply()).toEqual({
    results: [
      `app ${bobs} is already approved`,
      `app ${approved} is already rejected`,
      refusals.missing,
      `app ${pending} is already approved`,
      refusals.deleted,
      `app ${bobsPending} is already rejected`,
      refusals.rejected,
    ],
    audited: [],
    isPublic: false,
  })
  expect(await state()).toEqual(decided)
})
