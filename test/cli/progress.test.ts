import { expect, test, vi } from 'vitest'
import { showCount } from '../../src/cli/progress.ts'
import { freezeMonotonicClock } from '../support/clock.ts'

test('progress is printed every ten seconds', () => {
  const wait = freezeMonotonicClock()
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const show = showCount('app')
  let done = 0
  for (const milliseconds of [0, 9999, 1, 1, 9998, 1, 25_000]) {
    wait(milliseconds)
    show(++done, 2000)
  }
  const printed = written.mock.calls.map(([text]) => String(text))
  written.mockRestore()
  expect(printed).toEqual([3, 6, 7].map((count) => `${count} of 2,000 apps, 0%\n`))
})
