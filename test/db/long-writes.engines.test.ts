import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { OperatorError, ServiceError } from '../../src/contract/errors.ts'
import { optimizeAtEnd, pauseForOthers } from '../../src/db/long-writes.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { importFrom, importLines } from '../support/catalogue-file.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { openWorld } from '../support/database.ts'

const starMap = {
  name: 'Star Map',
  category: 'tools',
  developer_name: 'Ada',
  package_name: 'org.example.starmap',
}

test.for<[work: string, milliseconds: number[], afterBatches: number[]]>([
  ['a moment', [0, 0, 0], []],
  ['not quite a second', [500, 499, 0], []],
  ['a second', [500, 500, 0], [2]],
  ['a second in the first batch', [1000, 0, 0], [1]],
  ['two seconds, with a pause between', [1000, 999, 1], [1, 3]],
  ['three long batches', [5000, 5000, 5000], [1, 2, 3]],
])(
  'an import whose writes take %s pauses after these batches',
  async ([, milliseconds, afterBatches]) => {
    const advance = freezeMonotonicClock()
    const database = await openWorld()
    let batches = 0
    const pauses: number[] = []
    const ends: number[] = []
    const slow: DatabaseWithTools = {
      ...database,
      async write(work, options) {
        const result = await database.write(work, options)
        advance(milliseconds[batches++] ?? 0)
        return result
      },
      optimize(options) {
        if (options.isLast) ends.push(batches)
        else pauses.push(batches)
        return database.optimize(options)
      },
    }
    // Lines for the same app are in different batches, and all but the first are refused.
    const lines = milliseconds.map((_, index) => ({
      ...starMap,
      description: `Number ${index}.`,
    }))
    expect(await importLines(slow, lines)).toMatchObject({ lines: lines.length, created: 1 })
    expect([batches, pauses]).toEqual([lines.length, afterBatches])
    expect(ends, 'optimized once, after the last batch').toEqual([lines.length])
  },
)

/** SQLite's longest sleep between two attempts to get the lock, in milliseconds. */
const longestSleep = 100

/** Begins a pause, with all timers faked. */
async function beginPause(optimize: () => Promise<void>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'], fakeNodeBuiltins: true })
  onTestFinished(() => void vi.useRealTimers())
  const pause = pauseForOthers({ optimize })
  await vi.advanceTimersByTimeAsync(1000)
  let isPaused = true
  const ended = pause().finally(() => {
    isPaused = false
  })
  return { ended, isPaused: () => isPaused }
}

test('a writer that has just begun its longest sleep gets one turn in a pause', async () => {
  const { ended, isPaused } = await beginPause(async () => {})
  let turns = 0
  while (isPaused() && turns < 10) {
    await vi.advanceTimersByTimeAsync(longestSleep)
    if (isPaused()) turns++
  }
  await ended
  expect(turns).toBe(1)
})

test('a pause lasts until the database is optimized', async () => {
  const optimized = Promise.withResolvers<void>()
  const { ended, isPaused } = await beginPause(() => optimized.promise)
  await vi.advanceTimersByTimeAsync(10 * longestSleep)
  expect(isPaused()).toBe(true)
  optimized.resolve()
  await ended
})

test('an import reads only the next batch while it writes one', async () => {
  const database = await openWorld()
  let read = 0
  async function* lines() {
    for (; read < 200; read++) {
      // Lines for the same app are in different batches, and all but the first are refused.
      const line = { ...starMap, description: `Number ${read}.` }
      yield Buffer.from(`${JSON.stringify(line)}\n`)
    }
  }
  const begun = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  onTestFinished(() => goOn.resolve())
  const held: DatabaseWithTools = {
    ...database,
    async write(work, options) {
      begun.resolve()
      await goOn.promise
      return database.write(work, options)
    },
  }
  const importing = importFrom(held, lines())
  await begun.promise
  // Enough for all lines to be read.
  for (let turn = 0; turn < 1000; turn++) await setImmediate()
  expect(read).toBeLessThan(10)
  goOn.resolve()
  expect(await importing).toMatchObject({ lines: 200, created: 1, rejected: 199 })
})

test.for<[what: string, cause: Error | undefined, reason: string]>([
  ['advice for operators', new OperatorError('The disk is full.'), 'The disk is full.'],
  ['a cause that can be explained', new Error('SQLITE_BUSY: database is locked'), 'explained'],
  ['no cause', undefined, 'Unavailable.'],
])('the reason why the database was not optimized is %s', async ([, cause, reason]) => {
  const error = new ServiceError('unavailable', 'Unavailable.', {}, { cause })
  const meaning = { isUnavailable: true, isConflict: false, violatesForeignKey: false }
  const database = {
    optimize: () => Promise.reject(error),
    explain: (given: unknown) => ({
      ...meaning,
      reason: given === undefined ? undefined : 'explained',
      advice: undefined,
    }),
  }
  expect(await optimizeAtEnd(database)).toBe(reason)
})
