import { describe, expect, inject, test } from 'vitest'
import {
  addCategory,
  findCategories,
  findCategoriesWithCounts,
  removeCategory,
  renameCategory,
} from '../../src/catalogue/category-store.ts'
import type { Database } from '../../src/db/database.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openWorld } from '../support/database.ts'
import { share } from '../support/lifetime.ts'

const actor = { operator: 'test' }
const { categories } = inject('world')

const newestEntry = ({ read }: Database) =>
  read(({ sql }) =>
    sql('audit').orderBy('id', 'desc').first('action', 'at', 'category_id', 'before', 'after'),
  )

test('categories are listed by name, with the number of their apps', async () => {
  const { read, write } = await openWorld()
  await write((runner) => addCategory(runner, 'atlas', 'Maps', actor))
  expect(await read(findCategoriesWithCounts)).toMatchObject([
    { slug: 'empty', name: 'Empty', listed_apps: 0, all_apps: 0 },
    { slug: 'games', name: 'Games', listed_apps: 1, all_apps: 1 },
    { slug: 'atlas', name: 'Maps', listed_apps: 0, all_apps: 0 },
    { slug: 'tools', name: 'Tools', listed_apps: 1, all_apps: 5 },
  ])
  const names = (await read(findCategories)).map(({ name }) => name)
  expect(names).toEqual(['Empty', 'Games', 'Maps', 'Tools'])
})

test('an added category has the time, and is audited', async () => {
  const at = new Date(freezeClock()).toISOString()
  const database = await openWorld()
  const { id } = await database.write((runner) => addCategory(runner, 'maps', ' Maps ', actor))
  const row = await database.read(({ sql }) => sql('categories').where({ id }).first())
  expect(row).toMatchObject({ slug: 'maps', name: 'Maps', created_at: at })
  expect(await newestEntry(database)).toEqual({
    action: 'category add',
    at,
    category_id: id,
    before: null,
    after: '{"slug":"maps","name":"Maps"}',
  })
})

test('a renamed category keeps its slug unless it gets another, and is audited', async () => {
  const database = await openWorld()
  const rename = (names: { name: string; slug?: string }) =>
    database.write((runner) => renameCategory(runner, 'tools', names, actor))
  const { tools: id } = categories
  expect(await rename({ name: ' Useful ' })).toEqual({ id, slug: 'tools', name: 'Useful' })
  const changed = { before: '{"name":"Tools"}', after: '{"name":"Useful"}' }
  expect(await newestEntry(database)).toMatchObject({ action: 'category rename', ...changed })
  expect(await rename({ name: 'Useful', slug: 'useful' })).toMatchObject({ slug: 'useful' })
  const moved = { before: '{"slug":"tools"}', after: '{"slug":"useful"}' }
  expect(await newestEntry(database)).toMatchObject({ category_id: id, ...moved })
  await expectConsistent(database)
})

test('a category without apps is removed and audited; a new one gets another id', async () => {
  const database = await openWorld()
  const { write } = database
  const { empty: id } = categories
  const remove = (slug: string) => write((runner) => removeCategory(runner, slug, actor))
  expect(await remove('empty')).toEqual({ id, slug: 'empty', name: 'Empty' })
  expect(await newestEntry(database)).toMatchObject({
    action: 'category remove',
    category_id: id,
    before: '{"slug":"empty","name":"Empty"}',
    after: '{"slug":null,"name":null}',
  })
  expect((await write((runner) => addCategory(runner, 'empty', 'Empty', actor))).id).not.toBe(id)
  await expect(remove('none')).rejects.toMatchObject({ name: 'OperatorError' })
  const removed = remove('games').catch((error) => database.explain(error))
  expect(await removed).toMatchObject({ violatesForeignKey: true })
  await expectConsistent(database)
})

describe('is refused:', () => {
  let database: Database
  share(async () => {
    database = await openWorld()
  })

  type Names = { name: string; slug?: string }
  const rename = (slug: string, names: Names) => () =>
    database.write((runner) => renameCategory(runner, slug, names, actor))
  const add = (slug: string, name: string) => () =>
    database.write((runner) => addCategory(runner, slug, name, actor))

  test.for<{ what: string; act: () => Promise<unknown>; message: RegExp }>([
    {
      what: 'a slug that exists',
      act: add('tools', 'More'),
      message: /^there is already a category with the slug tools$/,
    },
    {
      what: 'a name that exists',
      act: add('more', 'Tools'),
      message: /^there is already a category with the name Tools, whose slug is tools$/,
    },
    { what: 'a slug of other characters', act: add('Bad Slug', 'Bad'), message: /^the slug / },
    { what: 'a name of no characters', act: add('more', ' '), message: /^a category name / },
    {
      what: 'another name for what does not exist',
      act: rename('none', { name: 'None' }),
      message: /^there is no category with the slug none$/,
    },
    {
      what: 'the name of another',
      act: rename('tools', { name: 'Games' }),
      message: /Games, whose slug is games$/,
    },
    {
      what: 'the slug of another',
      act: rename('tools', { name: 'Tools', slug: 'games' }),
      message: /games$/,
    },
    {
      what: 'the name that it has',
      act: rename('tools', { name: ' Tools ' }),
      message: /^the category tools already has the name "Tools"$/,
    },
    {
      what: 'another name of no visible character',
      act: rename('tools', { name: '\u3164' }),
      message: /^a category name /,
    },
    {
      what: 'another slug of other characters',
      act: rename('tools', { name: 'Tools', slug: 'Bad Slug' }),
      message: /^the slug /,
    },
  ])('$what', async ({ act, message }) => {
    const before = await database.read(findCategories)
    const refused = act()
    await expect(refused).rejects.toMatchObject({ name: 'OperatorError' })
    await expect(refused).rejects.toThrow(message)
    expect(await database.read(findCategories)).toEqual(before)
  })
})

test('there are at most as many categories as a response can list', async () => {
  const { write } = await openWorld()
  await write(async (runner) => {
    const now = new Date().toISOString()
    await runner.insertRows(
      'categories',
      Array.from({ length: 997 }, (_, index) => ({
        slug: `category-${index}`,
        name: `Category ${index}`,
        created_at: now,
        changed_at: now,
      })),
    )
  })
  const added = write((runner) => addCategory(runner, 'more', 'More', actor))
  await expect(added).rejects.toThrow(/^there are 1000 categories/)
})
