import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { open, realpath, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline, Transform } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { Presets, SingleBar } from 'cli-progress'
import { Command } from 'commander'
import type { Problem } from '../contract.ts'
import type { Database } from '../db/open.ts'
import { Refusal } from '../errors.ts'
import { importCatalogue, type Summary } from '../import/import.ts'
import { lineSchema } from '../import/line.ts'
import { Reasons, rejectOf } from '../import/rejects.ts'
import { note, notesNowAndThen, operator, print, printJson, withDatabase } from './command.ts'
import { grouped, safe } from './text.ts'
import { elapsed } from './time.ts'

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
file. The next import of the first file replaces the rejects, or removes them
where nothing is refused. Stopped half-way and started again, an import
finishes. A server may run meanwhile.

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
  const size = file === '-' ? undefined : await sizeOf(file)
  await refuseForRejects(rejectsFile, file)
  const rejects = new Rejects(rejectsFile)
  const source = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 64 * 1024 })
  const progress = showProgress(size)
  const begin = performance.now()

  keepMemoryFlat()
  const bring = (database: Database) =>
    importCatalogue(database, pipeline(source, progress.counter, passErrors), {
      actor: operator(),
      onlyNew: options.onlyNew === true,
      onReject: (...refused) => rejects.add(...refused),
      onProgress: progress.update,
    })
  const summary = await withDatabase((database) =>
    options.dryRun ? database.rehearse(bring) : bring(database),
  ).finally(async () => {
    progress.stop()
    await rejects.close()
  })
  if (summary.rejected === 0 && !summary.broken) await rejects.removeFormer()

  const seconds = elapsed(begin)
  const { broken, ...counts } = summary
  const reasons = rejects.reasons.all()
  if (options.json)
    printJson({
      ...counts,
      seconds,
      ...(summary.rejected > 0 && { rejects: rejectsFile, reasons }),
    })
  else print(sentenceOf(summary, seconds, options.dryRun === true))
  if (summary.rejected > 0) {
    note(`${grouped(summary.rejected)} refused: see ${rejectsFile}, which import takes when it is mended`)
    for (const { reason, count } of reasons.slice(0, mostReasons)) note(`  ${grouped(count)} × ${safe(reason)}`)
    if (reasons.length > mostReasons) note(`  and ${reasons.length - mostReasons} more reasons`)
    process.exitCode = 1
  }
  if (broken) {
    const where = file === '-' ? 'standard input' : file
    const message = `${where} breaks off after line ${summary.lines}, which is the last that was taken`
    throw new Refusal(`${message}: ${broken.message}`)
  }
}

/** How many reasons are named. */
const mostReasons = 10

/** Left to itself V8 lets garbage pile up while the machine has memory to spare: 400 MB, where an import needs half of it. */
function keepMemoryFlat() {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=75')
}

/** Bytes; undefined of a pipe. */
async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined)
  if (!found || found.isDirectory()) throw new Refusal(`${file} is no file that can be read`)
  return found.isFile() ? found.size : undefined
}

function sentenceOf(
  { lines, created, other_slugs, updated, unchanged }: Summary,
  seconds: number,
  dryRun: boolean,
): string {
  const slugs = other_slugs > 0 ? ` (${other_slugs} with another slug: theirs is another developer's)` : ''
  const counts = `${created} created${slugs}, ${updated} updated, ${unchanged} unchanged`
  return `${lines} lines in ${seconds.toFixed(1)} s (${perSecond(lines, seconds)}/s): ${counts}${dryRun ? '; nothing was written' : ''}.`
}

/** What is done in no time is done in a hundredth of a second. */
const perSecond = (lines: number, seconds: number) => Math.round(lines / Math.max(seconds, 0.01))

/**
 * Refuses to have rejects in the file that is read, and in any that is there but for rejects of an earlier run: what it holds,
 * a database for one, would be lost. A device or a pipe takes them.
 */
async function refuseForRejects(path: string, source: string) {
  const there = await stat(path).catch(() => undefined)
  if (there === undefined) {
    const folder = dirname(path)
    if ((await stat(folder).catch(() => undefined)) === undefined)
      throw new Refusal(`the rejects cannot go into ${path}: ${folder} does not exist`)
    return
  }
  if (there.isDirectory()) throw new Refusal(`the rejects cannot go into ${path}, which is a folder`)
  if (!there.isFile() || there.size === 0) return
  const [real, realSource] = await Promise.all([path, source].map((name) => realpath(name).catch(() => name)))
  if (real === realSource) throw new Refusal('the rejects cannot go into the file itself')
  if (!(await isOfRejects(path)))
    throw new Refusal(`${path} is there already, and not of rejects; --rejects names another file`)
}

/** By its beginning, which stays when it is mended. */
async function isOfRejects(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) return false
  const file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0).finally(() => file.close())
  return /^\{\s*"line"\s*:\s*\d+\s*,\s*"errors"/.test(buffer.toString('utf8', 0, bytesRead))
}

/** The file of refused lines; there only where there are any. One of an earlier run is replaced or removed. */
class Rejects {
  readonly reasons = new Reasons()
  readonly #path: string
  #stream: WriteStream | undefined

  constructor(path: string) {
    this.#path = path
  }

  async add(line: number, problems: Problem[], text: string | undefined) {
    this.reasons.add(problems)
    // What goes wrong with it reaches whoever writes.
    this.#stream ??= createWriteStream(this.#path).on('error', passErrors)
    const stream = this.#stream
    const reject = rejectOf(line, problems, text)
    await new Promise<void>((resolve, fail) => {
      stream.write(`${JSON.stringify(reject)}\n`, (error) => (error ? fail(error) : resolve()))
    })
  }

  async close() {
    const stream = this.#stream
    if (stream) await new Promise<void>((resolve) => stream.end(resolve))
  }

  async removeFormer() {
    if (await isOfRejects(this.#path)) await rm(this.#path)
  }
}

/** pipeline destroys the last stream with the error, and so its reader has it. */
const passErrors = () => {}

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
  const rateOf = ({ lines }: Summary) => perSecond(lines, elapsed(begin))
  if (process.stderr.isTTY && size !== undefined) {
    const format = '{bar} {percentage}% | {lines} lines | {rate}/s | {eta_formatted} left'
    const bar = new SingleBar({ format, stream: process.stderr, barsize: 24, etaBuffer: 100 }, Presets.shades_classic)
    bar.start(size, 0, { lines: 0, rate: 0 })
    const update = (summary: Summary) => bar.update(bytes, { lines: summary.lines, rate: rateOf(summary) })
    return { counter, update, stop: () => bar.stop() }
  }
  const noteProgress = notesNowAndThen()
  const update = (summary: Summary) =>
    noteProgress(() => {
      const share = size ? `, ${Math.round((bytes / size) * 100)}%` : ''
      return `${summary.lines} lines${share}, ${rateOf(summary)}/s`
    })
  return { counter, update, stop: () => {} }
}
