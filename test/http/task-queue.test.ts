import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TaskQueue } from '../../src/http/task-queue.ts'

test('what has come is done a little at a time, and round by what was asked for', async () => {
  const queue = new TaskQueue()
  const done: string[] = []
  const add = (askedFor: string, count: number) => {
    for (let n = 0; n < count; n++) queue.add(askedFor, () => done.push(askedFor + n))
  }
  add('a', 70)
  add('b', 2)
  add('c', 1)
  const counts = [done.length]
  for (let turn = 0; turn < 4; turn++) {
    await setImmediate()
    counts.push(done.length)
  }
  expect(counts).toEqual([0, 32, 64, 73, 73])
  const rest = Array.from({ length: 68 }, (_, index) => `a${index + 2}`)
  expect(done).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', ...rest])
  // And again, when all was done.
  add('d', 1)
  await setImmediate()
  expect(done.at(-1)).toBe('d0')
})
