import { createReadStream } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { type Decision, statusAfterDecision } from '../catalogue/policy.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason, parseReference, referenceFormat } from '../contract/field-rules.ts'
import { describeSyntaxError } from '../contract/json-text.ts'
import { readText } from '../import-export/read-lines.ts'
import type { GivenDecision } from '../moderation/decisions.ts'
import { cannotRead } from './file-errors.ts'
import { printRemoval } from './output.ts'

/** A row of CSV or an object of NDJSON, and the line on which it begins, counted from 1. */
type Row = { line: number; fields: Record<string, unknown> }

/** Invalid rows that an error message names. */
const maxNamedRows = 10

/**
 * Reads decisions from CSV with a header, or from NDJSON. Throws an OperatorError that names the
 * lines of invalid ones.
 */
export async function readDecisions(file: string): Promise<GivenDecision[]> {
  const { isCsv, rows } = await readRows(file).catch((error: Error) => {
    throw new OperatorError(cannotRead(file, error))
  })
  const ids = new Set<number>()
  const problems: string[] = []
  const read: GivenDecision[] = []
  for (const { line, fields } of rows) {
    try {
      const decision = parseDecision(fields)
      if (ids.has(decision.id)) throw new OperatorError(`the id ${decision.id} is repeated`)
      ids.add(decision.id)
      read.push(decision)
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      problems.push(`line ${line}: ${error.message}`)
    }
  }
  if (problems.length === 0) {
    if (isCsv) printRemoval('CSV', 'give NDJSON with the fields id, decision and reason instead')
    return read
  }
  const more = problems.length > maxNamedRows ? `; and ${problems.length - maxNamedRows} more` : ''
  throw new OperatorError(
    `nothing was decided: ${problems.slice(0, maxNamedRows).join('; ')}${more}`,
  )
}

function parseDecision({
  id,
  decision,
  reason: givenReason,
  ...others
}: Row['fields']): GivenDecision {
  const reason = givenReason ?? ''
  if (typeof reason !== 'string') throw new OperatorError('the reason must be text')
  const [other] = Object.keys(others)
  if (other !== undefined) {
    throw new OperatorError(`${other} is not a field; the fields are id, decision and reason`)
  }
  if (id === undefined) throw new OperatorError('the id is missing')
  const app = parseReference(String(id))
  if (!app) throw new OperatorError(`the id must be ${referenceFormat}, not ${JSON.stringify(id)}`)
  if (!isDecision(decision)) {
    throw new OperatorError(
      `the decision must be approve or reject, not ${JSON.stringify(decision)}`,
    )
  }
  if (decision === 'approve' && reason !== '') throw new OperatorError('approve takes no reason')
  return { ...app, decision, reason: decision === 'reject' ? parseReason(reason) : '' }
}

const isDecision = (value: unknown): value is Decision =>
  typeof value === 'string' && Object.hasOwn(statusAfterDecision, value)

/** Throws an Error that describes the problem. */
async function readRows(file: string): Promise<{ isCsv: boolean; rows: Row[] }> {
  const text = await readText(createReadStream(file))
  if (text.trim() === '') throw new Error('it is empty')
  const isCsv = !text.trimStart().startsWith('{')
  return { isCsv, rows: isCsv ? parseCsv(text) : parseNdjson(text) }
}

type CsvRow = { record: Row['fields']; info: { lines: number }; raw: string }

function parseCsv(text: string): Row[] {
  // csv-parse would count the end of a line twice within quotes.
  const rows: CsvRow[] = parse(text.replaceAll('\r\n', '\n'), {
    columns: checkHeader,
    trim: true,
    skip_empty_lines: true,
    info: true,
    raw: true,
  })
  return rows.map(({ record, info, raw }) => {
    // `lines` counts until the end of the row. `raw` may begin with blank lines.
    const length = raw.trim().split('\n').length
    return { line: info.lines - length + 1, fields: record }
  })
}

function checkHeader(names: string[]): string[] {
  if (names.includes('id') && names.includes('decision')) return names
  throw new Error('the first line must be the header id,decision,reason')
}

const parseNdjson = (text: string): Row[] =>
  text
    .split('\n')
    .flatMap((line, index) =>
      line.trim() === '' ? [] : [{ line: index + 1, fields: parseObject(line, index + 1) }],
    )

function parseObject(line: string, number: number): Row['fields'] {
  try {
    // A value that is not an object becomes one without the fields, and so an invalid row.
    return Object(JSON.parse(line))
  } catch {
    throw new Error(`it ${describeSyntaxError(line, number)}`)
  }
}
