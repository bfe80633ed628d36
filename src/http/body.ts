import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import express, { type Request, type Response } from 'express'
import { type ErrorDetails, invalidRequest, ServiceError } from '../contract/errors.ts'
import { duplicateField, hasMoreTokensThan } from '../contract/validation.ts'

/** Bytes. */
const maxBytes = 256 * 1024
/** A body that is too large is read up to here, so that the client gets the response; beyond, the connection is cut. */
const maxDrainedBytes = 16 * maxBytes

/** No valid body has forty. Describing the problems of a body with very many would block the event loop. */
const maxTokens = 1000
const tooManyTokens = {
  in: 'body' as const,
  field: '',
  message: `must have at most ${maxTokens} JSON tokens`,
}

/** The only charset of JSON (RFC 8259, section 8.1), in a Content-Type. */
const utf8 = /^utf-8$/i

/** Requests with an empty body, which body-parser parses as `{}`. */
const emptyBodies = new WeakSet<IncomingMessage>()

const parse = promisify(
  express.json({
    limit: maxBytes,
    // The schema refuses values that are not objects.
    strict: false,
    // Decoding would replace invalid UTF-8 by U+FFFD.
    verify: (request, _response, bytes, encoding) => {
      // The charset that body-parser decodes by: it may read the header otherwise than isUtf8Declared.
      if (!utf8.test(encoding)) throw unsupportedMediaType()
      if (bytes.length === 0) emptyBodies.add(request)
      if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8.')
      const json = bytes.toString()
      if (hasMoreTokensThan(json, maxTokens)) throw invalidRequest([tooManyTokens])
      const repeated = duplicateField(json)
      if (repeated) throw malformed('The body has a field twice; see data.errors.', { errors: [repeated] })
    },
  }),
)

/**
 * Returns the JSON value of a request's body; undefined if there is no body. Throws `unsupported_media_type`,
 * `payload_too_large` and `malformed_json`.
 */
export async function readBody(request: Request, response: Response): Promise<unknown> {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type, expect } = request.headers
  if (encoding === undefined && !Number(length)) return undefined
  if (type === undefined || !request.is('application/json') || !isUtf8Declared(type)) throw unsupportedMediaType()
  if (Number(length) > maxDrainedBytes) throw tooLarge(response)
  // RFC 9110, section 10.1.1.
  if (expect?.toLowerCase() === '100-continue') response.writeContinue()
  await Promise.race([parse(request, response), rejectOversized(request, response)]).catch((error: unknown) => {
    throw translateError(error)
  })
  return emptyBodies.has(request) ? undefined : request.body
}

/** body-parser checks the charset only after the body's size. */
const isUtf8Declared = (contentType: string) =>
  [...contentType.matchAll(/\bcharset\s*=\s*"?([^\s;"]*)/gi)].every(([, name = '']) => utf8.test(name))

/** Rejects when more than maxDrainedBytes have arrived; body-parser would read an oversized body to its end. */
function rejectOversized(request: Request, response: Response): Promise<never> {
  let length = 0
  return new Promise((_resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > maxDrainedBytes) reject(tooLarge(response))
    })
  })
}

function tooLarge(response: Response): ServiceError {
  response.set('Connection', 'close')
  return payloadTooLarge()
}

/** body-parser's errors have a `type` (https://github.com/expressjs/body-parser#errors), zlib's none. */
function translateError(error: unknown): unknown {
  if (error instanceof ServiceError || !(error instanceof Error)) return error
  switch ('type' in error && error.type) {
    case 'entity.too.large':
      return payloadTooLarge()
    case 'encoding.unsupported':
      return unsupportedEncoding()
    case 'charset.unsupported':
      return unsupportedMediaType()
    case 'entity.parse.failed':
      return malformed('The body is not valid JSON.')
    default:
      // The client disconnected, or the body's length or encoding is not the announced one.
      return 'status' in error && Number(error.status) < 500
        ? malformed('The body does not match its Content-Length or Content-Encoding.')
        : error
  }
}

const malformed = (message: string, details?: ErrorDetails) => new ServiceError('malformed_json', message, details)

const payloadTooLarge = () => new ServiceError('payload_too_large', 'The body is over 256 KiB; send less.')

const unsupportedMediaType = () =>
  new ServiceError('unsupported_media_type', 'Send the body as application/json in UTF-8.')

const unsupportedEncoding = () =>
  new ServiceError(
    'unsupported_media_type',
    'The Content-Encoding is not supported; send the body uncompressed, or as gzip, deflate or br.',
  )
