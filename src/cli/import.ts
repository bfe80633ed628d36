import { createReadStream, createWriteStream, fstatSync, type Stats, type WriteStream } from 'node:fs'
import { lstat, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline, Transform } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { Presets, SingleBar } from 'cli-progress'
import { Command } from 'commander'
import type { Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import { type ImportSummary, importCatalogue } from '../transfer/import.ts'
import { lineSchema } from '../transfer/line.ts'
import { ReasonCounts, toReject } from '../transfer/rejects.ts'
import { createProgressPrinter, currentOperator, print, printInfo, printJson, withDatabase } from './command.ts'
import { formatCount, sanitize } from './terminal-text.ts'
import { elapsedSeconds } from './time.ts'

type Options = { dryRun?: true; onlyNew?: true; json?: true; schema?: true; rejects?: string }

export const importCommand = () =>
  new Command('import')
    .description('bring a catalogue file into the database: newline-delimited JSON, gzip or not, one app a line')
    .argument('[file]', 'path of the file, or - for standard input')
    .option('--dry-run', 'tell what would happen, in a copy of the database, and write nothing but the rejects')
    .option('--only-new', 'bring in new apps alone, and leave alone what is there')
    .option(
      '--rejects <path>',
      'where refused lines go, each with its problems (default: FILE.rejects.ndjson, of - stdin.rejects.ndjson)',
    )
    .option('--schema', 'print the JSON Schema of a line instead')
    .option('--json', 'print one JSON object with the counts')
    .addHelpText(
      'after',
      `
An app that is there already is updated; the same file twice changes nothing.
A line is of the app that has
  1. its id, slug and created_at, all three, whoever owns it; or else
  2. its package_name; or else
  3. its slug, if the developer is the same; or else, where the line has neither
     package_name nor slug,
  4. its developer_name and exact name, if that app has no package name.
Otherwise it is a new app, with a slug of its own where another developer's app
has that of the line; by its developer and created_at, or else name, it is known
again.

A bad line is refused alone, and the rest goes in; the exit code is 1 then. What
was refused is in the rejects, with the reasons: mend it there, and import that
file. The next import of FILE replaces its rejects, or removes them where none
are left. Stopped half-way and started again, an import finishes. A server may
run meanwhile.

Examples:
  npx apps-service import catalogue.ndjson.gz
  npx apps-service import --schema
  zcat old.gz | npx apps-service import - --dry-run --json

JSON: {lines, created, other_slugs, updated, unchanged, rejected, seconds,
rejects, reasons: [{reason, count}]}; other_slugs is how many of those created
have another slug than their line, rejects the file of what was refused. It and
the reasons are left out where nothing was.`,
    )
    .action(runImport)

async function runImport(file: string | undefined, options: Options, command: Command) {
  if (options.schema) return printJson(lineSchema)
  if (file === undefined) return command.error("error: missing required argument 'file'")

  const rejectsFile = options.rejects ?? (file === '-' ? 'stdin.rejects.ndjson' : `${file}.rejects.ndjson`)
  const input = file === '-' ? fstatSync(process.stdin.fd) : await statOf(file)
  const rejects = new RejectsFile(rejectsFile, await rejectsOpenFlags(rejectsFile, input))
  const source = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 64 * 1024 })
  const progress = showProgress(input.isFile() ? input.size : undefined)
  const begin = performance.now()

  limitHeapGrowth()
  const importInto = (database: Database) =>
    importCatalogue(database, pipeline(source, progress.counter, ignoreError), {
      actor: currentOperator(),
      onlyNew: options.onlyNew === true,
      onReject: (...refused) => rejects.add(...refused),
      onProgress: progress.update,
    })
  const summary = await withDatabase((database) =>
    options.dryRun ? database.dryRun(importInto) : importInto(database),
  ).finally(async () => {
    progress.stop()
    await rejects.close()
  })
  const isDefaultRejectsFile = file !== '-' && options.rejects === undefined
  if (summary.rejected === 0 && !summary.readError && isDefaultRejectsFile && !options.dryRun)
    await rejects.removePrevious()

  const seconds = elapsedSeconds(begin)
  const { readError, ...counts } = summary
  const reasons = rejects.reasons.all()
  if (options.json)
    printJson({
      ...counts,
      seconds,
      ...(summary.rejected > 0 && { rejects: rejectsFile, reasons }),
    })
  else print(formatSummary(summary, seconds, options.dryRun === true))
  if (summary.rejected > 0) {
    printInfo(`${formatCount(summary.rejected)} refused: see ${rejectsFile}, which import takes when it is mended`)
    for (const { reason, count } of reasons.slice(0, maxReasons))
      printInfo(`  ${formatCount(count)} × ${sanitize(reason)}`)
    if (reasons.length > maxReasons) printInfo(`  and ${reasons.length - maxReasons} more reasons`)
    process.exitCode = 1
  }
  if (readError) {
    const where = file === '-' ? 'standard input' : file
    const message = `${where} breaks off after line ${summary.lines}, which is the last that was taken`
    throw new OperatorError(`${message}: ${readError.message}`)
  }
}

/** How many reasons are named. */
const maxReasons = 10

