import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { decideEach, type GivenDecision } from '../../src/moderation/decisions.ts'
import { importLines } from '../support/catalogue-file.ts'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, expectRefusal } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { approved, pending, bobsPending, bobs, deleted } = inject('world').apps

function fileOf(text: string | Buffer, name = 'decisions.csv'): string {
  const file = join(temporaryFolder(), name)
  writeFileSync(file, text)
  return file
}

const statuses = async (cli: ReturnType<typeof commandLine>) => {
  const { apps } = await cli.json('app', 'list')
  return new Map(apps.map(({ id, status }: { id: number; status: string }) => [id, status]))
}

const csv = `\uFEFFid,decision,reason
${pending},approve,
${bobsPending},reject,"Two lines,
in quotes."

${approved},approve,
999,approve,
${deleted},reject,Gone
`

test('decides what a CSV file says after a dry run, and lists each refusal', async () => {
  const cli = commandLine(await copyWorld())
  const before = await statuses(cli)
  const file = fileOf(csv)
  const refusals = [
    `apps-service: app ${approved} is already approved`,
    'apps-service: there is no app 999',
    `apps-service: app ${deleted} is deleted now; it must be restored first`,
  ]
  const warning = 'apps-service: warning:'
  const csvWarning = `${warning} CSV is removed in 3.0; give NDJSON with the fields id, decision and reason instead\n`
  const dryRunWarning = `${warning} --dry-run of decide is removed in 3.0; an invalid file decides nothing, and refusals are listed\n`
  const stderr = `${csvWarning}${refusals.join('\n')}\n`
  expect(await cli.run('moderation', 'decide', file, '--dry-run')).toEqual({
    code: 1,
    stdout: expect.stringMatching(
      /^App 2 \(cloud-atlas\) would be approved: "Cloud Atlas", last changed \d+d ago\.\nApp 6 \(night-train\) would be rejected: "Night Train", last changed \d+d ago\.\n$/,
    ),
    stderr: stderr.replace(csvWarning, csvWarning + dryRunWarning),
  })
  expect(await statuses(cli)).toEqual(before)
  expect(await cli.run('moderation', 'decide', file)).toEqual({
    code: 1,
    stdout: expect.stringMatching(
      /^App 2 .* is approved now: .*\nApp 6 .* is rejected now: "Night Train", .*\n$/,
    ),
    stderr,
  })
  const after = new Map(before).set(pending, 'approved').set(bobsPending, 'rejected')
  expect(await statuses(cli)).toEqual(after)
  const { rejection_reason } = await cli.json('moderation', 'show', String(bobsPending))
  expect(rejection_reason).toBe('Two lines,\nin quotes.')
})

test('decides what an NDJSON file says, unless an app was updated since', async () => {
  const cli = commandLine(await copyWorld())
  const file = fileOf(
    [
      { id: bobs, decision: 'reject', reason: 'Spam' },
      { id: pending, decision: 'approve' },
    ]
      .map((row) => JSON.stringify(row))
      .join('\n'),
    'decisions.ndjson',
  )
  for (const dryRun of [['--dry-run'], []]) {
    const options = ['--as-of', '2020-01-02', ...dryRun]
    const decided = await cli.run('moderation', 'decide', file, ...options, '--json')
    const { stdout, stderr, code } = decided
    expect(stderr.match(/warning: .* is removed in 3\.0/g)).toEqual([
      'warning: --as-of is removed in 3.0',
      ...dryRun.map(() => 'warning: --dry-run of decide is removed in 3.0'),
    ])
    expect(JSON.parse(stdout)).toEqual([
      { id: bobs, error: expect.stringMatching(/was updated at .*, after the time given/) },
      { id: pending, slug: 'cloud-atlas', status: 'approved' },
    ])
    expect(code).toBe(1)
  }
  expect((await cli.run('moderation', 'decide', file)).stderr).not.toContain('warning')
})

test('takes a file of a thousand decisions with long reasons', async () => {
  const cli = commandLine(await copyWorld())
  const rows = Array.from(
    { length: 1000 },
    (_, index) => `${1001 + index},reject,${'x'.repeat(500)}`,
  )
  const { code, stderr } = await cli.run(
    'moderation',
    'decide',
    fileOf(['id,decision,reason', ...rows].join('\n')),
  )
  expect(code).toBe(1)
  expect(stderr.match(/there is no app/g)).toHaveLength(1000)
})

