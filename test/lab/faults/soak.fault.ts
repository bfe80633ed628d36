import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { required } from '../../../src/util/helpers.ts'
import { between } from '../../faults/acknowledged-writes.ts'
import { connected } from '../../faults/sockets.ts'
import { copyWorldFile } from '../../support/database.ts'
import { residentBytes } from '../../support/memory.ts'
import { serve } from '../../support/process.ts'
import { isShortRun } from '../../support/short-run.ts'
import { median } from '../bench/statistics.ts'

const minutes = 10

/** A long, light load, which shows leaks of memory and file descriptors. */
test.skipIf(isShortRun)(
  `memory does not grow in ${minutes} minutes of reads, searches, writes, bad keys and broken connections`,
  async () => {
    const server = await serve(`sqlite:${copyWorldFile()}`)
    const { pid } = server.process
    const megabytes = () =>
      Math.round(required(residentBytes(pid), 'memory of the server') / 2 ** 20)
    const descriptors = () => Number(execFileSync('sh', ['-c', `ls /proc/${pid}/fd | wc -l`]))
    const key = inject('world').keys.ada
    const until = performance.now() + minutes * 60_000
    let requests = 0
    const isOver = () => performance.now() > until
    const loop = async (work: (number: number) => Promise<unknown>) => {
      for (let number = 0; !isOver(); number++) {
        await work(number)
        requests++
      }
    }
    const get = (path: string, headers = {}) =>
      fetch(`http://127.0.0.1:${server.port}${path}`, { headers }).then((reply) => reply.text())
    const put = (version: string) =>
      fetch(`http://127.0.0.1:${server.port}/apps/1`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ version }),
      }).then((reply) => reply.text())
    const broken = async () => {
      const socket = await connected(server.port)
      socket.write('GET /apps?limit=100 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(between(1, 20)))
      await delay(between(0, 20))
      socket.destroy()
    }

    const samples: number[] = []
    const sampling = (async () => {
      while (!isOver()) {
        await delay(5000)
        samples.push(megabytes())
      }
    })()
    await Promise.all([
      loop(() => get('/apps')),
      loop((number) => get(`/apps?search=${'abcdefgh'[number % 8]}${number}`)),
      loop((number) => get(`/apps/${number % 50}`)),
      loop(() => get('/apps', { Authorization: 'Bearer apps_x' })),
      loop((number) => put(String(number)).then(() => delay(20))),
      loop(broken),
      sampling,
    ])
    const third = Math.floor(samples.length / 3)
    const [middle, last] = [
      median(samples.slice(third, 2 * third)),
      median(samples.slice(2 * third)),
    ]
    console.log(
      `soak: ${requests} requests; ${middle} MB in the second third, ${last} in the last; ${descriptors()} descriptors`,
    )
    expect(last).toBeLessThan(1.15 * middle)
    await expect.poll(descriptors).toBeLessThan(60)
  },
)