/** Left to itself V8 lets garbage pile up while the machine has memory to spare: 400 MB, where an import needs half of it. */
function limitHeapGrowth() {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=75')
}

async function statOf(file: string): Promise<Stats> {
  const found = await stat(file).catch(() => undefined)
  if (!found || found.isDirectory()) throw new OperatorError(`${file} is no file that can be read`)
  return found
}

function formatSummary(
  { lines, created, other_slugs, updated, unchanged }: ImportSummary,
  seconds: number,
  dryRun: boolean,
): string {
  const slugs = other_slugs > 0 ? ` (${other_slugs} with another slug: theirs is another developer's)` : ''
  const counts = `${created} created${slugs}, ${updated} updated, ${unchanged} unchanged`
  return `${lines} lines in ${seconds.toFixed(1)} s (${linesPerSecond(lines, seconds)}/s): ${counts}${dryRun ? '; nothing was written' : ''}.`
}

/** What is done in no time is done in a hundredth of a second. */
const linesPerSecond = (lines: number, seconds: number) => Math.round(lines / Math.max(seconds, 0.01))

/**
 * Refuses to have rejects in the file that is read, and in any that has something else in it: that would be lost, a
 * database for one. A device or a pipe takes them. Tells how to open it.
 */
async function rejectsOpenFlags(path: string, source: Stats): Promise<'w' | 'wx'> {
  const folder = dirname(path)
  const existing = await stat(path).catch(() => undefined)
  if (existing === undefined) {
    const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory()
    if (isFolder) return 'wx'
    throw new OperatorError(`the rejects cannot go into ${path}: ${folder} is no folder`)
  }
  if (existing.isDirectory()) throw new OperatorError(`the rejects cannot go into ${path}, which is a folder`)
  if (!existing.isFile()) return 'w'
  if (existing.dev === source.dev && existing.ino === source.ino)
    throw new OperatorError('the rejects cannot go into the file itself; --rejects names another')
  if (existing.size > 0 && !(await isRejectsFile(path)))
    throw new OperatorError(`${path} is there already, and not of rejects; --rejects names another file`)
  return 'w'
}

/** By its beginning, which stays when it is mended. */
async function isRejectsFile(path: string): Promise<boolean> {
  const file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0).finally(() => file.close())
  return /^\{\s*"line"\s*:\s*\d+\s*,\s*"errors"/.test(buffer.toString('utf8', 0, bytesRead))
}

/** The file of refused lines; there only where there are any. One of an earlier run is replaced. */
class RejectsFile {
  readonly reasons = new ReasonCounts()
  readonly #path: string
  readonly #flags: 'w' | 'wx'
  #stream: WriteStream | undefined

  constructor(path: string, flags: 'w' | 'wx') {
    this.#path = path
    this.#flags = flags
  }

  async add(line: number, problems: Problem[], text: string | undefined) {
    this.reasons.add(problems)
    // What goes wrong with it reaches whoever writes.
    this.#stream ??= createWriteStream(this.#path, { flags: this.#flags }).on('error', ignoreError)
    const stream = this.#stream
    const reject = toReject(line, problems, text)
    await new Promise<void>((resolve, fail) => {
      stream.write(`${JSON.stringify(reject)}\n`, (error) => (error ? fail(this.#explainWriteError(error)) : resolve()))
    })
  }

  #explainWriteError({ code, message }: NodeJS.ErrnoException) {
    return new OperatorError(
      `the rejects cannot go into ${this.#path} (${code ?? message}); --rejects names another file`,
    )
  }

  async close() {
    const stream = this.#stream
    if (stream) await new Promise<void>((resolve) => stream.end(resolve))
  }

  /** Those of an earlier run, where this one has none. */
  async removePrevious() {
    const found = await lstat(this.#path).catch(() => undefined)
    if (found?.isFile() && (await isRejectsFile(this.#path))) await rm(this.#path)
  }
}

/** pipeline destroys the last stream with the error, and so its reader has it. */
const ignoreError = () => {}

/** A bar with rate and time left on a terminal, a line every ten seconds elsewhere. `size` in bytes, where it is known. */
function showProgress(size: number | undefined) {
  let bytes = 0
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      done(null, chunk)
    },
  })
  const begin = performance.now()
  const rateOf = ({ lines }: ImportSummary) => linesPerSecond(lines, elapsedSeconds(begin))
  if (process.stderr.isTTY && size !== undefined) {
    const format = '{bar} {percentage}% | {lines} lines | {rate}/s | {eta_formatted} left'
    const bar = new SingleBar({ format, stream: process.stderr, barsize: 24, etaBuffer: 100 }, Presets.shades_classic)
    bar.start(size, 0, { lines: 0, rate: 0 })
    const update = (summary: ImportSummary) => bar.update(bytes, { lines: summary.lines, rate: rateOf(summary) })
    return { counter, update, stop: () => bar.stop() }
  }
  const noteProgress = createProgressPrinter()
  const update = (summary: ImportSummary) =>
    noteProgress(() => {
      const share = size ? `, ${Math.round((bytes / size) * 100)}%` : ''
      return `${summary.lines} lines${share}, ${rateOf(summary)}/s`
    })
  return { counter, update, stop: () => {} }
}
