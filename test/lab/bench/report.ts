import { median } from './statistics.ts'

/** Formats the results as Markdown, to be read in the terminal. */

export type Section = {
  title: string
  /** Explains the tables. */
  text?: string
  tables: Table[]
  /** The targets of this section. */
  musts: Target[]
  /** Markdown that follows the tables. */
  details?: string
  /** Lines of the chart of all sections: milliseconds, by catalogue size. */
  growth?: Line[]
}

type Line = { name: string; values: number[] }

/** The first column names the row. */
export type Table = { head: string[]; rows: string[][] }

/** A bound on a measured value. */
export type Target = { what: string; values: number[]; bound: Bound; unit: Unit }
type Bound = { atLeast: number } | { atMost: number }
export type Unit = keyof typeof units

const units = {
  ratio: { suffix: '', write: (value: number) => value.toFixed(2) },
  milliseconds: { suffix: ' ms', write: (value: number) => value.toFixed(value < 10 ? 2 : 0) },
  seconds: { suffix: ' s', write: (value: number) => value.toFixed(2) },
  mebibytes: { suffix: ' MiB', write: (value: number) => value.toFixed(0) },
  perSecond: { suffix: '', write: (value: number) => Math.round(value).toLocaleString('en') },
}

/** The median, followed by the minimum and maximum in parentheses. */
export function figure(values: readonly number[], unit: Unit): string {
  if (values.length === 0) return ''
  const { suffix, write } = units[unit]
  const middle = `${write(median(values))}${suffix}`
  return values.length === 1
    ? middle
    : `${middle} (${write(Math.min(...values))}–${write(Math.max(...values))})`
}

function targetTable(musts: readonly Target[]): Table {
  const measured = musts.filter(({ values }) => values.length > 0)
  const rows = measured.map(({ what, values, bound, unit }) => {
    const value = median(values)
    const [limit, isMet] =
      'atLeast' in bound
        ? [`≥ ${figure([bound.atLeast], unit)}`, value >= bound.atLeast]
        : [`≤ ${figure([bound.atMost], unit)}`, value <= bound.atMost]
    return [what, figure(values, unit), limit, isMet ? 'yes' : '**no**']
  })
  return { head: ['target', 'measured', 'bound', 'met'], rows }
}

function tableText({ head, rows }: Table): string {
  const widths = head.map((_, column) =>
    Math.max(3, ...[head, ...rows].map((row) => (row[column] ?? '').length)),
  )
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (column === 0 ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width))).join(' | ')} |`
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

export function sectionText({ title, text, tables, musts }: Section): string {
  const all = musts.length > 0 ? [...tables, targetTable(musts)] : tables
  return [`### ${title}`, ...(text === undefined ? [] : [text]), ...all.map(tableText)].join('\n\n')
}

/** The charts of docs/performance.md. Mermaid draws no legend, so the text before names the lines. */
export function growthChart(sizes: readonly number[], lines: readonly Line[]): string {
  const names = lines
    .toSorted((one, other) => (other.values.at(-1) ?? 0) - (one.values.at(-1) ?? 0))
    .map(({ name }) => name)
  const labels = sizes.map((size) => `${size.toLocaleString('en')} apps`)
  const series = lines.map(({ values }) => `line ${numbers(values, 2)}`)
  return `At the right, from top to bottom: ${names.join(', ')}.\n\n${chart('xychart-beta', labels, 'milliseconds', series)}`
}

export const barChart = (labels: readonly string[], axis: string, values: readonly number[]) =>
  chart('xychart-beta horizontal', labels, axis, [`bar ${numbers(values, 0)}`])

const chart = (kind: string, labels: readonly string[], axis: string, series: string[]) =>
  [
    '```mermaid',
    kind,
    `  x-axis [${labels.map((label) => `"${label}"`).join(', ')}]`,
    `  y-axis "${axis}"`,
    ...series.map((one) => `  ${one}`),
    '```',
  ].join('\n')

const numbers = (values: readonly number[], digits: number) =>
  `[${values.map((value) => value.toFixed(digits)).join(', ')}]`
