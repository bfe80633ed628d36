import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { QueryRunner } from '../db/engine.ts'
import { describeFailure, optimizeAtEnd, pauseForOthers } from '../db/long-writes.ts'
import type { DatabaseWithTools } from '../db/tools.ts'
import { required } from '../util/helpers.ts'
import { batchKeys } from './find-apps-of-lines.ts'
import {
  type DescribedApp,
  type FirstLines,
  type ImportLine,
  isRefusing,
  type ParsedLine,
  problem,
} from './line.ts'
import { readLines } from './read-lines.ts'
import { type LineProblem, ReasonCounts } from './reason-counts.ts'

export type ImportSummary = {
  lines: number
  created: number
  updated: number
  unchanged: number
  rejected: number
  /** Apps that a mirror has hidden. */
  hidden?: number
  reasons: ReasonCounts
  /** Lines that were not refused, but read without some of their values. */
  left_out: number
  /** Why those were left out. */
  leftOut: ReasonCounts
  /** Why the file could not be read to its end. The lines before are imported. */
  readError?: Error
  /** The first line that could not be written, and why. The lines before are imported. */
  writeProblem?: { line: number; reason: string }
  /** Why a mirror has not hidden all apps that the file lacks. */
  mirrorProblem?: string
  /** Why the database was not optimized afterwards. */
  optimizeProblem?: string | undefined
}

export type ImportEvents = {
  /**
   * Called for each line with problems, in the order of the file. If all of them are left out, the
   * line is not refused.
   */
  onProblems?: (number: number, problems: LineProblem[], raw: string | Buffer) => Promise<void>
  /** Called for each line that updates an app, in the order of the file. */
  onUpdate?: (app: DescribedApp) => void
  /** Called after each batch with the counts so far. */
  onProgress?: (summary: ImportSummary) => void
}

/** Functions to parse the lines of a file and to write those of a transaction. */
export type LineWork = {
  parse: (text: string, number: number) => ParsedLine
  /**
   * Sets the outcome of each line that has none. It may leave out a line that is not the first one:
   * another transaction writes it.
   */
  write: (runner: QueryRunner, lines: ImportLine[], firstLines: FirstLines) => Promise<void>
  /** Called for each line with its outcome, in the order of the file. */
  onWritten?: (line: ImportLine) => void
  /** Runs after the last line, and yields the apps that it hides. */
  finish?: (
    database: DatabaseWithTools,
    summary: ImportSummary,
    firstLines: FirstLines,
  ) => AsyncGenerator<DescribedApp>
}

/**
 * One batch is a transaction, unless its lines are categories. Small batches cost time, large ones
 * memory.
 */
const maxBatchLines = 1000
const maxBatchLength = 2 * 1024 * 1024

/**
 * Writes the lines of a file in batches. Memory grows only by the ids of its apps. A stopped import
 * finishes when it is run again.
 */
