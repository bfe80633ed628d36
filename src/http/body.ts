import { isUtf8 } from 'node:buffer'
import { finished } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Request, Response } from 'express'
import { type ErrorDetails, invalidRequest, ServiceError } from '../contract/errors.ts'
import { duplicateField, hasMoreTokensThan } from '../contract/validation.ts'
import { slowClientBytes } from './byte-budget.ts'

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

const options = { maxOutputLength: maxBytes }

/** By content coding (RFC 9110, section 8.4.1). */
const decoders = new Map<string, (body: Buffer) => Buffer | Promise<Buffer>>([
  ['identity', (body) => body],
  ['gzip', (body) => promisify(gunzip)(body, options)],
  ['deflate', (body) => promisify(inflate)(body, options)],
  ['br', (body) => promisify(brotliDecompress)(body, options)],
])

/**
 * Returns the JSON value of a request's body; undefined if there is no body. Throws `unsupported_media_type`,
 * `payload_too_large`, `malformed_json`, and `unavailable` if slow clients occupy too much memory.
 */
export async function readBody(request: Request, response: Response): Promise<unknown> {
  const { 'content-length': length, 'content-type': type, 'content-encoding': coding = 'identity' } = request.headers
  const isChunked = request.headers['transfer-encoding'] !== undefined
  if (!isChunked && !Number(length)) return undefined
  if (type === undefined || !request.is('application/json') || !isUtf8Declared(type))
    throw unsupportedMediaType('Send the body as application/json in UTF-8.')
  const decompress = decoders.get(coding.toLowerCase())
  if (!decompress)
    throw unsupportedMediaType(
      'The Content-Encoding is not supported; send the body uncompressed, or as gzip, deflate or br.',
    )
  if (Number(length) > maxDrainedBytes) throw stopReading(response, payloadTooLarge())
  // RFC 9110, section 10.1.1.
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
  const encoded = await receive(request, response, isChunked ? maxBytes : Math.min(Number(length), maxBytes))
  const body = await Promise.resolve(decompress(encoded)).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ERR_BUFFER_TOO_LARGE'
      ? payloadTooLarge()
      : malformed('The body does not match its Content-Encoding.')
  })
  return body.length === 0 ? undefined : parseJson(body)
}

/** A charset other than UTF-8 is refused: JSON has no other (RFC 8259, section 8.1). */
const isUtf8Declared = (contentType: string) =>
  [...contentType.matchAll(/\bcharset\s*=\s*"?([^\s;"]*)/gi)].every(([, name = '']) => /^utf-8$/i.test(name))

/** Receives a body of at most `size` bytes. Chunks are copied: Node needs some 200 bytes for each, even if it has one. */
async function receive(request: Request, response: Response, size: number): Promise<Buffer> {
  const body = Buffer.allocUnsafe(size)
  let length = 0
  const { promise: cancelled, reject: cancel } = Promise.withResolvers<never>()
  const release = slowClientBytes.hold(size, () => cancel(stopReading(response, overloaded())))
  const onData = (chunk: Buffer) => {
    chunk.copy(body, length)
    length += chunk.length
    if (length > maxDrainedBytes) cancel(stopReading(response, payloadTooLarge()))
  }
  request.on('data', onData)
  try {
    // Fails if the client disconnects; nobody reads that response.
    const received = finished(request).catch(() => {
      throw malformed('The body does not match its Content-Length.')
    })
    await Promise.race([received, cancelled])
  } finally {
    release()
    request.off('data', onData)
  }
  if (length > size) throw payloadTooLarge()
  return body.subarray(0, length)
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw malformed('The body is not valid UTF-8.')
  const json = new TextDecoder().decode(body)
  if (hasMoreTokensThan(json, maxTokens)) throw invalidRequest([tooManyTokens])
  const value = parse(json)
  const repeated = duplicateField(json)
  if (repeated) throw malformed('The body has a field twice; see data.errors.', { errors: [repeated] })
  return value
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw malformed('The body is not valid JSON.')
  }
}

/** The rest of the body is not read, so the connection closes. */
function stopReading(response: Response, error: ServiceError): ServiceError {
  response.set('Connection', 'close')
  return error
}

const malformed = (message: string, details?: ErrorDetails) => new ServiceError('malformed_json', message, details)
const payloadTooLarge = () => new ServiceError('payload_too_large', 'The body is over 256 KiB; send less.')
const unsupportedMediaType = (message: string) => new ServiceError('unsupported_media_type', message)
const overloaded = () =>
  new ServiceError('unavailable', 'Too many bodies arrive slowly; send this one again.', { isExpected: true })
