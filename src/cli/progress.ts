import { formatCount, formatQuantity } from '../util/text.ts'
import { printInfo } from './output.ts'

/** Milliseconds between two lines. */
const lineInterval = 10_000

/** Returns a function that prints its text to standard error, as a line every ten seconds. */
export function showProgress(): (done: number, total: number | undefined, text: string) => void {
  let last = performance.now()
  return (done, total, text) => {
    if (performance.now() - last < lineInterval) return
    last = performance.now()
    printInfo(total ? `${text}, ${Math.round((done / total) * 100)}%` : text)
  }
}

/** The same for how many are done, as in 5 of 20 apps. `unit` is the noun in the singular. */
export function showCount(unit: string): (done: number, total: number) => void {
  const show = showProgress()
  return (done, total) =>
    show(done, total, `${formatCount(done)} of ${formatQuantity(total, unit)}`)
}
