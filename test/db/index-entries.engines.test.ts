import { expect, test } from 'vitest'
import { findApp, saveApp } from '../../src/catalogue/app-store.ts'
import { toSearchDocument } from '../../src/search/terms.ts'
import { expectConsistent } from '../support/consistency.ts'
import { findPage, namesOn, openListed } from '../support/listed-apps.ts'

/** What the search index of either engine has of an app, whatever its texts are or were. */

test.for<{ texts: string; letters: string }>([
  { texts: 'accents', letters: 'é '.repeat(9996) },
  { texts: 'letters with two marks', letters: 'ệ '.repeat(9996) },
  { texts: 'letters with two marks, in one word', letters: 'ệ'.repeat(19_993) },
  { texts: 'letters that are two', letters: 'ǆ'.repeat(19_993) },
  { texts: 'syllables of Hangul', letters: '한'.repeat(19_993) },
])(
  'the last word of the longest description, and the developer, are found behind $texts',
  async ({ letters }) => {
    const description = `${letters} zenith`
    const database = await openListed([
      { name: 'Long', short_description: 'é'.repeat(200), description },
    ])
    for (const search of ['zenith', 'ada'])
      expect(namesOn(await findPage(database, { search })), search).toEqual(['Long'])
  },
)

test('an app is found by all its other texts if the index truncates its description', async () => {
  const database = await openListed([
    {
      name: 'Long',
      short_description: 'Of it.',
      package_name: 'org.example.wide',
      description: 'ﷺ'.repeat(20_000),
    },
  ])
  for (const search of ['ada', 'of', 'wide', 'صلى'])
    expect(namesOn(await findPage(database, { search })), search).toEqual(['Long'])
})

test('a new text in a script without spaces is found, and the old one no longer', async () => {
  const database = await openListed([{ id: 50, name: 'Words', description: '日本語辞書' }])
  const find = async (search: string) => namesOn(await findPage(database, { search }))
  expect(await find('日本語')).toEqual(['Words'])
  await database.write(async (runner) => {
    const app = (await findApp(runner, 50)) ?? expect.fail()
    await saveApp(runner, 'app update', app, { description: '語日本、天気図' }, actor)
  })
  expect([await find('天気図'), await find('日本語')]).toEqual([['Words'], []])
})

const actor = { operator: 'test' }

test('an entry with other tokens, of an earlier version, is replaced by an update and removed by a deletion', async () => {
  const database = await openListed([
    { id: 50, slug: 'a-50', name: 'Updated' },
    { id: 51, slug: 'a-51', name: 'Deleted' },
  ])
  const find = async (search: string) => namesOn(await findPage(database, { search }))
  const entry = toSearchDocument({ name: 'Former', description: 'ancient' }, 'Ada')
  await database.write(({ search }) =>
    search.index([50, 51].map((id) => ({ id, slug: `a-${id}`, categoryId: 1, ...entry }))),
  )
  expect((await find('ancient')).toSorted()).toEqual(['Deleted', 'Updated'])
  await database.write(async (runner) => {
    const [updated, deleted] = [await findApp(runner, 50), await findApp(runner, 51)]
    if (!updated || !deleted) throw new Error('both were added')
    await saveApp(runner, 'app update', updated, { description: 'Modern.' }, actor)
    await saveApp(runner, 'app delete', deleted, { deleted_at: '2030-01-01T00:00:00.000Z' }, actor)
  })
  expect([await find('ancient'), await find('modern')]).toEqual([[], ['Updated']])
  await expectConsistent(database)
})
