import { readFile, stat } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { type Decision, decisions } from '../catalogue/policy.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import { cannotRead } from './file-errors.ts'

export type GivenDecision = { id: number; decision: Decision; reason: string }

const maxBytes = 16 * 1024 * 1024

/** Invalid rows that an error message names. */
const maxNamedRows = 10

/** Reads decisions from CSV with a header, or from NDJSON. Throws an OperatorError that names the invalid rows. */
export async function readDecisions(file: string): Promise<GivenDecision[]> {
  const rows = await readRows(file).catch((error: Error) => {
    throw new OperatorError(cannotRead(file, error))
  })
  const ids = new Set<unknown>()
  const problems: string[] = []
  const read: GivenDecision[] = []
  for (const [index, { id, decision, reason: givenReason, ...others }] of rows.entries()) {
    try {
      const reason = givenReason ?? ''
      if (typeof reason !== 'string') throw new OperatorError('has a reason that is not text')
      const [other] = Object.keys(others)
      if (other !== undefined) throw new OperatorError(`has the unknown field ${other}`)
      if (!/^[1-9]\d{0,14}$/.test(String(id))) throw new OperatorError('has an invalid id')
      if (!isDecision(decision)) throw new OperatorError('must have approve or reject as its decision')
      if (decision === 'approve' && reason !== '') throw new OperatorError('has a reason, which approve does not take')
      if (ids.has(String(id))) throw new OperatorError(`repeats the id ${id} of an earlier row`)
      ids.add(String(id))
      read.push({ id: Number(id), decision, reason: decision === 'reject' ? parseReason(reason) : '' })
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      problems.push(`row ${index + 1} ${error.message}`)
    }
  }
  if (problems.length === 0) return read
  const more = problems.length > maxNamedRows ? `; and ${problems.length - maxNamedRows} more` : ''
  throw new OperatorError(`nothing was decided: ${problems.slice(0, maxNamedRows).join('; ')}${more}`)
}

const isDecision = (value: unknown): value is Decision => typeof value === 'string' && Object.hasOwn(decisions, value)

/** The rows of CSV, without its header, or the objects of NDJSON. Throws an Error that says what is wrong. */
async function readRows(file: string): Promise<Record<string, unknown>[]> {
  if ((await stat(file)).size > maxBytes) throw new Error('it is larger than 16 MiB')
  const text = (await readFile(file, 'utf8')).replace(/^\uFEFF/, '')
  if (text.trim() === '') throw new Error('it is empty')
  if (!text.trimStart().startsWith('{'))
    return parse(text, { columns: checkHeader, trim: true, skip_empty_lines: true })
  return text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseRow(line, index + 1)]))
}

function checkHeader(names: string[]): string[] {
  if (names.includes('id') && names.includes('decision')) return names
  throw new Error('the first line must be the header id,decision,reason')
}

function parseRow(line: string, number: number): Record<string, unknown> {
  try {
    // A value that is not an object becomes one without the fields, and so an invalid row.
    return Object(JSON.parse(line))
  } catch {
    throw new Error(`line ${number} is not JSON`)
  }
}
