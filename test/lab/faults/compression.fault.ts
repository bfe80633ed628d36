import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/db/migrations.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import { chunk, required } from '../../../src/util/helpers.ts'
import { connected, getBytes } from '../../faults/sockets.ts'
import { temporaryFolder } from '../../support/database.ts'
import { residentBytes } from '../../support/memory.ts'
import { serve } from '../../support/process.ts'
import { fill } from '../bench/catalogue.ts'

const connections = 6000

/**
 * Mebibytes that the requests below may add to the process, and the most that it may have. Without a
 * bound on encoders they added 2,000 to 346. New apps also pass through openapi-backend, which takes
 * some 6 KB for each request until its app is read, and fill the response cache: 120 to 150 in all.
 */
const maxAdded = { cached: 100, new: 200 }
const maxPeak = 400

/** Sends a request and reads its whole response, whose length its header says. */
function read(socket: Socket, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      const received = Buffer.concat(chunks)
      const end = received.indexOf('\r\n\r\n')
      const head = received.subarray(0, end).toString('latin1')
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1])
      if (end < 0 || received.length < end + 4 + length) return
      socket.off('data', onData)
      resolve(head)
    }
    socket.on('data', onData)
    socket.once('close', () => reject(new Error('closed before the response was complete')))
    socket.write(bytes)
  })
}

test.for<[what: 'cached' | 'new', isCached: boolean]>([
  ['cached', true],
  ['new', false],
])(
  `${connections} compressed responses at once, of %s apps, take little memory`,
  async ([what, isCached]) => {
    const file = join(temporaryFolder(), 'apps.sqlite')
    const database = openDatabase(`sqlite:${file}`)
    await migrate(database)
    await fill(database, connections)
    await database.close()
    // Connections stay open between the requests.
    const { port, process } = await serve(`sqlite:${file}`, { TRUST_PROXY: '1' })
    const megabytes = (field: 'VmRSS' | 'VmHWM') =>
      Math.round(required(residentBytes(process.pid, field), field) / 2 ** 20)

    const sockets: Socket[] = []
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    // In parts, so that none is refused and none waits long for its first request.
    for (const ids of chunk(
      Array.from({ length: connections }, (_, index) => index + 1),
      100,
    )) {
      const opened = await Promise.all(ids.map(() => connected(port)))
      const path = (id: number) => (isCached ? `/apps/${id}` : '/apps/1')
      await Promise.all(
        ids.map((id, index) => read(required(opened[index], 'a socket'), getBytes(path(id)))),
      )
      sockets.push(...opened)
    }
    const before = megabytes('VmRSS')
    // The peak from now on (proc_pid_clear_refs(5)).
    writeFileSync(`/proc/${process.pid}/clear_refs`, '5')
    const heads = await Promise.all(
      sockets.map((socket, index) =>
        read(socket, getBytes(`/apps/${index + 1}`, 'Accept-Encoding: br')),
      ),
    )
    const encoded = heads.filter((head) => /^content-encoding: br/im.test(head)).length
    const peak = megabytes('VmHWM')
    const added = peak - before
    console.log(
      `${connections} ${what}: ${before} MiB, ${added} more at the peak; ${encoded} compressed`,
    )
    // The queue of the database is shorter than this burst.
    expect(
      heads.filter((head) => !(isCached ? /^HTTP\/1.1 200 / : /^HTTP\/1.1 (200|503) /).test(head)),
    ).toEqual([])
    expect(encoded).toBeGreaterThan(0)
    expect(added).toBeLessThan(maxAdded[what])
    expect(peak).toBeLessThan(maxPeak)
  },
)