test('decides what a file says about the revisions that were read', async () => {
  const service = await startService()
  const cli = commandLine(service.databaseUrl)
  const { apps } = await cli.json('moderation', 'queue')
  const json = { name: 'Bank Login' }
  await service.request('PUT', `/apps/${pending}`, { key: service.world.keys.ada, json })
  const rows = apps.map(
    ({ id, revision }: { id: number; revision: string }) => `${id}@${revision},approve`,
  )
  const refusal = `app ${pending} has changed since revision ${apps[0].revision}; look at it again`
  for (const dryRun of [['--dry-run'], []]) {
    const decided = await cli.run(
      'moderation',
      'decide',
      fileOf(`id,decision\n${rows.join('\n')}`),
      ...dryRun,
      '--json',
    )
    expect(JSON.parse(decided.stdout)).toEqual([
      { id: pending, error: refusal },
      { id: bobsPending, slug: 'night-train', status: 'approved' },
    ])
  }
  expect((await statuses(cli)).get(pending)).toBe('pending')
})

test.for<[what: string, text: string | Buffer, message: RegExp]>([
  [
    'an unknown decision',
    'id,decision,reason\n2,accept,\n',
    /nothing was decided: line 2: the decision must be approve or reject, not "accept"/,
  ],
  [
    'a rejection without a reason',
    'id,decision,reason\n2,approve,\n6,reject,\n',
    /: line 3: a reason must have 1 to/,
  ],
  [
    'an approval with a reason',
    'id,decision,reason\n2,approve,Nice\n',
    /line 2: approve takes no reason/,
  ],
  ['a repeated id', 'id,decision\n2,approve\n2@k3f9a,approve\n', /line 3: the id 2 is repeated/],
  [
    'an id that is repeated further down',
    'id,decision\n6,approve\n5,approve\n6,approve\n',
    /line 4: the id 6 is repeated/,
  ],
  [
    'a bad id',
    'id,decision\n0x2,approve\n',
    /line 2: the id must be a number such as 108, or 108@\w+ with a revision, not "0x2"/,
  ],
  ['a bad revision', 'id,decision\n2@K,approve\n', /line 2: the id must be a number such as/],
  ['no id', '{"decision": "approve"}\n', /line 1: the id is missing/],
  [
    'an unknown column',
    'id,decision,note\n2,approve,x\n',
    /line 2: note is not a field; the fields are id, decision and reason/,
  ],
  ['a row that is too long', 'id,decision\n2,approve,x\n', /Invalid Record Length/],
  [
    'text that is not JSON',
    '{"id": 2, "decision": "approve"}\n{',
    /cannot read .*: it is not valid JSON: it ends too early, at line 2, column 2$/m,
  ],
  [
    'a comma after the last field',
    '{"id": 2, "decision": "approve"}\n{"id": 3,}\n',
    /cannot read .*: it is not valid JSON at line 2, column 10$/m,
  ],
  ['no header', '2,approve,\n', /the first line must be the header id,decision,reason/],
  ['no rows', '', /it is empty/],
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
  ['a list', '{"id": 2, "decision": "approve"}\n[[1]]', /line 2: 0 is not a field/],
  [
    'many problems',
    `id,decision\n${'x,approve\n'.repeat(12)}`,
    /line 11: the id must [^;]+; and 2 more$/m,
  ],
  [
    'a problem below a reason of several lines',
    'id,decision,reason\n2,reject,"One\n\nthree"\n\n6,accept,\n3,reject,"\n"\n',
    /: line 6: the decision must [^;]+; line 7: a reason must/,
  ],
  [
    'a reason in Windows-1252',
    Buffer.from('id,decision,reason\n2,approve,\n6,reject,Gr\xf6\xdfe fehlt\n', 'latin1'),
    /^apps-service: cannot read \S+: line 3 is not UTF-8\n$/,
  ],
  [
    'a reason with a replacement character',
    'id,decision,reason\n6,reject,Gr\uFFFD\uFFFDe\n',
    /line 2: .*U\+FFFD/,
  ],
  [
    'text in UTF-16',
    Buffer.from('\uFEFFid,decision\n2,approve\n', 'utf16le'),
    /: the file is in UTF-16; it must be UTF-8/,
  ],
  ['a file that is too large', 'x'.repeat(16 * 1024 * 1024 + 1), /: it is larger than 16 MiB/],
])('decides nothing because of %s', async ([, text, message]) => {
  const cli = commandLine(await copyWorld())
  expectRefusal(await cli.run('moderation', 'decide', fileOf(text)), message)
  expect((await cli.json('moderation', 'queue')).pagination.total).toBe(2)
})

test('a file that cannot be read is named', async () => {
  expectRefusal(
    await commandLine(await copyWorld()).run('moderation', 'decide', '/none.csv'),
    /cannot read \/none\.csv: no such file or directory$/m,
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
  const mix: GivenDecision[] = [
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
