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
})
