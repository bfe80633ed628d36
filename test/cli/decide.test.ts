import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { toLines } from '../support/catalogue-file.ts'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, expectRefusal } from '../support/process.ts'

/** `moderation decide`. test/cli/decision-file.test.ts has what a file may contain. */

const { pending, rejected, bobsPending } = inject('world').apps

function fileOf(lines: object[]): string {
  const file = join(temporaryFolder(), 'decisions.ndjson')
  writeFileSync(file, toLines(lines))
  return file
}

test('makes the decisions of a file, and prints each refusal', async () => {
  const { run, json } = commandLine(await copyWorld())
  const file = fileOf([
    { id: pending, decision: 'approve' },
    { id: bobsPending, decision: 'reject', reason: 'Two lines,\nin quotes.' },
    { id: 999, decision: 'approve' },
    { id: rejected, decision: 'reopen' },
  ])
  expect(await run('moderation', 'decide', file)).toEqual({
    code: 1,
    stdout: expect.stringMatching(
      /^App 2 .* approved\..*\nApp 6 .* rejected\..*\nApp 3 .* pending\..*\n$/,
    ),
    stderr: expect.stringMatching(/^apps-service: .* 999\n$/),
  })
  const { rejection_reason } = await json('moderation', 'show', String(bobsPending))
  expect(rejection_reason).toBe('Two lines,\nin quotes.')
})

test('prints JSON, with the refusals in their places', async () => {
  const { run, json } = commandLine(await copyWorld())
  const { apps } = await json('moderation', 'queue')
  await run('moderation', 'approve', String(pending))
  const lines = apps.map(({ id, revision }: { id: number; revision: string }) => ({
    id: `${id}@${revision}`,
    decision: 'reject',
    reason: 'No.',
  }))
  const { code, stdout } = await run('moderation', 'decide', fileOf(lines), '--json')
  expect([code, JSON.parse(stdout)]).toEqual([
    1,
    [
      { id: pending, error: expect.stringMatching(/^app 2 /) },
      { id: bobsPending, slug: 'night-train', status: 'rejected' },
    ],
  ])
})

test('reads standard input, and decides nothing if one of its lines is not valid', async () => {
  const { run, runWith, json } = commandLine(await copyWorld())
  const decide = (text: string) => runWith(text, 'moderation', 'decide', '-', '--json')
  const approval = toLines([{ id: pending, decision: 'approve' }])
  expectRefusal(await decide(`${approval}{"id": 6}`), /nothing was decided: line 2: /)
  expectRefusal(await decide(''), /cannot read standard input: it is empty$/m)
  expectRefusal(await run('moderation', 'decide', '/none.ndjson'), /cannot read \/none\.ndjson: /)
  expect((await json('moderation', 'queue')).pagination.total).toBe(2)
  const { code, stdout } = await decide(approval)
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    [{ id: pending, slug: 'cloud-atlas', status: 'approved' }],
  ])
})
