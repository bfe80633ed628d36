import { setImmediate } from 'node:timers/promises'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { exportLines } from '../support/catalogue-file.ts'
import { openWorld } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'

const { apps } = inject('world')

test.for<{ milliseconds: number; result: string }>([
  { milliseconds: 4999, result: 'has the write' },
  { milliseconds: 5000, result: 'unavailable' },
])(
  'an export beside a write that takes $milliseconds ms: $result',
  async ({ milliseconds, result }) => {
    const database = await openWorld()
    const release = await holdWrite(database, ({ sql }) =>
      sql('apps').where({ id: apps.approved }).update({ version: '2-slow' }),
    )
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let isDone = false
    const exported = exportLines(database)
      .then(
        (lines) => (lines.join().includes('2-slow') ? 'has the write' : 'lacks the write'),
        ({ code }: { code: string }) => code,
      )
      .finally(() => {
        isDone = true
      })
    const pending = () => database.usage().pools.find(({ name }) => name === 'writer')?.pending
    while (pending() === 0 && !isDone) await setImmediate()
    vi.advanceTimersByTime(milliseconds)
    // Lets a timeout take effect.
    await setImmediate()
    vi.useRealTimers()
    await release()
    expect(await exported).toBe(result)
  },
)
