import { expect, test } from 'vitest'
import { copyWorld } from '../support/database.ts'
import { commandLine } from '../support/process.ts'

/** What `category` prints. test/catalogue/category-store.engines.test.ts has its rules. */

test('categories are printed with their numbers of apps', async () => {
  const { run, json } = commandLine(await copyWorld())
  expect(await json('category', 'list')).toEqual([
    { id: 3, slug: 'empty', name: 'Empty', listed_apps: 0, all_apps: 0 },
    { id: 2, slug: 'games', name: 'Games', listed_apps: 1, all_apps: 1 },
    { id: 1, slug: 'tools', name: 'Tools', listed_apps: 1, all_apps: 5 },
  ])
  expect((await run('category', 'list')).stdout).toMatch(
    /^ID +SLUG +NAME +LISTED APPS +ALL APPS\n3 +empty +Empty +0 +0\n2 +games +Games +1 +1\n1 +tools +Tools +1 +5\n$/,
  )
})

test.for<{ args: string[]; stdout: string; json: object }>([
  {
    args: ['add', '--slug', 'travel', '--name', 'Travel'],
    stdout: 'Added category 4: Travel (travel).\n',
    json: { id: 4, slug: 'travel', name: 'Travel' },
  },
  {
    args: ['rename', 'tools', '--name', 'Useful Things', '--slug', 'useful'],
    stdout: 'Category 1 is Useful Things (useful) now.\n',
    json: { id: 1, slug: 'useful', name: 'Useful Things' },
  },
  {
    args: ['rename', 'tools', '--name', 'Useful Things'],
    stdout: 'Category 1 is Useful Things (tools) now.\n',
    json: { id: 1, slug: 'tools', name: 'Useful Things' },
  },
  {
    args: ['remove', 'empty'],
    stdout: 'Removed category 3: Empty (empty).\n',
    json: { id: 3, slug: 'empty', name: 'Empty' },
  },
])('category $args prints what it did', async ({ args, stdout, json }) => {
  expect(await commandLine(await copyWorld()).run('category', ...args)).toEqual({
    code: 0,
    stdout,
    stderr: '',
  })
  expect(await commandLine(await copyWorld()).json('category', ...args)).toEqual(json)
})

test.for<{ args: string[]; stderr: RegExp }>([
  { args: ['add', '--slug', 'tools', '--name', 'More'], stderr: /^apps-service: .* tools\b/ },
  { args: ['rename', 'tools', '--name', 'Games'], stderr: /^apps-service: .* Games\b/ },
  { args: ['remove', 'none'], stderr: /^apps-service: .* none\b/ },
  {
    args: ['remove', 'games'],
    stderr:
      /^apps-service: the category games has apps, possibly deleted ones; rename it instead\n$/,
  },
])('category $args is refused', async ({ args, stderr }) => {
  expect(await commandLine(await copyWorld()).run('category', ...args)).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(stderr),
  })
})

test('a removed category has its number in the audit log', async () => {
  const { run } = commandLine(await copyWorld())
  await run('category', 'remove', 'empty')
  expect((await run('audit')).stdout).toMatch(
    /category remove +category 3 \(removed\)\n +slug: empty → –; name: Empty → –\n$/,
  )
})
