import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Bulkhead } from '../../src/util/bulkhead.ts'

const forever = 1e6

test('queued tasks start in groups, each when the last task of the former group has ended', async () => {
  const bulkhead = new Bulkhead({
    concurrency: 1,
    groupSize: 3,
    queueLimit: 100,
    queueTimeout: forever,
  })
  let ended = 0
  const endedBefore = await Promise.all(
    Array.from({ length: 11 }, (_, index) =>
      bulkhead.run(async () => {
        const before = ended
        // Tasks of a group take different times.
        for (let turn = 0; turn < index % 3; turn++) await setImmediate()
        ended++
        return before
      }),
    ),
  )
  expect(endedBefore).toEqual([0, 1, 1, 1, 4, 4, 4, 7, 7, 7, 10])
})

test('a task waits for its own time, if it has one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const bulkhead = new Bulkhead({ concurrency: 1, queueLimit: 100, queueTimeout: 1000 })
  void bulkhead.run(() => new Promise(() => {}))
  const refused: string[] = []
  const queue = (name: string, options = {}) =>
    void bulkhead.run(async () => {}, options).catch(() => refused.push(name))
  queue('patient', { queueTimeout: 10_000 })
  queue('usual')
  await vi.advanceTimersByTimeAsync(1200)
  expect(refused).toEqual(['usual'])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(refused).toEqual(['usual', 'patient'])
  expect(bulkhead.rejected).toBe(2)
})

test('a task that got a slot in time is not refused later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const bulkhead = new Bulkhead({ concurrency: 1, queueLimit: 100, queueTimeout: 1000 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = bulkhead.run(() => promise)
  const queued = bulkhead.run(async () => 'served')
  await vi.advanceTimersByTimeAsync(899)
  resolve()
  expect(await queued).toBe('served')
  await first
  await vi.advanceTimersByTimeAsync(1000)
  expect(bulkhead.rejected).toBe(0)
})

test('of the tasks with one key, one at a time runs, and others do not wait for them', async () => {
  const bulkhead = new Bulkhead({ concurrency: 2, queueLimit: 100, queueTimeout: forever })
  const log: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string, key?: number) =>
    bulkhead.run(
      () => {
        log.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      },
      { key },
    )
  const end = async (name: string) => {
    ends.get(name)?.()
    await setImmediate()
  }
  const all = Promise.all([run('a', 1), run('b', 1), run('c', 1), run('d'), run('e', 2), run('f')])
  await setImmediate()
  expect(log).toEqual(['a', 'd'])
  expect(bulkhead.queued).toBe(4)
  await end('d')
  await end('e')
  expect(log).toEqual(['a', 'd', 'e', 'f'])
  await end('f')
  expect(log).toEqual(['a', 'd', 'e', 'f'])
  // A slot is free, and its key is taken.
  const last = run('g', 1)
  await end('a')
  await end('b')
  expect(log).toEqual(['a', 'd', 'e', 'f', 'b', 'c'])
  await end('c')
  await end('g')
  await Promise.all([all, last])
  expect(log).toEqual(['a', 'd', 'e', 'f', 'b', 'c', 'g'])
})

test('a task with the key of one that failed, or left the queue, runs', async () => {
  const bulkhead = new Bulkhead({ concurrency: 1, queueLimit: 100, queueTimeout: forever })
  const failing = bulkhead.run(() => Promise.reject(new Error('failed')), { key: 1 })
  const caller = new AbortController()
  const left = bulkhead.run(async () => 'left', { key: 1, signal: caller.signal })
  const next = bulkhead.run(async () => 'next', { key: 1 })
  expect(bulkhead.queued).toBe(2)
  caller.abort()
  expect(bulkhead.queued).toBe(1)
  await expect(failing).rejects.toThrow('failed')
  await expect(left).rejects.toMatchObject({ code: 'unavailable' })
  expect(await next).toBe('next')
})

test('a running task keeps its slot until it ends, also if its caller has disconnected', async () => {
  const bulkhead = new Bulkhead({ concurrency: 1, queueLimit: 100, queueTimeout: forever })
  const caller = new AbortController()
  const { promise, resolve } = Promise.withResolvers<void>()
  const running = bulkhead.run(() => promise, { signal: caller.signal })
  let isNext = false
  const next = bulkhead.run(async () => {
    isNext = true
  })
  caller.abort()
  await setImmediate()
  expect(isNext).toBe(false)
  resolve()
  await Promise.all([running, next])
  expect(isNext).toBe(true)
})
