import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { findLosses, noWrites } from '../../faults/acknowledged-writes.ts'
import { copyWorldFile, temporaryFolder } from '../../support/database.ts'
import { commandLine, serve } from '../../support/process.ts'

/** From Debian's package libfaketime. */
const library = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path))

test('when the clock jumps back and forth, no write is lost, and stale ETags are refused', async (context) => {
  if (!library) return context.skip('needs libfaketime: apt-get install libfaketime')
  const file = copyWorldFile()
  const clock = join(temporaryFolder(), 'clock')
  writeFileSync(clock, '+0')
  const server = await serve(`sqlite:${file}`, {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  })
  const key = inject('world').keys.ada
  const writes = noWrites()
  const times: string[] = []
  for (const [number, offset] of ['+0', '-2h', '-30d', '+1h', '-1h', '+0'].entries()) {
    writeFileSync(clock, offset)
    const name = `Round ${number}`
    const json = { name, description: `${name} is whole.`, category_id: 1 }
    const created = await server.request('POST', '/apps', { key, json })
    expect(created.status).toBe(201)
    const id: number = created.body.data.app_id
    writes.created.set(id, name)
    const read = await server.request('GET', `/apps/${id}`, { key })
    times.push(read.body.data.app.created_at)
    const tag = String(read.headers.etag)
    const change = (value: string) =>
      server.request('PUT', `/apps/${id}`, {
        key,
        json: { version: value },
        headers: { 'If-Match': tag },
      })
    expect((await change('2')).status).toBe(200)
    expect((await change('3')).status).toBe(412)
    // A process with the machine's clock, unlike the server's.
    expect(
      (await commandLine(`sqlite:${file}`).run('moderation', 'approve', String(id))).code,
    ).toBe(0)
    const page = await server.request('GET', '/apps?limit=100')
    expect(page.body.data.apps.map((app: { id: number }) => app.id)).toContain(id)
    expect((await server.request('GET', '/readyz')).status).toBe(200)
  }
  // The clock did jump.
  expect(times).not.toEqual(times.toSorted())
  expect(await findLosses(file, writes)).toEqual([])
  expect(server.log.filter((line) => /"level":[56]0/.test(line))).toEqual([])
})
