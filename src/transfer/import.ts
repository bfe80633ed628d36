import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { Actor } from '../audit/store.ts'
import type { Problem } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import { maxTransactionTime, pauseBetweenTransactions } from '../db/write-pacing.ts'
import { toSearchDocument } from '../search/document.ts'
import { claimedKeys, type LineOutcome, type ParsedCategory, type ParsedLine } from './app-plan.ts'
import { importStore } from './import-store.ts'
import { isCategoryLine, isSet, type Line, problem, readLine } from './line.ts'
import { readLines, type TextLine } from './read-lines.ts'

export type ImportSummary = {
  lines: number
  created: number
  /** Of those created: the slug of their line was another developer's app's. */
  other_slugs: number
  updated: number
  unchanged: number
  rejected: number
  /** Why reading the file came to an end before the file did. What was read till then is in. */
  readError?: Error
}

export type ImportOptions = {
  actor: Actor
  /** What is there already stays as it is. */
  onlyNew: boolean
  /** In the order of the file; behind them those that waited for a package name in vain. */
  onReject: (number: number, problems: Problem[], text: string | undefined) => Promise<void>
  /** Called when a transaction is done, with the sums so far. */
  onProgress: (summary: ImportSummary) => void
}

/** A line that cannot be read goes with the others, so that all that are refused are told of in their order. */
type BadLine = { number: number; text: string | undefined; problems: Problem[] }
type AnyLine = ParsedLine | ParsedCategory | BadLine
type Batch = AnyLine[]

/** What is kept of a line that is not done with: it is a small part of what it takes to write it. */
type PendingLine = { number: number; bytes: Buffer } | BadLine

/** What became of a line. */
type LineResult = { outcome: Exclude<LineOutcome, NotWritten> } | { outcome: NotWritten; line: PendingLine }
type NotWritten = 'deferred' | Problem[]

const toPending = (line: AnyLine): PendingLine => (isParsed(line) ? { number: line.number, bytes: line.bytes } : line)
const parseAgain = (line: PendingLine): AnyLine =>
  'problems' in line ? line : parseLine({ ...line, text: line.bytes.toString() })

const toLineResult = (outcome: LineOutcome, line: AnyLine): LineResult =>
  outcome === 'deferred' || typeof outcome !== 'string' ? { outcome, line: toPending(line) } : { outcome }

const isParsed = (line: AnyLine): line is ParsedLine | ParsedCategory => !('problems' in line)

/** Lines and bytes that are written together, while the next ones are read. */
const batchLines = 1000
const batchBytes = 2 * 1024 * 1024

/** Lines that are kept for the end, since an app before them has their package name still: so many exchange them in no time. */
const maxDeferred = 5000

/** Milliseconds for which a transaction is kept open for a batch that is still being read. */
const batchTimeout = 50

/**
 * Brings the lines of a file into the catalogue; memory does not grow with the file. Stopped at any time and begun again, it
 * finishes: what is there already is unchanged.
 */
