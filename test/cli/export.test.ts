import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { manyApps } from '../support/catalogue-file.ts'
import { copyWorld, emptyCatalogueUrl, temporaryFolder } from '../support/database.ts'
import { expectRefusal, interrupt, run } from '../support/process.ts'

/** What export prints, and its file. What it has is in import-export/export-catalogue.engines.test.ts. */

/** A world whose rows have not changed since 2026 began. */
async function oldWorld() {
  const address = await copyWorld()
  const database = openDatabase(address)
  for (const table of ['apps', 'developers', 'categories'] as const)
    await database.write(({ sql }) => sql(table).update({ changed_at: '2026-01-01T00:00:00.000Z' }))
  await database.close()
  return { DATABASE_URL: address }
}

test('an export to a file, compressed by its name, has what standard output has', async () => {
  const env = { DATABASE_URL: await copyWorld() }
  const file = join(temporaryFolder(), 'out.ndjson.gz')
  const plain = await run(['export'], env)
  expect(plain.code).toBe(0)
  expect(plain.stderr).toMatch(
    /^6 apps and 3 categories exported\. Export later changes with --since \d{4}-\d\d-\d\dT[\d:.]+Z\n$/,
  )
  expect((await run(['export', file], env)).code).toBe(0)
  expect(gunzipSync(readFileSync(file)).toString()).toBe(plain.stdout)
  expect((await run(['import', file], env)).stdout).toMatch(/0 created, 0 updated, 9 unchanged/)
})

test('an export with the printed --since has all later changes', async () => {
  const env = await oldWorld()
  const mirror = { DATABASE_URL: await emptyCatalogueUrl() }
  const whole = await run(['export'], env)
  await run(['import', '-'], mirror, whole.stdout)
  const next = /--since (\S+)$/m.exec(whole.stderr)?.[1] ?? ''
  expect((await run(['export', '--since', next], env)).stdout).toBe('')
  await run(['app', 'restore', '4'], env)
  await run(['category', 'rename', 'games', '--name', 'Play', '--slug', 'play'], env)
  const changed = await run(['export', '--since', next], env)
  expect(changed.stderr).toMatch(/^2 apps and 1 category exported\./)
  await run(['import', '-'], mirror, changed.stdout)
  expect((await run(['export'], mirror)).stdout).toBe((await run(['export'], env)).stdout)
})

test('a public export has listed apps and, with --since, removals', async () => {
  const env = await oldWorld()
  expect((await run(['export', '--public'], env)).stderr).toMatch(/^2 apps and 3 categories exp/)
  const removals = async () =>
    (await run(['export', '--public', '--since', '2026-01-02'], env)).stderr
  expect(await removals()).toMatch(/^0 apps and 0 categories exported\./)
  await run(['moderation', 'reject', '1', '--reason', 'No.'], env)
  expect(await removals()).toMatch(/^1 removal, 0 apps and 0 categories exported\./)
  await run(['moderation', 'reject', '5', '--reason', 'No.'], env)
  expect(await removals()).toMatch(/^2 removals, 0 apps and 0 categories exported\./)
})

test('an interrupted export leaves no file', async () => {
  const env = { DATABASE_URL: await copyWorld() }
  await run(['import', manyApps(2000)], env)
  const folder = temporaryFolder()
  const hasBegun = () => readdirSync(folder).length > 0
  const stopped = await interrupt('export', join(folder, 'out.ndjson'), env, 'SIGINT', hasBegun)
  expect(stopped).toEqual({
    exit: [null, 'SIGINT'],
    stderr: 'apps-service: stopped by SIGINT; no export was written\n',
  })
  expect(readdirSync(folder)).toEqual([])
})

test.for<{ name: string; file: string; reason: RegExp }>([
  {
    name: 'an existing file',
    file: import.meta.filename,
    reason: /export\.test\.ts already /,
  },
  { name: 'a directory', file: '/tmp/', reason: /\/tmp\/ is not a file name/ },
  {
    name: 'a missing directory',
    file: '/nowhere/x.ndjson',
    reason: /cannot write \/nowhere\/x\.ndjson: no such file or directory$/m,
  },
  { name: 'an address', file: 'https://example.org/x', reason: /x: it is an address/ },
])('is refused to $name', async ({ file, reason }) => {
  expectRefusal(await run(['export', file], { DATABASE_URL: await copyWorld() }), reason)
})
