import type { Category, ErrorCode, Problem } from './contract.ts'

export type ErrorDetails = {
  errors?: Problem[]
  /** Only with `unknown_category`: all categories there are. */
  categories?: Category[]
  /** Only with `method_not_allowed`: the methods of the path. */
  allow?: string[]
  /** Only with `unauthorized`: a key was sent, and refused. */
  refusedKey?: true
  /** Only with `rate_limited`: seconds. */
  retryAfter?: number
  /** Only with `unavailable`: it is meant so, and nothing has failed that the log should tell of. */
  isExpected?: true
}

/**
 * The one error that anything below http/ throws on purpose at a caller. Its message is shown to the caller as it is, so it
 * never holds anything of the inside; `cause` is for the log alone.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ServiceError'
    this.code = code
    this.details = details
  }
}

/**
 * What the state of things does not allow an operator to do, in a line that says why. The command line prints it; over HTTP,
 * where nothing throws it, it would be an error of the inside.
 */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}

export const notFound = () => new ServiceError('not_found', 'Not found; check the path and the id.')

export const invalidRequest = (problems: Problem[]) => {
  const errors = problems.slice(0, 100)
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  return new ServiceError('invalid_request', `The request has ${count}; see data.errors.`, { errors })
}
