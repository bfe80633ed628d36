import { expect, inject, test } from 'vitest'
import {
  addCategory,
  findCategories,
  findCategoriesWithCounts,
  renameCategory,
} from '../../src/catalogue/category-store.ts'
import { openDatabase } from '../../src/db/database.ts'
import { newApp } from '../contract/valid-requests.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistentAt } from '../support/consistency.ts'
import { copyWorld, openWorld } from '../support/database.ts'
import { commandLine, expectRefusal, serve } from '../support/process.ts'

test('categories have counts, and a rename shows in a running server at once', async () => {
  const address = await copyWorld()
  const server = await serve(address)
  const cli = commandLine(address)
  const listed = async (slug: string) =>
    (await server.request('GET', `/apps?category=${slug}`)).body.data.apps.map(
      (app: { category_name: string }) => app.category_name,
    )
  expect(await cli.json('category', 'list')).toEqual([
    { id: 3, slug: 'empty', name: 'Empty', listed_apps: 0, all_apps: 0 },
    { id: 2, slug: 'games', name: 'Games', listed_apps: 1, all_apps: 1 },
    { id: 1, slug: 'tools', name: 'Tools', listed_apps: 1, all_apps: 5 },
  ])
  expect((await cli.run('category', 'list')).stdout).toMatch(
    /^ID +SLUG +NAME +LISTED APPS +ALL APPS\n3 +empty +Empty +0 +0\n2 +games +Games +1 +1\n1 +tools +Tools +1 +5\n$/,
  )

  // A new name keeps the links.
  expect(await cli.json('category', 'rename', 'tools', '--name', 'Useful Things')).toEqual({
    id: 1,
    slug: 'tools',
    name: 'Useful Things',
  })
  expect(await listed('tools')).toEqual(['Useful Things'])
  expect(
    await cli.run('category', 'rename', 'tools', '--name', 'Useful Things', '--slug', 'useful'),
  ).toEqual({
    code: 0,
    stdout: 'Category 1 is Useful Things (useful) now.\n',
    stderr: '',
  })
  expect([await listed('tools'), await listed('useful')]).toEqual([[], ['Useful Things']])
  const renames = (await cli.json('audit')).slice(-2)
  expect(renames).toMatchObject([
    {
      action: 'category rename',
      category_id: 1,
      before: { name: 'Tools' },
      after: { name: 'Useful Things' },
    },
    {
      action: 'category rename',
      category_slug: 'useful',
      before: { slug: 'tools' },
      after: { slug: 'useful' },
    },
  ])
  await expectConsistentAt(address)
})

test('categories are ordered by name', async () => {
  const database = await openWorld()
  await database.write((runner) => addCategory(runner, 'atlas', 'Maps', { operator: 'test' }))
  const [all, overview] = await database.read(async (runner) => {
    return [await findCategories(runner), await findCategoriesWithCounts(runner)]
  })
  for (const listed of [all, overview]) {
    expect(listed.map(({ name }) => name)).toEqual(['Empty', 'Games', 'Maps', 'Tools'])
  }
})

test('an added category has a creation time, and is audited', async () => {
  const created_at = new Date(freezeClock()).toISOString()
  const database = await openWorld()
  await database.write((runner) => addCategory(runner, 'maps', 'Maps', { operator: 'test' }))
  expect(await database.read(({ sql }) => sql('categories').where({ id: 4 }))).toMatchObject([
    { slug: 'maps', name: 'Maps', created_at },
  ])
  const [entry] = await database.read(({ sql }) => sql('audit').orderBy('id', 'desc').limit(1))
  expect(entry).toMatchObject({
    at: created_at,
    action: 'category add',
    category_id: 4,
    operator: 'test',
    before: null,
    after: '{"slug":"maps","name":"Maps"}',
  })
})

test('a slug has at most 80 characters', async () => {
  const database = await openWorld()
  const add = (slug: string) =>
    database.write((runner) => addCategory(runner, slug, slug, { operator: 'test' }))
  expect((await add('x'.repeat(80))).slug).toHaveLength(80)
  await expect(add('x'.repeat(81))).rejects.toThrow(/ must have 1 to 80 characters, not 81$/)
})
const refusal = 'a category name must have 1 to 100 characters, not 0'