export async function importCatalogue(
  database: Database,
  source: AsyncIterable<Buffer>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const summary: ImportSummary = { lines: 0, created: 0, other_slugs: 0, updated: 0, unchanged: 0, rejected: 0 }
  const now = new Date().toISOString()
  const deferred: ParsedLine[] = []
  const prefetcher = new Prefetcher(batches(read()))

  for (let first = await prefetcher.next(); first; ) {
    const written = await writeTransaction(first)
    const pauseOver = delay(pauseBetweenTransactions)
    await database.checkpoint()
    await countResults(written)
    options.onProgress(summary)
    first = await prefetcher.next()
    if (first || deferred.length > 0) await pauseOver
  }
  if (deferred.length > 0) {
    const outcomes = await database.write((connection) =>
      importStore(connection).applyDeferred(deferred, { ...options, now }),
    )
    await countResults(deferred.map((line, index) => toLineResult(outcomes[index] ?? [], line)))
  }
  await database.optimize()
  return summary

  async function* read(): AsyncGenerator<AnyLine> {
    try {
      for await (const textLine of readLines(source)) {
        summary.lines++
        // The database's answers come first: reading on would keep it waiting for its next statement.
        await setImmediate()
        yield parseLine(textLine)
      }
    } catch (error) {
      summary.readError = error instanceof Error ? error : new Error(String(error))
    }
  }

  /** Writes batches in one transaction, as many as there is time for. */
  async function writeTransaction(first: Batch): Promise<LineResult[]> {
    // The batches of this turn, which stay its own when the work is run again.
    const attempted: PendingLine[][] = []
    let written: LineResult[] = []
    await database.write(async (connection) => {
      const begin = performance.now()
      const { applyBatch } = importStore(connection)
      const write = async (batch: Batch) => {
        const outcomes = (await applyBatch(batch.filter(isParsed), { ...options, now })).values()
        for (const line of batch) {
          written.push(toLineResult(isParsed(line) ? (outcomes.next().value ?? []) : line.problems, line))
        }
      }
      written = []
      for (const batch of attempted) await write(batch.map(parseAgain))
      for (let next: Batch | undefined = attempted.length === 0 ? first : undefined; next; ) {
        if (database.retriesTransactions) attempted.push(next.map(toPending))
        await write(next)
        next = performance.now() - begin < maxTransactionTime ? await prefetcher.nextWithin(batchTimeout) : undefined
      }
    })
    return written
  }

  async function countResults(lines: LineResult[]) {
    for (const written of lines) {
      if (!('line' in written)) tally(written.outcome)
      else if (written.outcome === 'deferred') await defer(written.line)
      else await reject(written.line, written.outcome)
    }
  }

  function tally(outcome: Exclude<LineOutcome, NotWritten>) {
    summary[outcome === 'created with another slug' ? 'created' : outcome]++
    if (outcome === 'created with another slug') summary.other_slugs++
  }

  async function defer(line: PendingLine) {
    const again = deferred.length < maxDeferred ? parseAgain(line) : undefined
    if (again && 'line' in again) deferred.push(again)
    else await reject(line, [problem('/package_name', 'is that of another app')])
  }

  async function reject(line: PendingLine, problems: Problem[]) {
    summary.rejected++
    await options.onReject(line.number, problems, 'bytes' in line ? line.bytes.toString() : line.text)
  }
}

function parseLine(read: TextLine): AnyLine {
  const { number } = read
  if ('problem' in read) return { number, text: undefined, problems: [problem('', read.problem)] }
  const { bytes, text } = read
  const line = readLine(text)
  if (Array.isArray(line)) return { number, text, problems: line }
  if (isCategoryLine(line)) return { number, bytes, category: line.category }
  return { number, bytes, line, document: listedDocument(line) }
}

/** Has the next value made while the one before it is in use. */
class Prefetcher<T> {
  readonly #values: AsyncIterator<T>
  #coming: Promise<T | undefined>

  constructor(values: AsyncIterable<T>) {
    this.#values = values[Symbol.asyncIterator]()
    this.#coming = this.#make()
  }

  /** Undefined at the end. Rejects where the value could not be made. */
  async next(): Promise<T | undefined> {
    const value = await this.#coming
    this.#coming = value === undefined ? Promise.resolve(undefined) : this.#make()
    return value
  }

  /** The same, or undefined where it takes longer than so many milliseconds; then it is still to come. */
  async nextWithin(milliseconds: number): Promise<T | undefined> {
    const late = Symbol()
    const first = await Promise.race([this.#coming, delay(milliseconds, late)])
    return first === late ? undefined : this.next()
  }

  #make(): Promise<T | undefined> {
    const made = this.#values.next().then(({ value, done }) => (done ? undefined : value))
    // Awaited later: until then a failure is nobody's.
    made.catch(() => {})
    return made
  }
}

/** Lines in groups, in each of which no two claim the same app: the second of such a pair must find what the first wrote. */
async function* batches(lines: AsyncIterable<AnyLine>): AsyncGenerator<Batch> {
  let batch: Batch = []
  let length = 0
  let known = new Set<string>()
  for await (const line of lines) {
    const keys = 'line' in line ? claimedKeys(line.line) : []
    // Categories that exchange their names stand together, so they are written together.
    const isFull = batch.length >= batchLines && !('category' in line)
    if (isFull || length >= batchBytes || keys.some((key) => known.has(key))) {
      yield batch
      batch = []
      length = 0
      known = new Set()
    }
    batch.push(line)
    length += 'bytes' in line ? line.bytes.length : (line.text?.length ?? 0)
    for (const key of keys) known.add(key)
  }
  if (batch.length > 0) yield batch
}

function listedDocument(line: Line) {
  if (line.status !== 'approved' || isSet(line.deleted_at)) return undefined
  return toSearchDocument(line, line.developer_name)
}
