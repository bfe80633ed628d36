import { Presets, SingleBar } from 'cli-progress'
import { formatCount, formatQuantity } from '../util/text.ts'
import { printInfo } from './output.ts'

/** Milliseconds between two lines. */
const lineInterval = 10_000

type Progress<Update> = { update: Update; stop: () => void }

/**
 * Shows progress on standard error: a bar on a terminal, elsewhere, or if the total is unknown, a
 * line every ten seconds.
 */
export function showProgress(): Progress<
  (done: number, total: number | undefined, text: string) => void
> {
  const format = '{bar} {percentage}% | {text} | {eta_formatted} left'
  const bar = new SingleBar(
    { format, stream: process.stderr, barsize: 24, etaBuffer: 100 },
    Presets.shades_classic,
  )
  let last = performance.now()

  function update(done: number, total: number | undefined, text: string) {
    if (process.stderr.isTTY && total !== undefined) {
      if (!bar.isActive) bar.start(total, 0, { text })
      bar.update(done, { text })
    } else if (performance.now() - last >= lineInterval) {
      last = performance.now()
      printInfo(total ? `${text}, ${Math.round((done / total) * 100)}%` : text)
    }
  }
  return { update, stop: () => bar.stop() }
}

/** Shows how many are done, as in 5 of 20 apps. `unit` is the noun in the singular. */
export function showCount(unit: string): Progress<(done: number, total: number) => void> {
  const { update, stop } = showProgress()
  const updateCount = (done: number, total: number) =>
    update(done, total, `${formatCount(done)} of ${formatQuantity(total, unit)}`)
  return { update: updateCount, stop }
}
