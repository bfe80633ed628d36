import { createReadStream, fstatSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { Command, CommanderError } from 'commander'
import { OperatorError } from '../contract/errors.ts'
import { withTemporaryCopy } from '../db/copy.ts'
import type { Database } from '../db/database.ts'
import { catalogueLines, type ImportSummary, importLines } from '../transfer/import.ts'
import { lineSchema } from '../transfer/line.ts'
import type { ReasonCount } from '../transfer/rejects.ts'
import { buildCommand, currentOperator, print, printError, printInfo, printJson, withDatabase } from './command.ts'
import { cannotRead, describeFile, fileErrorReason } from './file-errors.ts'
import { showProgress } from './progress.ts'
import { hasEarlierRejects, rejectsWriter } from './rejects-file.ts'
import { formatCount } from './terminal-text.ts'
import { elapsedSeconds } from './time.ts'

type Options = { dryRun?: boolean; onlyNew?: boolean; rejects?: string }

export const importCommand = () =>
  buildCommand({
    command: new Command('import')
      .description('import a catalogue file: newline-delimited JSON, gzip or not, one app per line')
      .argument('<file>', 'path of the file, or - for standard input')
      .option(
        '--dry-run',
        'import into a temporary copy of the database, in TMPDIR, and print the result; writes only the rejects',
      )
      .option('--only-new', 'import only new apps; leave existing ones unchanged')
      .option(
        '--rejects <path>',
        'file for refused lines and their problems (default: FILE.rejects.ndjson, for - stdin.rejects.ndjson)',
      )
      .option('--schema', 'print the JSON Schema of a line instead')
      .on('option:schema', () => {
        printJson(lineSchema)
        throw new CommanderError(0, 'schema', 'The schema has been printed.')
      }),
    about: `Existing apps are updated; importing the same file twice changes nothing.
docs/operating.md says which app a line updates.

Invalid lines are refused and the others imported; the exit code is then 1. The
rejects file has the refused lines with their problems: correct them there, and
import that file. The next import of FILE replaces its rejects, or removes them
if there are none. An interrupted import finishes when it is run again.`,
    examples: ['import catalogue.ndjson.gz', 'import --schema', 'import - --dry-run --json < catalogue.ndjson.gz'],
    json: `{lines, created, updated, unchanged, rejected, seconds, rejects,
reasons: [{reason, count, example}]}. rejects: the rejects file; it and reasons
are left out if no line was refused. example: the first message, of reasons that
stand for several.`,
    run: runImport,
    toJson: ({ summary: { readError, reasons, ...counts }, seconds, rejects }) => ({
      ...counts,
      seconds,
      ...(counts.rejected > 0 && { rejects, reasons: reasons.all() }),
    }),
    print: ({ summary, seconds }, [, { dryRun }]) =>
      print(formatSummary(summary, seconds) + (dryRun ? '; nothing was written.' : '.')),
  })

async function runImport(file: string, { dryRun, onlyNew = false, rejects: path }: Options) {
  const isStdin = file === '-'
  const rejectsPath = path ?? (isStdin ? 'stdin.rejects.ndjson' : `${file}.rejects.ndjson`)
  const input = isStdin
    ? fstatSync(process.stdin.fd)
    : await stat(file).catch((error) => {
        throw new OperatorError(cannotRead(file, error))
      })
  const isReplacing = await hasEarlierRejects(rejectsPath, input)
  const rejects = rejectsWriter(rejectsPath)
  const source: Readable & { bytesRead: number } = isStdin ? process.stdin : createReadStream(file)
  const begin = performance.now()
  const { update, stop } = showProgress()
  function onProgress({ lines }: Pick<ImportSummary, 'lines'>) {
    const rate = linesPerSecond(lines, elapsedSeconds(begin))
    update(source.bytesRead, input.isFile() ? input.size : undefined, `${lines} lines, ${rate}/s`)
  }
  onProgress({ lines: 0 })

  limitHeapGrowth()
  const importInto = (database: Database) =>
    importLines(database, source, catalogueLines({ actor: currentOperator(), onlyNew }), {
      onReject: rejects.add,
      onProgress,
    })
  const summary = await withDatabase((database) =>
    dryRun ? withTemporaryCopy(database, importInto) : importInto(database),
  ).finally(async () => {
    stop()
    await rejects.close()
  })
  printProblems(file, summary, `: see ${resolve(rejectsPath)}; correct the lines there and import that file`)
  const isComplete = summary.rejected === 0 && !summary.readError
  if (isComplete && isReplacing && !isStdin && path === undefined && !dryRun) await rm(rejectsPath)
  return { summary, seconds: elapsedSeconds(begin), rejects: rejectsPath }
}

/** V8 lets garbage grow with the machine's free memory: an import would take 400 MB, and with these flags takes half of that. */
function limitHeapGrowth() {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=75')
}

function formatSummary({ lines, created, updated, unchanged }: ImportSummary, seconds: number): string {
  const counts = `${created} created, ${updated} updated, ${unchanged} unchanged`
  return `${lines} lines in ${seconds.toFixed(1)} s (${linesPerSecond(lines, seconds)}/s): ${counts}`
}

const linesPerSecond = (lines: number, seconds: number) => Math.round(lines / Math.max(seconds, 0.01))

/** Reasons that are printed. */
const maxReasons = 10

function formatReason({ reason, count, example }: ReasonCount): string {
  if (example === undefined) return `${formatCount(count)} × ${reason}`
  return count === 1 ? `1 × ${example}` : `${formatCount(count)} × ${reason}; for example ${example}`
}

/** Prints why lines were refused or not read, if any. The exit code is then 1. */
export function printProblems(file: string, { lines, rejected, reasons, readError }: ImportSummary, advice = '') {
  if (rejected > 0) {
    process.exitCode = 1
    printInfo(`${formatCount(rejected)} refused${advice}`)
    const all = reasons.all()
    for (const reason of all.slice(0, maxReasons)) printInfo(`  ${formatReason(reason)}`)
    if (all.length > maxReasons) printInfo(`  and ${all.length - maxReasons} more reasons`)
  }
  if (!readError) return
  if (lines === 0) return printError(cannotRead(file, readError))
  const reason = fileErrorReason(readError)
  printError(`cannot read ${describeFile(file)} beyond line ${lines}: ${reason}; the lines before were imported`)
}
