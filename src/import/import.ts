import type { Actor } from '../actor.ts'
import { searchDocument } from '../apps/store.ts'
import type { Problem } from '../contract.ts'
import type { Database } from '../db/open.ts'
import { type Line, problem, readLine } from './line.ts'
import { linesOf } from './lines.ts'
import { identities, importStore, type Outcome, type ReadyLine } from './store.ts'

export type Summary = { lines: number; created: number; updated: number; unchanged: number; rejected: number }

export type ImportOptions = {
  actor: Actor
  /** Writes nothing in the end. Each batch stands alone then: a line that repeats one of an earlier batch counts as created. */
  dryRun: boolean
  onReject: (number: number, problems: Problem[]) => Promise<void>
  /** Called when a batch is written, with the sums so far. */
  onProgress: (summary: Summary) => void
}

/** Lines and characters in one transaction: long enough to be worth one, short enough for a server's writers to come between. */
const batchLines = 500
const batchLength = 2 * 1024 * 1024

/**
 * Brings the lines of a file into the catalogue, a batch a transaction; memory does not grow with the file. Stopped at any
 * time and begun again, it finishes: what is there already is unchanged. Throws what reading the source throws.
 */
export async function importCatalogue(
  database: Database,
  source: AsyncIterable<Buffer>,
  options: ImportOptions,
): Promise<Summary> {
  const summary: Summary = { lines: 0, created: 0, updated: 0, unchanged: 0, rejected: 0 }
  const now = new Date().toISOString()

  // The next batch is read and validated while the database writes the one before it.
  let writing = Promise.resolve()
  for await (const batch of batches(ready())) {
    await writing
    writing = write(batch)
    // Awaited a turn later: until then a failure is nobody's.
    writing.catch(() => {})
  }
  await writing
  return summary

  async function* ready(): AsyncGenerator<ReadyLine> {
    for await (const textLine of linesOf(source)) {
      summary.lines++
      const { number } = textLine
      const line = 'text' in textLine ? readLine(textLine.text) : [problem('', textLine.problem)]
      if (Array.isArray(line)) await reject(number, line)
      else yield { number, line, document: documentOf(line) }
    }
  }

  async function write(batch: ReadyLine[]) {
    const outcomes = await applied(batch)
    for (const [index, outcome] of outcomes.entries()) {
      if (Array.isArray(outcome)) await reject(batch[index]?.number ?? 0, outcome)
      else summary[outcome]++
    }
    options.onProgress(summary)
  }

  async function applied(batch: ReadyLine[]): Promise<Outcome[]> {
    let outcomes: Outcome[] = []
    try {
      await database.write(async (connection) => {
        outcomes = await importStore(connection).apply(batch, options.actor, now)
        if (options.dryRun) throw undo
      })
    } catch (error) {
      if (error !== undo) throw error
    }
    return outcomes
  }

  async function reject(number: number, problems: Problem[]) {
    summary.rejected++
    await options.onReject(number, problems)
  }
}

const undo = new Error('a dry run ends here')

/** Lines in groups, in each of which no two know the same app: the second of such a pair must find what the first wrote. */
async function* batches(lines: AsyncIterable<ReadyLine>): AsyncGenerator<ReadyLine[]> {
  let batch: ReadyLine[] = []
  let length = 0
  let known = new Set<string>()
  for await (const ready of lines) {
    const keys = identities(ready.line)
    if (batch.length >= batchLines || length >= batchLength || keys.some((key) => known.has(key))) {
      yield batch
      batch = []
      length = 0
      known = new Set()
    }
    batch.push(ready)
    length += lengthOf(ready.line)
    for (const key of keys) known.add(key)
  }
  if (batch.length > 0) yield batch
}

const lengthOf = ({ description, reviews = [] }: Line) =>
  description.length + reviews.reduce((sum, { comment }) => sum + comment.length + 100, 0)

function documentOf(line: Line) {
  if (line.status !== 'approved' || line.deleted_at !== undefined) return undefined
  return searchDocument(line, line.developer_name)
}
