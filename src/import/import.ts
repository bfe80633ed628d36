import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { Actor } from '../actor.ts'
import type { Problem } from '../contract.ts'
import type { Database } from '../db/open.ts'
import { searchDocument } from '../search/document.ts'
import { isCategoryLine, isSet, type Line, problem, readLine } from './line.ts'
import { linesOf, type TextLine } from './lines.ts'
import { claims, type Outcome, type ReadyCategory, type ReadyLine } from './plan.ts'
import { importStore } from './store.ts'

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

const isReady = (line: AnyLine): line is ReadyLine | ReadyCategory => !('problems' in line)

/** Lines and characters that are written together, while the next ones are read. */
const batchLines = 250
const batchLength = 512 * 1024

/** Lines that are kept for the end, since an app before them has their package name still: so many exchange them in no time. */
const mostLater = 5000

/**
 * Milliseconds. A transaction takes batches for so long, since every commit writes each page that it touched: the more lines
 * share one, the fewer pages are written for each. Then the lock is left alone for longer than SQLite lets a writer that
 * waits for it sleep, 100 ms (https://sqlite.org/src/file/src/main.c, sqliteDefaultBusyCallback): so each gets its turn.
 */
const turn = 750
const pause = 110
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

  for (let first = await ahead.next(); first; first = await ahead.next()) {
    const results = await writeTurn(first)
    for (const [batch, outcomes] of results) await count(batch, outcomes)
    options.onProgress(summary)
    await delay(pause)
  }
  if (later.length > 0) {
    const outcomes = await database.write((connection) => importStore(connection).applyLast(later, { ...options, now }))
    await count(later, outcomes)
  }
  await database.settle()
  return summary

  async function* read(): AsyncGenerator<AnyLine> {
    try {
      for await (const textLine of linesOf(source)) {
        summary.lines++
        // The database's answers come first: reading on would keep it waiting for its next statement.
        if (summary.lines % 8 === 0) await setImmediate()
        yield lineOf(textLine)
      }
    } catch (error) {
      summary.broken = error instanceof Error ? error : new Error(String(error))
    }
  }

  /** Writes batches in one transaction, as many as there is time for. */
  async function writeTurn(first: Batch): Promise<[Batch, Outcome[]][]> {
    // The batches of this turn, which stay its own when the work is run again.
    const begun = [first]
    let outcomes: Outcome[][] = []
    const begin = performance.now()
    await database.write(async (connection) => {
      outcomes = []
      const store = importStore(connection)
      for (const batch of begun) {
        outcomes.push(await store.apply(batch.filter(isReady), { ...options, now }))
        const goesOn = outcomes.length === begun.length && performance.now() - begin < turn
        const next = goesOn ? await ahead.nextWithin(patience) : undefined
        if (next) begun.push(next)
      }
    })
    return begun.map((batch, index) => [batch, outcomes[index] ?? []])
  }

  async function count(batch: Batch, outcomes: Outcome[]) {
    const left = outcomes.values()
    for (const line of batch) {
      const outcome = isReady(line) ? left.next().value : line.problems
      if (outcome === undefined) throw new Error(`nothing is known of line ${line.number}`)
      if (outcome === 'later' && 'line' in line && later.length < mostLater) later.push(line)
      else if (outcome === 'later') await reject(line, [problem('/package_name', 'is that of another app')])
      else if (outcome === 'created with another slug') {
        summary.created++
        summary.other_slugs++
      } else if (typeof outcome === 'string') summary[outcome]++
      else await reject(line, outcome)
    }
  }

  async function reject({ number, text }: AnyLine, problems: Problem[]) {
    summary.rejected++
    await options.onReject(number, problems, text)
  }
}

function lineOf(read: TextLine): AnyLine {
  const { number } = read
  if ('problem' in read) return { number, text: undefined, problems: [problem('', read.problem)] }
  const { text } = read
  const line = readLine(text)
  if (Array.isArray(line)) return { number, text, problems: line }
  if (isCategoryLine(line)) return { number, text, category: line.category }
  return { number, text, line, document: documentOf(line) }
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
    length += line.text?.length ?? 0
    for (const key of keys) known.add(key)
  }
  if (batch.length > 0) yield batch
}

function documentOf(line: Line) {
  if (line.status !== 'approved' || isSet(line.deleted_at)) return undefined
  return searchDocument(line, line.developer_name)
}
