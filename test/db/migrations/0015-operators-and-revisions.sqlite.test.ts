import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { decideApp } from '../../../src/moderation/decisions.ts'
import { copyWorldFile } from '../../support/database.ts'

/** The database of version 2.0.0. */
const before = [
  'drop trigger audit_refuses_insert',
  'alter table audit drop column operator_name',
  'alter table apps drop column revision',
  "delete from knex_migrations where name = '0015-operators-and-revisions.ts'",
]

test('a full database gets revisions and names of operators, and its audit log cannot be replaced', async () => {
  const database = openDatabase(`sqlite:${copyWorldFile()}`)
  onTestFinished(() => database.close())
  const audit = () => database.read(({ sql }) => sql('audit').orderBy('id'))
  const entries = await audit()
  await database.write(async ({ sql }) => {
    for (const statement of before) await sql.raw(statement)
  })
  expect(await database.migrate()).toEqual(['0015-operators-and-revisions.ts'])
  expect(await audit()).toEqual(entries)
  const replaced = database.write(({ sql }) =>
    sql.raw('insert or replace into audit select * from audit'),
  )
  await expect(replaced).rejects.toThrow(/audit is append-only/)

  const revisions = () => database.read(({ sql }) => sql('apps').orderBy('id').pluck('revision'))
  expect(await revisions()).toEqual(['first', 'first', 'first', 'first', 'first', 'first'])
  await database.write((runner) =>
    decideApp(runner, 'approve', 2, { operator: 'test' }, { revision: 'first' }),
  )
  expect((await revisions())[1]).not.toBe('first')
})
