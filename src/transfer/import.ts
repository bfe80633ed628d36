import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { Actor } from '../audit/store.ts'
import type { Problem } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import { pause, turn } from '../db/write-pacing.ts'
import { searchDocument } from '../search/document.ts'
import { claims, type Outcome, type ReadyCategory, type ReadyLine } from './app-plan.ts'
import { importStore } from './import-store.ts'
import { isCategoryLine, isSet, type Line, problem, readLine } from './line.ts'
import { linesOf, type TextLine } from './read-lines.ts'

export type Summary = {
  lines: number
  created: number
  /** Of those created: the slug of their line was another developer's app's. */
  other_slugs: number
  updated: number
  unchanged: number
  rejected: number
  /** Why reading the file came to an end before the file did. What was read till then is in. */
  broken?: Error
}

export type ImportOptions = {
  actor: Actor
  /** What is there already stays as it is. */
  onlyNew: boolean
  /** In the order of the file; behind them those that waited for a package name in vain. */
  onReject: (number: number, problems: Problem[], text: string | undefined) => Promise<void>
  /** Called when a transaction is done, with the sums so far. */
  onProgress: (summary: Summary) => void
}

/** A line that cannot be read goes with the others, so that all that are refused are told of in their order. */
type BadLine = { number: number; text: string | undefined; problems: Problem[] }
type AnyLine = ReadyLine | ReadyCategory | BadLine
type Batch = AnyLine[]

/** What is kept of a line that is not done with: it is a small part of what it takes to write it. */
type KeptLine = { number: number; bytes: Buffer } | BadLine

/** What became of a line. */
type Written = { outcome: Exclude<Outcome, NotDone> } | { outcome: NotDone; line: KeptLine }
type NotDone = 'later' | Problem[]

const kept = (line: AnyLine): KeptLine => (isReady(line) ? { number: line.number, bytes: line.bytes } : line)
const readyAgain = (line: KeptLine): AnyLine =>
  'problems' in line ? line : lineOf({ ...line, text: line.bytes.toString() })

const writtenAs = (outcome: Outcome, line: AnyLine): Written =>
  outcome === 'later' || typeof outcome !== 'string' ? { outcome, line: kept(line) } : { outcome }

const isReady = (line: AnyLine): line is ReadyLine | ReadyCategory => !('problems' in line)

/** Lines and bytes that are written together, while the next ones are read. */
const batchLines = 1000
const batchLength = 2 * 1024 * 1024

/** Lines that are kept for the end, since an app before them has their package name still: so many exchange them in no time. */
const mostLater = 5000

/** Milliseconds for which a transaction is kept open for a batch that is still being read. */
const patience = 50

/**
 * Brings the lines of a file into the catalogue; memory does not grow with the file. Stopped at any time and begun again, it
 * finishes: what is there already is unchanged.
 */
export async function importCatalogue(
  database: Database,
  source: AsyncIterable<Buffer>,
  options: ImportOptions,
): Promise<Summary> {
  const summary: Summary = { lines: 0, created: 0, other_slugs: 0, updated: 0, unchanged: 0, rejected: 0 }
  const now = new Date().toISOString()
  const later: ReadyLine[] = []
  const ahead = new OneAhead(batches(read()))

  for (let first = await ahead.next(); first; ) {
    const written = await writeTurn(first)
    const isLeftAlone = delay(pause)
    await database.checkpoint()
    await count(written)
    options.onProgress(summary)
    first = await ahead.next()
    if (first || later.length > 0) await isLeftAlone
  }
  if (later.length > 0) {
    const outcomes = await database.write((connection) => importStore(connection).applyLast(later, { ...options, now }))
    await count(later.map((line, index) => writtenAs(outcomes[index] ?? [], line)))
  }
  await database.settle()
  return summary

  async function* read(): AsyncGenerator<AnyLine> {
    try {
      for await (const textLine of linesOf(source)) {
        summary.lines++
        // The database's answers come first: reading on would keep it waiting for its next statement.
        await setImmediate()
        yield lineOf(textLine)
      }
    } catch (error) {
      summary.broken = error instanceof Error ? error : new Error(String(error))
    }
  }

  /** Writes batches in one transaction, as many as there is time for. */
  async function writeTurn(first: Batch): Promise<Written[]> {
    // The batches of this turn, which stay its own when the work is run again.
    const begun: KeptLine[][] = []
    let written: Written[] = []
    await database.write(async (connection) => {
      const begin = performance.now()
      const { apply } = importStore(connection)
      const write = async (batch: Batch) => {
        const outcomes = (await apply(batch.filter(isReady), { ...options, now })).values()
        for (const line of batch) {
          written.push(writtenAs(isReady(line) ? (outcomes.next().value ?? []) : line.problems, line))
        }
      }
      written = []
      for (const batch of begun) await write(batch.map(readyAgain))
      for (let next: Batch | undefined = begun.length === 0 ? first : undefined; next; ) {
        if (database.runsAgain) begun.push(next.map(kept))
        await write(next)
        next = performance.now() - begin < turn ? await ahead.nextWithin(patience) : undefined
      }
    })
    return written
  }

  async function count(lines: Written[]) {
    for (const written of lines) {
      if (!('line' in written)) tally(written.outcome)
      else if (written.outcome === 'later') await putOff(written.line)
      else await reject(written.line, written.outcome)
    }
  }

  function tally(outcome: Exclude<Outcome, NotDone>) {
    summary[outcome === 'created with another slug' ? 'created' : outcome]++
    if (outcome === 'created with another slug') summary.other_slugs++
  }

  async function putOff(line: KeptLine) {
    const again = later.length < mostLater ? readyAgain(line) : undefined
    if (again && 'line' in again) later.push(again)
    else await reject(line, [problem('/package_name', 'is that of another app')])
  }

  async function reject(line: KeptLine, problems: Problem[]) {
    summary.rejected++
    await options.onReject(line.number, problems, 'bytes' in line ? line.bytes.toString() : line.text)
  }
}

function lineOf(read: TextLine): AnyLine {
  const { number } = read
  if ('problem' in read) return { number, text: undefined, problems: [problem('', read.problem)] }
  const { bytes, text } = read
  const line = readLine(text)
  if (Array.isArray(line)) return { number, text, problems: line }
  if (isCategoryLine(line)) return { number, bytes, category: line.category }
  return { number, bytes, line, document: documentOf(line) }
}

/** Has the next value made while the one before it is in use. */
class OneAhead<T> {
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
    const keys = 'line' in line ? claims(line.line) : []
    // Categories that exchange their names stand together, so they are written together.
    const isFull = batch.length >= batchLines && !('category' in line)
    if (isFull || length >= batchLength || keys.some((key) => known.has(key))) {
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

function documentOf(line: Line) {
  if (line.status !== 'approved' || isSet(line.deleted_at)) return undefined
  return searchDocument(line, line.developer_name)
}
