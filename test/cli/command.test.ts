import { expect, test, vi } from 'vitest'
import { createProgressPrinter } from '../../src/cli/command.ts'
import { freezeMonotonicClock } from '../support/clock.ts'

test('how far something is, is told every ten seconds', () => {
  const wait = freezeMonotonicClock()
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const noteProgress = createProgressPrinter()
  for (const milliseconds of [0, 9999, 1, 1, 9998, 1, 25_000]) {
    wait(milliseconds)
    noteProgress(() => `at ${performance.now()}`)
  }
  const told = written.mock.calls.map(([text]) => String(text))
  written.mockRestore()
  const begin = performance.now() - 45_000
  expect(told).toEqual([10_000, 20_000, 45_000].map((seconds) => `at ${begin + seconds}\n`))
})
