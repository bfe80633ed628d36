import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { findLosses, noWrites } from '../../faults/acknowledged-writes.ts'
import { connected } from '../../faults/sockets.ts'
import { copyWorldFile } from '../../support/database.ts'
import { serve } from '../../support/process.ts'

test.runIf(process.platform === 'linux')(
  'without free file descriptors, no request gets a 500, and the service recovers once some are free',
  async () => {
    const file = copyWorldFile()
    const server = await serve(`sqlite:${file}`)
    const pid = String(server.process.pid)
    const used = () => readdirSync(`/proc/${pid}/fd`).length
    // Otherwise the database would open its connections together with those below.
    const limit = used() + 6
    execFileSync('prlimit', ['--pid', pid, `--nofile=${limit}:${limit}`])
    const sockets = await Promise.all(Array.from({ length: 100 }, () => connected(server.port)))
    await expect.poll(used).toBeGreaterThanOrEqual(limit - 1)

    const writes = noWrites()
    const create = async (name: string) => {
      const json = { name, description: `${name} is whole.`, category_id: 1 }
      const reply = await server
        .request('POST', '/apps', { key: inject('world').keys.ada, json })
        .catch(() => undefined)
      if (reply?.status === 201) writes.created.set(reply.body.data.app_id, name)
      return reply?.status
    }
    // A client whose connection was accepted before the descriptors were used up.
    const accepted = sockets[0]
    const received: string[] = []
    accepted?.on('data', (chunk: Buffer) => received.push(chunk.toString('latin1')))
    accepted?.write('GET /apps?search=x HTTP/1.1\r\nHost: x\r\n\r\n')
    await expect.poll(() => received.join('')).toMatch(/^HTTP\/1\.1 (200|503) /)

    // Waiting connections are accepted now, and use descriptors again until they are closed.
    for (const socket of sockets) socket.destroy()
    const statusOf = async (target: string) =>
      (await server.request('GET', target).catch(() => undefined))?.status
    await expect.poll(() => create('Round 1'), { timeout: 30_000 }).toBe(201)
    await expect.poll(() => statusOf('/readyz'), { timeout: 30_000 }).toBe(200)
    await expect.poll(() => statusOf('/apps?search=x'), { timeout: 30_000 }).toBe(200)
    expect(server.process.exitCode).toBeNull()
    expect(await findLosses(file, writes)).toEqual([])
  },
)
