import { expect, test } from 'vitest'
import { findLookAlikes } from '../../../src/catalogue/look-alikes.ts'
import { findApps } from '../../../src/moderation/finder.ts'
import { expectConsistent } from '../../support/consistency.ts'
import { openWorld } from '../../support/database.ts'

/** What version 2.3.0 has instead. */
const before = [
  'alter table operator_sessions drop column opened_app_id',
  'alter table operator_sessions drop column opened_at',
  'drop table app_names',
  'drop index apps_developer',
  'create index audit_developer on audit (developer_id, id)',
  'create index apps_developer on apps (developer_id, id)',
  'create index apps_lower_name on apps (lower(name), id)',
  "delete from knex_migrations where name = '0024-names.ts'",
]

test('the apps of version 2.3.0 are found by their names, and by names that look like theirs', async () => {
  const database = await openWorld()
  await database.write(async ({ sql }) => {
    for (const statement of before) await sql.raw(statement)
  })
  expect(await database.migrate()).toEqual(['0024-names.ts'])
  await expectConsistent(database)
  const { named, ofDeveloper, lookAlikes } = await database.read(async (runner) => {
    const find = async (text: string) => (await findApps(runner, text, 10)).ids
    const app = { name: 'T\u0456de C1ock', developer_id: 9, status: 'pending' as const }
    return {
      // Approved, pending, rejected and deleted.
      named: [await find('clock'), await find('atlas'), await find('compass'), await find('gone')],
      ofDeveloper: await find('ad'),
      lookAlikes: (await findLookAlikes(runner, [app])).flat().map(({ name }) => name),
    }
  })
  expect(named.map(({ length }) => length)).toEqual([1, 1, 1, 1])
  expect(ofDeveloper).toHaveLength(4)
  expect(lookAlikes).toEqual(['Tide Clock'])
})
