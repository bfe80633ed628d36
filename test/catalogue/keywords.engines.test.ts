import { expect, test } from 'vitest'
import { readLine } from '../../src/import-export/line.ts'
import { exampleLine, exportLines, importLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue } from '../support/database.ts'
import { startService } from '../support/service.ts'

/** What scenarios, with one request each, cannot say about keywords. */

const keywords = ['static analysis', 'Übersetzer', 'C#']

async function start() {
  const service = await startService()
  const { approved } = service.world.apps
  const put = (list: unknown) =>
    service.request('PUT', `/apps/${approved}`, {
      key: service.world.keys.ada,
      json: { keywords: list },
    })
  /** What a change of the app would change. */
  const traces = () =>
    service.database.read(async ({ sql }) => ({
      app: await sql('apps').where({ id: approved }).first(),
      audit: await sql('audit').count({ count: '*' }),
    }))
  return { ...service, approved, put, traces }
}

test('an update with the same keywords changes nothing, however they are spaced', async () => {
  const { put, traces, get, approved } = await start()
  const { etag } = (await put(keywords)).headers
  const before = await traces()
  const again = await put(keywords.map((keyword) => ` ${keyword}\u3000`))
  expect([again.headers.etag, await traces()]).toEqual([etag, before])
  expect((await get(`/apps/${approved}`)).body.data.app.keywords).toEqual(keywords)
  // Another order is another list.
  expect((await put(keywords.toReversed())).headers.etag).not.toBe(etag)
})

test('an empty list removes the keywords, and removes them once', async () => {
  const { put, traces, get, approved } = await start()
  await put([])
  expect((await get(`/apps/${approved}`)).body.data.app).not.toHaveProperty('keywords')
  const before = await traces()
  expect(before.app?.keywords).toBeNull()
  await put([])
  expect(await traces()).toEqual(before)
})

test('an app is found by its keywords, by another form of them, and no longer by former ones', async () => {
  const { put, get, approved, database } = await start()
  await put(keywords)
  const find = async (search: string) =>
    (await get(`/apps?${new URLSearchParams({ search })}`)).body.data.apps.map(
      ({ id }: { id: number }) => id,
    )
  for (const search of ['analysis', 'analyses', 'ubersetz', 'c#', 'static clock'])
    expect([search, await find(search)]).toEqual([search, [approved]])
  await put(['other'])
  expect(await find('analysis')).toEqual([])
  await expectConsistent(database)
})

test('a file keeps, changes and removes keywords, and an export imports as it is', async () => {
  const { database } = await startService()
  const line = { ...exampleLine, keywords }
  expect(await importLines(database, [line])).toMatchObject({ created: 1 })
  for (const same of [line, exampleLine])
    expect(await importLines(database, [same])).toMatchObject({ unchanged: 1 })
  const lines = await exportLines(database)
  expect(lines.at(-1)).toContain(`"keywords":${JSON.stringify(keywords)}`)
  const mirror = await openEmptyCatalogue()
  await importLines(mirror, lines)
  expect(await exportLines(mirror)).toEqual(lines)

  for (const none of [[], null]) {
    await importLines(database, [line])
    expect(await importLines(database, [{ ...line, keywords: none }])).toMatchObject({ updated: 1 })
    expect((await exportLines(database)).at(-1)).toContain('"keywords":null')
  }
})

test.for<[list: unknown, field: string]>([
  ['linter', '/keywords'],
  [['linter', ' linter '], '/keywords'],
  [Array.from({ length: 11 }, (_, index) => `k${index}`), '/keywords'],
  [['x'.repeat(31)], '/keywords/0'],
  [['linter', ' '], '/keywords/1'],
  [['linter', null], '/keywords/1'],
])('a file whose keywords break a rule leaves those of the app: %j', async ([list, field]) => {
  const { database } = await startService()
  await importLines(database, [{ ...exampleLine, keywords }])
  const line = { ...exampleLine, keywords: list }
  expect(readLine(JSON.stringify(line)).leftOut).toMatchObject([{ field, left_out: true }])
  expect(await importLines(database, [line])).toMatchObject({ unchanged: 1, left_out: 1 })
  expect((await exportLines(database)).at(-1)).toContain(`"keywords":${JSON.stringify(keywords)}`)
})
