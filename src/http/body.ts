import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Request, Response } from 'express'
import { type ErrorDetails, ServiceError } from '../contract/errors.ts'
import {
  describeSyntaxError,
  findRepeatedField,
  hasMoreTokensThan,
  positionAfter,
} from '../contract/json-text.ts'
import { bodyIsLate, clientBuffers } from './connections.ts'
import { invalidRequest, nameOf } from './invalid-request.ts'

/** Bytes. */
export const maxBytes = 256 * 1024
/**
 * A body that is too large is read up to here, so that the client gets the response; beyond, the
 * connection is cut.
 */
const maxDrainedBytes = 16 * maxBytes

/**
 * No valid body has forty. Describing the problems of a body with very many would block the event
 * loop.
 */
const maxTokens = 1000

/**
 * Receives a request's body. Begins at once and copies the chunks: Node needs some 200 bytes for
 * each chunk that waits, even if it has one byte. Rejects with `payload_too_large`,
 * `malformed_json`, `request_timeout`, and `unavailable` if it takes longest while slow clients
 * occupy too much memory. What arrives after the response is discarded.
 */
export function receiveBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? maxBytes)
  const body = Buffer.allocUnsafeSlow(Math.min(announced, maxBytes))
  let length = 0
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  // Not every request needs its body.
  promise.catch(() => {})
  const free = () => {
    clientBuffers.delete(request)
    // Now, not at the next garbage collection.
    if (!body.buffer.detached) body.buffer.transfer(0)
  }
  const stop = (error: ServiceError) => {
    // The rest of the body is not read, so the connection closes.
    response.shouldKeepAlive = false
    request.off('data', onData)
    free()
    reject(error)
  }
  const onData = (chunk: Buffer) => {
    chunk.copy(body, length)
    length += chunk.length
    if (length > maxDrainedBytes) stop(payloadTooLarge())
  }
  clientBuffers.set(request, () => stop(tooSlow()), { size: body.length })
  request.once(bodyIsLate, () => stop(timedOut()))
  request.on('data', onData)
  // After the response, Node does not tell the request that its client has disconnected.
  response.once('close', () => {
    if (!request.complete) free()
  })
  finished(request, (error) => {
    clientBuffers.delete(request)
    // Nobody reads the response to a client that has disconnected.
    if (error) reject(malformed('The body does not match its Content-Length.'))
    else if (body.buffer.detached) return
    else if (length > body.length) reject(payloadTooLarge())
    else resolve(body.subarray(0, length))
  })
  if (announced > maxDrainedBytes) stop(payloadTooLarge())
  return promise
}

/**
 * Returns the object or array in a request's body; undefined if there is no body. Any other JSON
 * value is returned as text, which openapi-backend parses: it would take a string for JSON. Throws
 * what `readBytes` throws, and `malformed_json`.
 */
export async function readBody(request: Request, response: Response): Promise<unknown> {
  const body = await readBytes(request, response, 'application/json')
  return body.length === 0 ? undefined : parseJson(body)
}

/**
 * Returns the bytes of a request's body; none if there is no body. Throws as `receiveBody` rejects,
 * and `unsupported_media_type` unless the body has this type, is in UTF-8 and not encoded.
 */
export async function readBytes(
  request: Request,
  response: Response,
  mediaType: string,
): Promise<Buffer> {
  const { 'content-type': type, 'content-encoding': coding = 'identity' } = request.headers
  const received = response.context.body
  if (!received) return Buffer.alloc(0)
  if (type === undefined || !request.is(mediaType) || !isUtf8Declared(type))
    throw unsupportedMediaType(`Send the body as ${mediaType} in UTF-8.`)
  if (!isUnencoded(coding))
    throw unsupportedMediaType(
      'The Content-Encoding is not supported; send the body uncompressed.',
      { refusedCoding: true },
    )
  return received
}

/** The header is a list, whose elements may be empty (RFC 9110, section 5.6.1.2). */
const isUnencoded = (contentEncoding: string) =>
  contentEncoding.split(',').every((coding) => /^(?:identity)?$/i.test(coding.trim()))

/** A charset other than UTF-8 is refused: JSON has no other (RFC 8259, section 8.1). */
const isUtf8Declared = (contentType: string) =>
  [...contentType.matchAll(/\bcharset\s*=\s*"?([^\s;"]*)/gi)].every(([, label = '']) =>
    isUtf8Label(label),
  )

/**
 * Clients write UTF-8 in several ways, such as `utf8`: all of
 * https://encoding.spec.whatwg.org/#names-and-labels.
 */
function isUtf8Label(label: string): boolean {
  try {
    return new TextDecoder(label).encoding === 'utf-8'
  } catch {
    return false
  }
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body))
    throw malformed(`The body is not valid UTF-8 at ${positionAfter(validStart(body))}.`)
  const json = new TextDecoder().decode(body)
  if (hasMoreTokensThan(json, maxTokens))
    throw invalidRequest([
      { in: 'body', field: '', message: `must have at most ${maxTokens} JSON tokens` },
    ])
  const value = parse(json)
  const repeated = findRepeatedField(json)
  if (!repeated) return typeof value === 'object' ? value : json
  const position = positionAfter(json.slice(0, repeated.index))
  throw malformed(`The body repeats the field ${nameOf(repeated.problem)} at ${position}.`, {
    errors: [repeated.problem],
  })
}

/** The text before the first bytes that are not UTF-8. */
function validStart(body: Buffer): string {
  const replaced = Buffer.from(body.toString())
  const end = replaced.findIndex((byte, index) => byte !== body[index])
  // As a stream, so that an incomplete character at the end is left out.
  return new TextDecoder().decode(body.subarray(0, end), { stream: true })
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw malformed(`The body ${describeSyntaxError(json)}.`)
  }
}

const malformed = (message: string, details?: ErrorDetails) =>
  new ServiceError('malformed_json', message, details)
const payloadTooLarge = () =>
  new ServiceError('payload_too_large', 'The body is over 256 KiB; send less.')
const unsupportedMediaType = (message: string, details?: ErrorDetails) =>
  new ServiceError('unsupported_media_type', message, details)
const timedOut = () =>
  new ServiceError('request_timeout', 'The body took too long to arrive; send it again.')
const tooSlow = () =>
  new ServiceError('unavailable', 'Too many bodies arrive slowly; send this one again.', {
    isExpected: true,
  })
