import { expect, test } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { exampleLine, exampleReview, importLines, setCounters } from '../support/catalogue-file.ts'
import { commandLine } from '../support/process.ts'
import { startService } from '../support/service.ts'

/** Which writes change the version of the public data, and so empty the response cache. */

const listed = { ...exampleLine, name: 'Moon Map', status: 'approved' }
const pending = { ...listed, name: 'Late', status: 'pending' }
const categoryLine = { category: { slug: 'newest', name: 'Newest' } }
const counters = { slug: 'tide-clock', total_downloads: 1234 }

/** Refused for its package name, after its category was added. */
const refused = {
  ...listed,
  id: 900,
  name: 'Other Clock',
  slug: 'other-clock',
  created_at: '2026-01-01T00:00:00.000Z',
  category: { slug: 'brand-new', name: 'Brand New' },
  package_name: 'org.example.tideclock',
}

test('writes that change nothing public leave the version of the data as it is, others renew it', async () => {
  const { database, databaseUrl, request, world } = await startService()
  const { apps, keys } = world
  const { run, json } = commandLine(databaseUrl)

  const cli = async (...args: (string | number)[]) =>
    expect(await run(...args.map(String)), args.join(' ')).toMatchObject({ code: 0 })
  const importOne = async (
    line: object,
    result: 'created' | 'updated' | 'unchanged' | 'rejected',
  ) => expect(await importLines(database, [line])).toMatchObject({ [result]: 1 })
  const write = async (method: string, id: number, key: string, body?: object) =>
    expect(await request(method, `/apps/${id}`, { key, json: body })).toMatchObject({ status: 200 })
  const idOf = async (slug: string): Promise<number> => {
    const app = await database.read(({ sql }) => sql('apps').where({ slug }).first('id'))
    return app?.id ?? expect.fail(slug)
  }
  const removeReview = async (slug: string) => {
    const app_id = await idOf(slug)
    const review = await database.read(({ sql }) => sql('reviews').where({ app_id }).first('id'))
    await cli('review', 'remove', review?.id ?? expect.fail(slug), '--reason', 'spam')
  }
  const revokeModerator = async () => {
    const [{ id }] = await json('moderator', 'list')
    await cli('moderator', 'revoke', id)
  }
  const useKey = async () => {
    await database.write(({ sql }) => sql('api_keys').update({ last_used_at: null }))
    await request('GET', '/apps', { key: keys.ada })
    const used = () => database.read(({ sql }) => sql('api_keys').whereNotNull('last_used_at'))
    await expect.poll(used).toHaveLength(1)
  }

  /** One after the other: later ones begin with what earlier ones have written. */
  const writes: { name: string; isPublic: boolean; write: () => Promise<unknown> }[] = [
    {
      name: 'create an app',
      isPublic: false,
      write: () => request('POST', '/apps', { key: keys.ada, json: newApp }),
    },
    {
      name: 'update a pending app',
      isPublic: false,
      write: () => write('PUT', apps.pending, keys.ada, { name: 'New' }),
    },
    {
      name: 'delete a pending app',
      isPublic: false,
      write: () => write('DELETE', apps.pending, keys.ada),
    },
    {
      name: 'restore an app that is not listed',
      isPublic: false,
      write: () => cli('app', 'restore', apps.pending),
    },
    {
      name: 'restore a listed app',
      isPublic: true,
      write: () => cli('app', 'restore', apps.deleted),
    },
    {
      name: 'reject a pending app',
      isPublic: false,
      write: () => cli('moderation', 'reject', apps.bobsPending, '--reason', 'x'),
    },
    {
      name: 'approve an app',
      isPublic: true,
      write: () => cli('moderation', 'approve', apps.bobsPending),
    },
    {
      name: 'approve it again, which is refused',
      isPublic: false,
      write: () => run('moderation', 'approve', String(apps.bobsPending)),
    },
    {
      name: 'reject a listed app',
      isPublic: true,
      write: () => cli('moderation', 'reject', apps.bobsPending, '--reason', 'x'),
    },
    {
      name: 'reopen a rejected app',
      isPublic: false,
      write: () => cli('moderation', 'reopen', apps.bobsPending),
    },
    {
      name: 'reopen a listed app',
      isPublic: true,
      write: () => cli('moderation', 'reopen', apps.deleted),
    },
    { name: 'use a key for the first time', isPublic: false, write: useKey },
    {
      name: 'issue a key',
      isPublic: false,
      write: () => cli('key', 'issue', '--developer', 'New'),
    },
    { name: 'revoke a key', isPublic: false, write: () => cli('key', 'revoke', keys.expired) },
    { name: 'add a moderator', isPublic: false, write: () => cli('moderator', 'add', 'Bo') },
    { name: 'revoke a moderator', isPublic: false, write: revokeModerator },
    { name: 'import a new app', isPublic: true, write: () => importOne(listed, 'created') },
    { name: 'import it again', isPublic: false, write: () => importOne(listed, 'unchanged') },
    {
      name: 'import a changed app',
      isPublic: true,
      write: () => importOne({ ...listed, version: '2' }, 'updated'),
    },
    { name: 'import a pending app', isPublic: false, write: () => importOne(pending, 'created') },
    { name: 'import a bad line', isPublic: false, write: () => importOne({}, 'rejected') },
    {
      name: 'import a line that adds its category and is refused',
      isPublic: true,
      write: () => importOne(refused, 'rejected'),
    },
    {
      name: 'import that line again',
      isPublic: false,
      write: () => importOne(refused, 'rejected'),
    },
    {
      name: 'import reviews of a listed app',
      isPublic: true,
      write: () => importOne({ ...listed, reviews: [exampleReview] }, 'updated'),
    },
    {
      name: 'import reviews of a pending app',
      isPublic: false,
      write: () => importOne({ ...pending, reviews: [exampleReview] }, 'updated'),
    },
    {
      name: 'set counters',
      isPublic: true,
      write: () => setCounters(database, [counters]),
    },
    {
      name: 'set the same counters',
      isPublic: false,
      write: () => setCounters(database, [counters]),
    },
    {
      name: 'set counters of a pending app',
      isPublic: false,
      write: () => setCounters(database, [{ ...counters, slug: 'late' }]),
    },
    {
      name: 'remove a review of a listed app',
      isPublic: true,
      write: () => removeReview('moon-map'),
    },
    {
      name: 'remove a review of a pending app',
      isPublic: false,
      write: () => removeReview('late'),
    },
    {
      name: 'add a category',
      isPublic: true,
      write: () => cli('category', 'add', '--slug', 'new', '--name', 'New'),
    },
    {
      name: 'rename a category',
      isPublic: true,
      write: () => cli('category', 'rename', 'new', '--name', 'Newer'),
    },
    { name: 'remove a category', isPublic: true, write: () => cli('category', 'remove', 'new') },
    { name: 'import a category', isPublic: true, write: () => importOne(categoryLine, 'created') },
    {
      name: 'import the same category',
      isPublic: false,
      write: () => importOne(categoryLine, 'unchanged'),
    },
    {
      name: 'rename a developer',
      isPublic: true,
      write: () => cli('developer', 'rename', 'Bob', '--to', 'Bobby'),
    },
    {
      name: 'transfer a pending app',
      isPublic: false,
      write: async () => cli('app', 'transfer', await idOf('late'), '--to', 'Bobby'),
    },
    {
      name: 'transfer a listed app',
      isPublic: true,
      write: async () => cli('app', 'transfer', await idOf('moon-map'), '--to', 'Bobby'),
    },
    {
      name: 'update a listed app',
      isPublic: true,
      write: () => write('PUT', apps.bobs, keys.bob, { name: 'New' }),
    },
    {
      name: 'delete a listed app',
      isPublic: true,
      write: () => write('DELETE', apps.bobs, keys.bob),
    },
  ]
  const renewing = []
  for (const { name, write } of writes) {
    const before = await database.dataVersion()
    await write()
    if ((await database.dataVersion()) !== before) renewing.push(name)
  }
  expect(renewing).toEqual(writes.filter(({ isPublic }) => isPublic).map(({ name }) => name))
})
