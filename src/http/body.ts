import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import express, { type Request, type Response } from 'express'
import { type ErrorDetails, invalidRequest, ServiceError } from '../contract/errors.ts'
import { duplicateField, hasMoreTokensThan } from '../contract/validation.ts'

/** Bytes. */
const maxBytes = 256 * 1024
/** Up to here a body that is too large is read to its end, so that its sender hears why; beyond, the connection is cut. */
const maxDrainedBytes = 16 * maxBytes

/** No body that the document has needs forty; of what has so many, the event loop would be busy with naming what is wrong. */
const maxTokens = 1000
const tooManyTokens = {
  in: 'body' as const,
  field: '',
  message: `must have at most ${maxTokens} JSON tokens`,
}

/** The one charset of JSON (RFC 8259, section 8.1), as it is written in a Content-Type. */
const utf8 = /^utf-8$/i

/** Requests whose body ended before it began; body-parser makes `{}` of that. */
const emptyBodies = new WeakSet<IncomingMessage>()

const parse = promisify(
  express.json({
    limit: maxBytes,
    // Values other than objects are the schema's to refuse, with the other problems.
    strict: false,
    // Decoding would put U+FFFD where it is not UTF-8, and so change what was sent.
    verify: (request, _response, bytes, encoding) => {
      // What body-parser decodes by, whatever isUtf8Declared made of the header.
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
 * The JSON value that a request holds, white space around an object's text values removed; undefined where there is
 * no body. Throws `unsupported_media_type`, `payload_too_large` and `malformed_json`.
 */
export async function readBody(request: Request, response: Response): Promise<unknown> {
  const { 'content-length': length, 'transfer-encoding': encoding, expect } = request.headers
  if (encoding === undefined && !Number(length)) return undefined
  if (!request.is('application/json') || !isUtf8Declared(request)) throw unsupportedMediaType()
  if (Number(length) > maxDrainedBytes) throw tooLarge(response)
  // RFC 9110, section 10.1.1: only now is the body wanted.
  if (expect?.toLowerCase() === '100-continue') response.writeContinue()
  await Promise.race([parse(request, response), rejectOversized(request, response)]).catch((error: unknown) => {
    throw translateError(error)
  })
  return emptyBodies.has(request) ? undefined : trimFields(request.body)
}

/** body-parser would look at the charset when it has read the body, and refuse its size first. */
const isUtf8Declared = ({ headers }: Request) =>
  [...(headers['content-type'] ?? '').matchAll(/\bcharset\s*=\s*"?([^\s;"]*)/gi)].every(([, name = '']) =>
    utf8.test(name),
  )

/** Rejects when more has come than is worth waiting for; body-parser would read on to the end before it says so. */
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

function trimFields(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, typeof value === 'string' ? value.trim() : value]),
  )
}

/** body-parser tells its errors by `type` (https://github.com/expressjs/body-parser#errors), zlib's by none. */
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
      // The client went away, or what arrived is not as long or as compressed as it was said to be.
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
