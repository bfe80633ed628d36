import { readFile, stat } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { type Decision, decisions } from '../catalogue/policy.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'

export type GivenDecision = { id: number; decision: Decision; reason: string }

const maxBytes = 16 * 1024 * 1024

/** How many invalid rows an error names. */
const maxNamed = 10

/** Reads decisions from CSV with a header, or from NDJSON. Throws an OperatorError that names the invalid rows. */
export async function readDecisions(file: string): Promise<GivenDecision[]> {
  const rows = await readRows(file).catch((error: Error) => {
    throw new OperatorError(`cannot read ${file}: ${error.message}`)
  })
  const ids = new Set<unknown>()
  const problems: string[] = []
  const read: GivenDecision[] = []
  for (const [index, { id, decision, reason = '', ...others }] of rows.entries()) {
    try {
      const [other] = Object.keys(others)
      if (other !== undefined) throw new OperatorError(`has the unknown field ${other}`)
      if (!/^[1-9]\d{0,14}$/.test(String(id))) throw new OperatorError('has no valid id')
      if (!isDecision(decision)) throw new OperatorError('must have approve or reject as its decision')
      if (decision === 'approve' && reason !== '') throw new OperatorError('has a reason, which approve does not take')
      if (ids.has(String(id))) throw new OperatorError(`has the id ${id}, as a row before it`)
      ids.add(String(id))
      read.push({ id: Number(id), decision, reason: decision === 'reject' ? parseReason(String(reason)) : '' })
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      problems.push(`row ${index + 1} ${error.message}`)
    }
  }
  if (problems.length === 0) return read
  const more = problems.length > maxNamed ? `; and ${problems.length - maxNamed} more` : ''
  throw new OperatorError(`nothing was decided: ${problems.slice(0, maxNamed).join('; ')}${more}`)
}

const isDecision = (value: unknown): value is Decision => Object.keys(decisions).includes(String(value))

/** The rows after the header of CSV. */
async function readRows(file: string): Promise<Record<string, unknown>[]> {
  if ((await stat(file)).size > maxBytes) throw new Error('it has more than 16 MiB')
  const text = await readFile(file, 'utf8')
  if (!text.trimStart().startsWith('{'))
    return parse(text, { bom: true, columns: true, trim: true, skip_empty_lines: true })
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : JSON.parse(line)))
}
