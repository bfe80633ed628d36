import type { Category, ErrorCode, Problem } from './contract.ts'

export type ErrorDetails = {
  errors?: Problem[]
  /** Only with `unknown_category`: all categories. */
  categories?: Category[]
  /** Only with `package_name_taken`: the caller's own app that has the name. */
  appId?: number
  /** Only with `method_not_allowed`: the methods of the path. */
  allow?: string[]
  /** Only with `unauthorized`: a key was sent and refused. */
  refusedKey?: true
  /** Only with `unsupported_media_type`: the cause is the Content-Encoding. */
  refusedCoding?: true
  /** Only with `rate_limited`: seconds. */
  retryAfter?: number
  /** Only with `unavailable`: nothing has failed, so it is not logged as an error. */
  isExpected?: true
}

/**
 * An error for the client: http/error-response.ts sends its code, message and details. They must
 * not reveal internals; `cause` is only logged.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(
    code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = 'ServiceError'
    this.code = code
    this.details = details
  }
}

/**
 * An error for people at the shell, where it is printed in one line, and for moderators, whose page
 * shows it. Handlers of the API do not throw it: the response would be a 500.
 */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}

/**
 * A value of an option or argument that is wrong whatever the database has: the exit code is 2.
 * Unlike commander's error, it does not quote the value.
 */
export class UsageError extends OperatorError {}

export const notFound = (): ServiceError =>
  new ServiceError('not_found', 'Not found; check the path and the id.')

/** `reference` is the address of the page or document that lists the paths. */
export const pathNotFound = (reference: string): ServiceError =>
  new ServiceError('not_found', `This path does not exist; ${reference} lists those that do.`)