test.for<[slug: string, to: { name: string; slug?: string }, message: string]>([
  ['none', { name: 'None' }, 'there is no category with the slug none'],
  ['tools', { name: 'Games' }, 'there is already a category with the name Games'],
  ['tools', { name: 'Tools', slug: 'games' }, 'there is already a category with the slug games'],
  ['tools', { name: ' Tools ' }, 'the category tools already has the name "Tools"'],
  ['tools', { name: '' }, refusal],
  [
    'tools',
    { name: '\u3164' },
    'a category name must not have the character U+3164 (hangul filler)',
  ],
  [
    'tools',
    { name: 'Tools', slug: 'Bad Slug' },
    'the slug "Bad Slug" must be lower-case letters and digits with single hyphens between',
  ],
])('%s cannot become %j', async ([slug, to, message]) => {
  const database = await openWorld()
  const renamed = database.write((runner) => renameCategory(runner, slug, to, { operator: 'test' }))
  await expect(renamed).rejects.toMatchObject({ name: 'OperatorError', message })
})

test('the number of categories is limited to what a response can list', async () => {
  const address = await copyWorld()
  const database = openDatabase(address)
  await database.write(async (runner) => {
    for (let number = 4; number <= 1000; number++) {
      await addCategory(runner, `category-${number}`, `Category ${number}`, {
        operator: 'test',
      })
    }
  })
  await database.close()

  const { code, stdout, stderr } = await commandLine(address).run(
    'category',
    'add',
    '--slug',
    'more',
    '--name',
    'More',
  )
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toBe(
    'apps-service: there are 1000 categories, which is the maximum; rename or remove one\n',
  )
})

test('a category without apps can be removed, and a running server no longer knows it', async () => {
  const { apps, categories, keys } = inject('world')
  const address = await copyWorld()
  const server = await serve(address)
  const cli = commandLine(address)
  const moveTo = async (category_id: number) =>
    (
      await server.request('PUT', `/apps/${apps.approved}`, {
        key: keys.ada,
        json: { category_id },
      })
    ).status
  expect([await moveTo(categories.empty), await moveTo(categories.tools)]).toEqual([200, 200])
  expect(await cli.run('category', 'remove', 'empty')).toEqual({
    code: 0,
    stdout: `Removed category ${categories.empty}: Empty (empty).\n`,
    stderr: '',
  })
  expect(await moveTo(categories.empty)).toBe(422)
  expect(
    (await server.request('POST', '/apps', { key: keys.ada, json: { ...newApp, category_id: 3 } }))
      .status,
  ).toBe(422)
  expect(await cli.json('category', 'list')).toMatchObject([{ slug: 'games' }, { slug: 'tools' }])
  expect((await cli.run('audit')).stdout).toMatch(
    /category remove +category 3 \(removed\)\n +slug: empty → –; name: Empty → –\n$/,
  )
  // A new category gets a new id.
  expect(await cli.json('category', 'add', '--slug', 'empty', '--name', 'Empty')).toMatchObject({
    id: 4,
  })
  expect(await cli.run('category', 'remove', 'games')).toMatchObject({
    code: 1,
    stderr: 'apps-service: the category games has apps, possibly deleted ones; rename it instead\n',
  })
  await expectConsistentAt(address)
})

test('an added category is printed', async () => {
  const args = ['category', 'add', '--slug', 'travel', '--name', 'Travel']
  expect(await commandLine(await copyWorld()).run(...args)).toEqual({
    code: 0,
    stdout: 'Added category 4: Travel (travel).\n',
    stderr: '',
  })
  expect(await commandLine(await copyWorld()).json(...args)).toEqual({
    id: 4,
    slug: 'travel',
    name: 'Travel',
  })
})

test.for<[what: string, slug: string, name: string, message: RegExp]>([
  ['a slug that exists', 'tools', 'More', /already a category with the slug tools/],
  ['a name that exists', 'more', 'Tools', /already a category with the name Tools/],
  ['a slug of other characters', 'Bad Slug', 'Bad', /lower-case letters and digits/],
])('no category is added with %s', async ([, slug, name, message]) => {
  const cli = commandLine(await copyWorld())
  expectRefusal(await cli.run('category', 'add', '--slug', slug, '--name', name), message)
})
