import { createReadStream, fstatSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { Command, CommanderError, Option } from 'commander'
import { UsageError } from '../contract/errors.ts'
import { withTemporaryCopy } from '../db/copy-database.ts'
import type { DatabaseWithTools } from '../db/tools.ts'
import { type ImportSummary, importLines } from '../import-export/import-lines.ts'
import { type Line, lineSchema } from '../import-export/line.ts'
import { assertMirror, mirrorLines } from '../import-export/mirror.ts'
import type { ReasonCount } from '../import-export/reason-counts.ts'
import { catalogueLines } from '../import-export/write-lines.ts'
import { formatCount, formatQuantity, nounOf } from '../util/text.ts'
import { buildDatabaseCommand, currentOperator, parsePositiveInteger } from './command.ts'
import { cannotRead } from './file-errors.ts'
import {
  print,
  printError,
  printInfo,
  printJson,
  printOptimizeProblem,
  printTable,
} from './output.ts'
import { showProgress } from './progress.ts'
import { rejectsWriter } from './rejects-file.ts'
import { elapsedSeconds } from './time.ts'

/** The required fields, and those that most other stores have, too. */
const exampleLine = {
  name: 'Tide Clock',
  description: 'High and low water for 4,000 harbours.',
  category: { slug: 'weather', name: 'Weather' },
  developer_name: 'Ada Lovelace',
  short_description: 'High and low water at a glance',
  version: '2.4.1',
  package_name: 'org.example.tideclock',
  website_url: 'https://tideclock.example.org/',
  source_code_url: 'https://code.example.org/tide-clock',
  license: 'MIT',
  keywords: ['tides', 'harbour'],
  status: 'approved',
  total_downloads: 5482,
  average_rating: 4.2,
  rating_count: 310,
  created_at: '2026-01-02T03:04:05Z',
  updated_at: '2026-03-04T09:12:45Z',
} satisfies Line

export const command = buildDatabaseCommand({
  command: new Command('import')
    .description('import a catalogue file: newline-delimited JSON, gzip or not, one app per line')
    .argument('<file>', 'path of the file, or - for standard input')
    .option(
      '--dry-run',
      'import into a temporary copy of the database, in TMPDIR, and list the apps that would change; writes only the rejects',
    )
    .addOption(
      new Option('--only-new', 'import only new apps; leave existing ones unchanged').conflicts(
        'mirror',
      ),
    )
    .option('--mirror', 'of a whole export, for a mirror: also hide the listed apps that it lacks')
    .option(
      '--hide <number>',
      'with --mirror: hide at most so many apps (default: half of the listed ones)',
      parsePositiveInteger,
    )
    .option(
      '--rejects <path>',
      'file for refused lines; their problems go beside it, to PATH.problems (default: FILE.rejects.ndjson, for - stdin.rejects.ndjson)',
    )
    .option('--schema', 'print the JSON Schema of a line instead')
    .on('option:schema', () => {
      printJson(lineSchema)
      throw new CommanderError(0, 'schema', 'The schema has been printed.')
    }),
  help: `
Each line needs name, description, category and developer_name. Without status,
its app waits for a decision. A line with the most common fields:

${JSON.stringify(exampleLine)}

--schema describes all fields. docs/moving-data.md has commands that convert the
files of other stores, and says which app a line updates. Existing apps are
updated; importing the same file twice changes nothing.

Invalid lines are refused and the others imported; the exit code is then 1. An
invalid value that an app can do without, such as an address, is left out: an
existing app keeps what it has. --schema says which. The rejects file has the
refused lines as they were, and the file beside it, with .problems at the end of
its name, an entry for each line with problems: {line, id, slug, problems:
[{field, message, left_out}]}, with the first 100 problems. line is its number
in FILE; id and slug are missing if the line has none. Correct the rejects, and
import them like any other file. The next import of FILE replaces both files, or
removes them if it has no problems. An interrupted import finishes when it is
run again.

--mirror is for a catalogue that only mirrors another one, without keys. FILE is
a whole export: listed apps that it lacks are hidden, whatever imported them;
they come back with a later file that has them. Nothing is hidden, and the exit
code is 1, if the input is empty or ends too early, has a removal, or a refused
line without an id or slug, or lacks more than half of the listed apps. Then
--hide N allows N.

Examples:
  ./apps-service import catalogue.ndjson.gz
  ./apps-service import --help | grep '^{' > line.ndjson
  ./apps-service import --schema
  ./apps-service import - --dry-run --json < catalogue.ndjson.gz

JSON: {lines, created, updated, unchanged, rejected, left_out, seconds, rejects,
problems, reasons: [{reason, example, count, left_out}]}. left_out: the lines
with values left out. rejects and problems: the files of the refused lines and
of the problems; missing if there are none, and then reasons, too. A reason for
several messages has the first of them as its example. --mirror adds hidden, if
it could hide what FILE lacks, and --dry-run updates: app_id and slug of the
first 100 apps that would change.`,
  run: runImport,
  toJson({
    summary: {
      readError,
      writeProblem,
      mirrorProblem,
      optimizeProblem,
      reasons,
      leftOut,
      ...counts
    },
    seconds,
    rejects,
    problems,
    updates,
  }) {
    const left = leftOut.all().map((reason) => ({ ...reason, left_out: true }))
    const all = [...reasons.all(), ...left]
    return {
      ...counts,
      ...(mirrorProblem !== undefined && { hidden: undefined }),
      seconds,
      updates,
      ...(counts.rejected > 0 && { rejects }),
      ...(all.length > 0 && { problems, reasons: all }),
    }
  },
  print({ summary, seconds, updates }) {
    const { lines, created, updated, unchanged, hidden } = summary
    if (updates?.length) printTable(updates.map(({ app_id, slug }) => ({ ID: app_id, SLUG: slug })))
    if (updates?.length === maxUpdates) print(`At most ${maxUpdates} apps are listed.`)
    const hides = hidden === undefined ? '' : `, ${hidden} hidden`
    const counts = `${created} created, ${updated} updated, ${unchanged} unchanged${hides}`
    const end = updates ? '; nothing was written.' : '.'
    const rate = linesPerSecond(lines, seconds)
    print(
      `${lines} ${nounOf(lines, 'line')} in ${seconds.toFixed(1)} s (${rate}/s): ${counts}${end}`,
    )
  },
})

/** Apps that a dry run lists. */
const maxUpdates = 100

type Options = {
  dryRun?: true
  onlyNew?: boolean
  mirror?: boolean
  hide?: number
  rejects?: string
}

async function runImport(
  database: DatabaseWithTools,
  file: string,
  { dryRun, onlyNew = false, mirror: isMirror = false, hide, rejects: rejectsFile }: Options,
) {
  if (isMirror) await database.read(assertMirror)
  else if (hide !== undefined) throw new UsageError('--hide is for imports with --mirror')
  const isStdin = file === '-'
  const rejectsPath = rejectsFile ?? (isStdin ? 'stdin.rejects.ndjson' : `${file}.rejects.ndjson`)
  const input = isStdin
    ? fstatSync(process.stdin.fd)
    : await stat(file).catch((error) => {
        throw cannotRead(file, error)
      })
  const rejects = await rejectsWriter(rejectsPath, input)
  const source: Readable & { bytesRead: number } = isStdin ? process.stdin : createReadStream(file)
  const begin = performance.now()
  const show = showProgress()

  const updates: { app_id: number; slug: string }[] | undefined = dryRun && []
  // Keeps V8's young generation as large as it is, as servers do.
  setFlagsFromString('--semi-space-growth-factor=1')
  const actor = currentOperator()
  const lines = catalogueLines({ actor, onlyNew, isMirror })
  const importInto = (target: DatabaseWithTools) =>
    importLines(target, source, isMirror ? mirrorLines(lines, actor, hide) : lines, {
      onProblems: rejects.add,
      onUpdate({ id, slug }) {
        if (updates && updates.length < maxUpdates) updates.push({ app_id: id, slug })
      },
      onProgress({ lines }) {
        const rate = linesPerSecond(lines, elapsedSeconds(begin))
        const size = input.isFile() ? input.size : undefined
        show(source.bytesRead, size, `${lines} ${nounOf(lines, 'line')}, ${rate}/s`)
      },
    })
  const importing = dryRun ? withTemporaryCopy(database, importInto) : importInto(database)
  const summary = await importing.finally(rejects.close)
  const { problemsPath: problems } = rejects
  printProblems(
    file,
    summary,
    problems && `: see ${resolve(problems)}`,
    `; correct the lines in ${resolve(rejectsPath)} and import that file`,
  )
  if (!dryRun) printOptimizeProblem('the lines were imported', summary.optimizeProblem)
  const { mirrorProblem, hidden } = summary
  if (mirrorProblem !== undefined)
    printError(`${hidden ? 'not everything' : 'nothing'} was hidden: ${mirrorProblem}`)
  const isComplete = summary.rejected === 0 && !summary.readError && !summary.writeProblem
  if (isComplete && !isStdin && rejectsFile === undefined && !dryRun) await rejects.removeEarlier()
  return { summary, seconds: elapsedSeconds(begin), rejects: rejectsPath, problems, updates }
}

const linesPerSecond = (lines: number, seconds: number) =>
  Math.round(lines / Math.max(seconds, 0.01))

/** Does not repeat the reason if the example begins with it. */
const describeExample = (example: string, reason: string) =>
  example.startsWith(reason)
    ? `${example.slice(reason.length)}, for example`
    : `; for example ${example}`

/** Reasons that are printed. */
const maxReasons = 10

function printReasons(all: ReasonCount[]) {
  for (const { reason, count, example } of all.slice(0, maxReasons)) {
    const shown = count === 1 ? (example ?? reason) : reason
    const more = count > 1 && example !== undefined ? describeExample(example, reason) : ''
    printInfo(`  ${formatCount(count)} × ${shown}${more}`)
  }
  const more = all.length - maxReasons
  if (more > 0) printInfo(`  and ${more} more ${nounOf(more, 'reason')}`)
}

/**
 * Prints which values were left out, and why lines were refused, not written or not read, if any,
 * and then sets the exit code to 1. An empty input, such as an export of a night without changes, is
 * no failure.
 */
export function printProblems(
  file: string,
  { lines, rejected, reasons, left_out, leftOut, readError, writeProblem }: ImportSummary,
  place = '',
  advice = '',
): void {
  if (rejected > 0) {
    process.exitCode = 1
    printInfo(`${formatCount(rejected)} refused${place && place + advice}`)
    printReasons(reasons.all())
  }
  if (left_out > 0) {
    printInfo(`${formatQuantity(left_out, 'line')} with values left out${place}`)
    printReasons(leftOut.all())
  }
  if (writeProblem) {
    const { line, reason } = writeProblem
    const imported = lines === 0 ? 'nothing was imported' : 'the lines before were imported'
    printError(
      `cannot write line ${line} and those after it: ${reason.replace(/\.$/, '')}; ${imported}; run this again to finish`,
    )
  } else if (lines === 0 && !readError) {
    printInfo(`${file === '-' ? 'Standard input' : file} is empty; nothing was changed.`)
  }
  if (!readError) return
  printError(
    lines === 0
      ? cannotRead(file, readError).message
      : `${cannotRead(file, readError, ` beyond line ${lines}`).message}; the lines before were imported`,
  )
}