export async function importLines(
  database: DatabaseWithTools,
  source: AsyncIterable<Buffer>,
  { parse, write, onWritten, finish }: LineWork,
  { onProblems, onUpdate, onProgress }: ImportEvents = {},
): Promise<ImportSummary> {
  const reasons = new ReasonCounts()
  const summary: ImportSummary = {
    lines: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
    reasons,
    left_out: 0,
    leftOut: new ReasonCounts(),
  }
  const firstLines = new Map<number, number>()
  const pause = pauseForOthers(database)
  // Reads the next batch while this one is written.
  const prefetched: AsyncIterable<ImportLine[]> = Readable.from(batches(read()), {
    highWaterMark: 1,
  })
  for await (const batch of prefetched) {
    for (const lines of transactionsOf(batch)) {
      try {
        await database.write((runner) => write(runner, lines, firstLines))
      } catch (error) {
        const reason = describeFailure(database, error)
        if (reason === undefined) throw error
        const first = required(lines[0], 'the first line of a transaction')
        for (const line of batch.slice(0, batch.indexOf(first))) await count(line)
        return { ...summary, writeProblem: { line: first.number, reason } }
      }
      for (const { described, number } of lines)
        if (described && !firstLines.has(described.id)) firstLines.set(described.id, number)
      await pause()
    }
    for (const line of batch) await count(line)
    onProgress?.(summary)
  }
  if (finish) {
    summary.hidden = 0
    try {
      for await (const app of finish(database, summary, firstLines)) {
        summary.hidden++
        onUpdate?.(app)
      }
    } catch (error) {
      const reason = describeFailure(database, error)
      if (reason === undefined) throw error
      summary.mirrorProblem = reason
    }
  }
  summary.optimizeProblem = await optimizeAtEnd(database)
  return summary

  async function* read(): AsyncGenerator<ImportLine> {
    try {
      for await (const line of readLines(source)) {
        // Lets a statement that has finished start the next one, so that the database does not wait
        // for this loop.
        await setImmediate()
        if ('problem' in line) {
          const message = `${line.problem} (line ${line.number})`
          const outcome = [problem('', message, line.problem)]
          yield { number: line.number, raw: line.bytes, outcome }
        } else yield { number: line.number, raw: line.text, ...parse(line.text, line.number) }
      }
    } catch (error) {
      summary.readError = error instanceof Error ? error : new Error(String(error))
    }
  }

  async function count(line: ImportLine) {
    const { number, raw, described } = line
    summary.lines++
    const outcome = required(line.outcome, 'the outcome of a line')
    onWritten?.(line)
    if (outcome === 'updated' && described) onUpdate?.(described)
    const leftOut = [...(line.leftOut ?? []), ...(line.contradictions ?? [])]
    const problems = Array.isArray(outcome) ? [...outcome, ...leftOut] : leftOut
    if (problems.length > 0) await onProblems?.(number, problems, raw)
    if (Array.isArray(outcome)) {
      summary.rejected++
      reasons.add(outcome.filter(isRefusing))
    } else {
      summary[outcome]++
      summary.leftOut.add(leftOut)
      if (leftOut.length > 0) summary.left_out++
    }
  }
}

/**
 * The lines of each transaction of a batch. Each category has its own: of two whose names change in
 * one, the second could wait for a write that moves an app between the two and waits for the first.
 * Refused ones are tried again after the others: otherwise apps could add the category of a refused
 * line, with a name that a later line has given up.
 */
function* transactionsOf(batch: ImportLine[]): Generator<ImportLine[]> {
  let unwritten = batch.filter(({ category }) => category)
  if (unwritten.length === 0)
    for (let rest = batch; rest.length > 0; rest = rest.filter(({ outcome }) => !outcome))
      yield rest
  let tried: number
  do {
    tried = unwritten.length
    for (const line of unwritten) yield [line]
    unwritten = unwritten.filter(({ outcome }) => Array.isArray(outcome))
  } while (unwritten.length < tried)
}

/** Undefined for a refused line, which belongs to any batch. */
const kindOf = (line: ImportLine): LineKind | undefined => lineKinds.find((kind) => line[kind])
const lineKinds = ['app', 'category', 'removed', 'counters'] as const
type LineKind = (typeof lineKinds)[number]

/**
 * Groups lines of one kind. Two lines for one app are in different batches, because the second must
 * read the first one's result.
 */
async function* batches(lines: AsyncIterable<ImportLine>): AsyncGenerator<ImportLine[]> {
  let batch: ImportLine[] = []
  let length = 0
  let claimed = new Set<string>()
  let kind: LineKind | undefined
  for await (const line of lines) {
    const { finds, claims } = batchKeys(line)
    // A transaction locks apps once, and before categories (decision 15).
    const isOtherKind = kindOf(line) !== kind && kindOf(line) !== undefined && kind !== undefined
    if (
      batch.length >= maxBatchLines ||
      isOtherKind ||
      length >= maxBatchLength ||
      finds.some((key) => claimed.has(key))
    ) {
      yield batch
      batch = []
      length = 0
      claimed = new Set()
      kind = undefined
    }
    batch.push(line)
    kind ??= kindOf(line)
    length += line.raw.length
    for (const key of claims) claimed.add(key)
  }
  if (batch.length > 0) yield batch
}
