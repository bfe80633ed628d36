import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import express, { type Request, type Response } from 'express'
import { invalidRequest, ServiceError } from '../errors.ts'

const limit = 256 * 1024

const parse = promisify(
  express.json({
    limit,
    // Values other than objects are the schema's to refuse, with the other problems.
    strict: false,
    // RFC 8259, section 8.1: JSON is UTF-8. Decoding would put U+FFFD where it is not, and so change what was sent.
    verify: (_request, _response, bytes, encoding) => {
      if (!/^utf-?8$/i.test(encoding)) throw unsupportedMediaType()
      if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8.')
    },
  }),
)

/**
 * The JSON object that a request holds, white space around its text values removed. Throws `unsupported_media_type`,
 * `payload_too_large`, `malformed_json`, and `invalid_request` for JSON that is no object.
 */
export async function readBody(request: Request, response: Response): Promise<object> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && !Number(length))
    throw invalidRequest([{ in: 'body', field: '', message: 'is required' }])
  if (!request.is('application/json')) throw unsupportedMediaType()
  await parse(request, response).catch((error: unknown) => {
    throw translate(error)
  })
  const body: unknown = request.body
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidRequest([{ in: 'body', field: '', message: 'must be an object' }])
  }
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, typeof value === 'string' ? value.trim() : value]),
  )
}

/** body-parser tells its errors by `type` (https://github.com/expressjs/body-parser#errors). */
function translate(error: unknown): unknown {
  if (error instanceof ServiceError || !(error instanceof Error) || !('type' in error)) return error
  switch (error.type) {
    case 'entity.too.large':
      return new ServiceError('payload_too_large', 'The body is over 256 KiB; send less.')
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return unsupportedMediaType()
    case 'entity.parse.failed':
      return malformed('The body is not valid JSON.')
    default:
      // The client went away, or what arrived is not as long or as compressed as it was said to be.
      return malformed('The body did not arrive as it was announced.')
  }
}

const malformed = (message: string) => new ServiceError('malformed_json', message)

const unsupportedMediaType = () =>
  new ServiceError('unsupported_media_type', 'Send the body as application/json in UTF-8.')
