import { Presets, SingleBar } from 'cli-progress'
import { createProgressPrinter } from './command.ts'
import { formatCount } from './terminal-text.ts'

/** Shows progress on standard error: a bar on a terminal, elsewhere a line every ten seconds. */
export function showProgress(unit: string) {
  if (!process.stderr.isTTY) {
    const printProgress = createProgressPrinter()
    const update = (done: number, total: number) =>
      printProgress(() => `${formatCount(done)} of ${formatCount(total)} ${unit}`)
    return { update, stop: () => {} }
  }
  const format = `{bar} {percentage}% | {value} of {total} ${unit} | {eta_formatted} left`
  const bar = new SingleBar({ format, stream: process.stderr, barsize: 24 }, Presets.shades_classic)
  function update(done: number, total: number) {
    if (!bar.isActive) bar.start(total, 0)
    bar.update(done)
  }
  return { update, stop: () => bar.stop() }
}
