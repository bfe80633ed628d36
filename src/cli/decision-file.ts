import { createReadStream } from 'node:fs'
import { type Decision, statusAfterDecision } from '../catalogue/policy.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason, parseReference, referenceFormat } from '../contract/field-rules.ts'
import { describeSyntaxError } from '../contract/json-text.ts'
import { readLines } from '../import-export/read-lines.ts'
import type { AppDecision } from '../moderation/decisions.ts'
import { cannotRead } from './file-errors.ts'

/** Invalid lines that an error message names. */
const maxNamedLines = 10

/**
 * Reads decisions from NDJSON, one object per line; `-` is standard input. Throws an OperatorError
 * that names the invalid lines.
 */
export async function readDecisions(file: string): Promise<AppDecision[]> {
  const ids = new Set<number>()
  const problems: string[] = []
  const decisions: AppDecision[] = []
  const source = file === '-' ? process.stdin : createReadStream(file)
  try {
    for await (const line of readLines(source)) {
      const decision = 'problem' in line ? `it ${line.problem}` : parseLine(line.text, line.number)
      if (typeof decision === 'string') problems.push(`line ${line.number}: ${decision}`)
      else if (ids.has(decision.id))
        problems.push(`line ${line.number}: the id ${decision.id} is repeated`)
      else {
        ids.add(decision.id)
        decisions.push(decision)
      }
    }
  } catch (error) {
    throw cannotRead(file, error as Error)
  }
  if (problems.length > 0) {
    const more = problems.length - maxNamedLines
    throw new OperatorError(
      `nothing was decided: ${problems.slice(0, maxNamedLines).join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
    )
  }
  if (decisions.length === 0) throw cannotRead(file, new Error('it is empty'))
  return decisions
}

/** The decision of a line, or its problem. */
function parseLine(text: string, number: number): AppDecision | string {
  try {
    // A value that is not an object becomes one without the fields, and so an invalid line.
    return parseDecision(Object(JSON.parse(text)))
  } catch (error) {
    if (error instanceof OperatorError) return error.message
    return `it ${describeSyntaxError(text, number)}`
  }
}

function parseDecision({
  id,
  decision,
  reason: givenReason,
  ...others
}: Record<string, unknown>): AppDecision {
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
      `the decision must be approve, reject or reopen, not ${JSON.stringify(decision)}`,
    )
  }
  if (decision !== 'reject' && reason !== '') throw new OperatorError(`${decision} takes no reason`)
  return { ...app, decision, reason: decision === 'reject' ? parseReason(reason) : '' }
}

const isDecision = (value: unknown): value is Decision =>
  typeof value === 'string' && Object.hasOwn(statusAfterDecision, value)
