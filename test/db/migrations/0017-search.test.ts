import { expect, test } from 'vitest'
import { findSimilarApps } from '../../../src/catalogue/similar-names.ts'
import { listed } from '../../../src/db/listed-apps.ts'
import { toSearchDocument } from '../../../src/search/terms.ts'
import { expectConsistent } from '../../support/consistency.ts'
import { openWorld } from '../../support/database.ts'

test('the listed apps of version 2.0.0 are found by names that look like theirs', async () => {
  const database = await openWorld()
  await database.write(async ({ sql, search }) => {
    const apps = await sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .whereRaw(listed)
      .select('apps.*', 'developers.name as developer_name')
    const documents = apps.map(({ developer_name, ...app }) => {
      const document = toSearchDocument(app, developer_name)
      const tokens = document.tokens.filter((token) => !token.startsWith('=~'))
      return { id: app.id, slug: app.slug, categoryId: app.category_id, ...document, tokens }
    })
    await search.index(documents)
    await sql.raw("delete from knex_migrations where name = '0017-search.ts'")
  })
  const similar = () =>
    database.read(async (runner) => {
      const app = { name: 'T\u0456de C1ock', developer_id: 9, status: 'pending' as const }
      return (await findSimilarApps(runner, [app])).flat().map(({ name }) => name)
    })
  expect(await similar()).toEqual([])
  expect(await database.migrate()).toEqual(['0017-search.ts'])
  expect(await similar()).toEqual(['Tide Clock'])
  await expectConsistent(database)
})
