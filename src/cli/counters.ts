import { createReadStream } from 'node:fs'
import { Command } from 'commander'
import { importLines } from '../import-export/import-lines.ts'
import { counterLines } from '../import-export/set-counters.ts'
import { pick } from '../util/helpers.ts'
import { formatCount, formatQuantity } from '../util/text.ts'
import { buildDatabaseCommand, currentOperator } from './command.ts'
import { printProblems } from './import.ts'
import { print, printOptimizeProblem } from './output.ts'

export const command = buildDatabaseCommand({
  command: new Command('counters')
    .description('set the downloads and ratings of many apps, without changing their listings')
    .argument(
      '<file>',
      'path of the file, or - for standard input: newline-delimited JSON, gzip or not',
    ),
  help: `
A line names an app by slug or package_name, and has total_downloads, or
average_rating and rating_count, or all three. They mean the same as in import.
Omitted fields keep their values. Invalid lines and lines that name no app are
refused, and the exit code is 1.

Examples:
  ./apps-service counters counts.ndjson.gz

JSON: {lines, updated, unchanged, rejected, reasons: [{reason, count}]}.`,
  async run(database, file: string) {
    const source = file === '-' ? process.stdin : createReadStream(file)
    const summary = await importLines(database, source, counterLines(currentOperator()))
    printProblems(file, summary)
    printOptimizeProblem('the counters were set', summary.optimizeProblem)
    return summary
  },
  toJson: (summary) => ({
    ...pick(summary, 'lines', 'updated', 'unchanged', 'rejected'),
    reasons: summary.reasons.all(),
  }),
  print: ({ lines, updated, unchanged }) =>
    print(
      `${formatQuantity(lines, 'line')}: ${formatCount(updated)} updated, ${formatCount(unchanged)} unchanged.`,
    ),
})
