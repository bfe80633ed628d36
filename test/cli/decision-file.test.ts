import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readDecisions } from '../../src/cli/decision-file.ts'
import { toLines } from '../support/catalogue-file.ts'
import { temporaryFolder } from '../support/database.ts'

const read = (text: string | Buffer) => {
  const file = join(temporaryFolder(), 'decisions.ndjson')
  writeFileSync(file, text)
  return readDecisions(file)
}

test('a line has the id, the revision that was read, the decision and the reason', async () => {
  const reason = 'Two lines,\nin quotes.'
  const text = `\uFEFF${toLines([
    { id: 2, decision: 'approve' },
    { id: '6@k3f9a', decision: 'reject', reason },
  ])}
${toLines([{ id: '1', decision: 'approve', reason: '' }])}{"id": 3, "decision": "reopen"}`
  expect(await read(text)).toEqual([
    { id: 2, revision: undefined, decision: 'approve', reason: '' },
    { id: 6, revision: 'k3f9a', decision: 'reject', reason },
    { id: 1, revision: undefined, decision: 'approve', reason: '' },
    { id: 3, revision: undefined, decision: 'reopen', reason: '' },
  ])
})

test('a file can have a thousand decisions with long reasons', async () => {
  const lines = Array.from({ length: 1000 }, (_, index) => ({
    id: 1001 + index,
    decision: 'reject',
    reason: 'x'.repeat(1000),
  }))
  expect(await read(toLines(lines))).toMatchObject(lines)
})

const approval = '{"id": 2, "decision": "approve"}'

test.for<{ what: string; text: string | Buffer; problem: RegExp }>([
  {
    what: 'an unknown decision',
    text: '{"id": 2, "decision": "accept"}',
    problem: /line 1: the decision must be .*"accept"/,
  },
  { what: 'no decision', text: '{"id": 2}', problem: /line 1: the decision must be/ },
  {
    what: 'a rejection without a reason',
    text: `${approval}\n{"id": 6, "decision": "reject"}`,
    problem: /line 2: a reason/,
  },
  {
    what: 'a rejection with a reason of null',
    text: '{"id": 2, "decision": "reject", "reason": null}',
    problem: /line 1: a reason/,
  },
  {
    what: 'a reason that is not text',
    text: '{"id": 2, "decision": "reject", "reason": {}}',
    problem: /line 1: the reason must be text/,
  },
  {
    what: 'a reason with a replacement character',
    text: '{"id": 6, "decision": "reject", "reason": "Gr\uFFFD\uFFFDe"}',
    problem: /line 1: a reason .*U\+FFFD/,
  },
  {
    what: 'an approval with a reason',
    text: '{"id": 2, "decision": "approve", "reason": "Nice"}',
    problem: /line 1: approve takes no reason/,
  },
  {
    what: 'a reopening with a reason',
    text: '{"id": 1, "decision": "reopen", "reason": "Oops"}',
    problem: /line 1: reopen takes no reason/,
  },
  {
    what: 'an id that is repeated, with a revision',
    text: `${approval}\n{"id": "2@k3f9a", "decision": "approve"}`,
    problem: /line 2: the id 2 is repeated/,
  },
  {
    what: 'an id that is repeated further down',
    text: `${approval}\n\n{"id": 5, "decision": "approve"}\n${approval}`,
    problem: /line 4: the id 2 is repeated/,
  },
  {
    what: 'a bad id',
    text: '{"id": "0x2", "decision": "approve"}',
    problem: /line 1: the id must be .*"0x2"/,
  },
  {
    what: 'a bad revision',
    text: '{"id": "2@K", "decision": "approve"}',
    problem: /line 1: the id must be .*"2@K"/,
  },
  { what: 'no id', text: '{"decision": "approve"}\n', problem: /line 1: the id is missing/ },
  {
    what: 'an unknown field',
    text: '{"id": 2, "decision": "approve", "note": "x"}',
    problem: /line 1: note is not a field; the fields are id, decision and reason/,
  },
  { what: 'a list', text: `${approval}\n[[1]]`, problem: /line 2: 0 is not a field/ },
  {
    what: 'a line that ends too early',
    text: `${approval}\n{`,
    problem: /line 2: it .* line 2, column 2$/,
  },
  {
    what: 'a comma after the last field',
    text: `${approval}\n{"id": 3,}\n`,
    problem: /line 2: it .* line 2, column 10$/,
  },
  {
    what: 'a line in Windows-1252',
    text: Buffer.from(`${approval}\n{"id": 6, "reason": "Gr\xf6\xdfe"}\n`, 'latin1'),
    problem: /line 2: it .* UTF-8$/,
  },
  { what: 'a JSON array', text: `[${approval}]`, problem: /JSON array/ },
  { what: 'no lines', text: '', problem: /empty/ },
  {
    what: 'many problems, of which ten are named',
    text: '{"id": "x", "decision": "approve"}\n'.repeat(12),
    problem: /line 10: the id must [^;]+; and 2 more$/,
  },
])('$what is refused', async ({ text, problem }) => {
  const reading = read(text)
  await expect(reading).rejects.toMatchObject({ name: 'OperatorError' })
  await expect(reading).rejects.toThrow(problem)
})

test('a file that cannot be read is named', async () => {
  await expect(readDecisions('/none.ndjson')).rejects.toThrow(/\/none\.ndjson: no such file/)
})
