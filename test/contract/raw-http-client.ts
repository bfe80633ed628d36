import { Agent, request as open } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { type CheckedResponse, check } from '../support/check.ts'
import type { Service } from '../support/service.ts'

/** The key that a request sends: a developer's, an expired or revoked one, or an unknown one. */
export type Caller = 'ada' | 'bob' | 'expired' | 'revoked' | 'unknown'

/**
 * A JSON object as a list of fields, so that one can be repeated; any other JSON value; or bytes.
 */
export type Body =
  | { fields: [name: string, value: unknown][] }
  | { value: unknown }
  | { bytes: Buffer }

/** A request as sent, except for the key, which differs in each run. */
export type Request = {
  method: string
  /** Percent-encoded, with the query. */
  target: string
  headers: [name: string, value: string][]
  caller?: Caller | undefined
  body?: Body | undefined
  /** How JSON is written: with all characters `escaped`, or `padded` to the maximum size. */
  spelling?: Spelling
}

export type Spelling = 'plain' | 'escaped' | 'indented' | 'padded'

export type Keys = Record<Caller, string>

/** The maximum size of a body: 256 KiB. */
export const maxBodyBytes = 262_144

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Sends requests that no client library would, and checks the responses against the document. */
export async function send(
  { port }: Pick<Service, 'port'>,
  keys: Keys,
  request: Request,
): Promise<CheckedResponse> {
  const { method, target: path } = request
  const content = contentOf(request)
  const headers = [
    ...['Host', 'apps.test'],
    ...(request.caller ? ['Authorization', `Bearer ${keys[request.caller]}`] : []),
    // An empty body is sent in chunks, without Content-Length.
    ...(content?.length === 0
      ? ['Transfer-Encoding', 'chunked']
      : ['Content-Length', String(content?.length ?? 0)]),
    ...request.headers.flat(),
  ]
  const { promise, resolve, reject } = Promise.withResolvers<CheckedResponse>()
  open({ agent, host: '127.0.0.1', port, method, path, headers }, async (response) => {
    const { statusCode: status = 0, headers: received } = response
    try {
      resolve(check({ method, path, status, headers: received, text: await text(response) }))
    } catch (error) {
      reject(error)
    }
  })
    .on('error', reject)
    .end(content)
  return promise
}

export function contentOf({ body, spelling = 'plain' }: Request): Buffer | undefined {
  if (!body) return undefined
  if ('bytes' in body) return body.bytes
  const write = (value: unknown) => {
    const json = JSON.stringify(value, undefined, spelling === 'indented' ? ' \r\n\t' : undefined)
    return spelling === 'escaped' ? json.replace(/[^\0-\x7e]/g, escaped) : json
  }
  if ('value' in body) return Buffer.from(write(body.value))
  const fields = body.fields.map(([name, value], index) => {
    // Only some, so that a repeated field can have two spellings.
    const written =
      spelling === 'escaped' && index % 2 === 1
        ? `"${name.replace(/[^\0]|\0/g, escaped)}"`
        : write(name)
    return `${written}:${write(value)}`
  })
  const content = Buffer.from(`{${fields.join(', ')}}`)
  const space = spelling === 'padded' ? Math.max(0, maxBodyBytes - content.length) : 0
  return Buffer.concat([content, Buffer.alloc(space, ' ')])
}

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The curl command that reproduces a request. */
export function curl(request: Request): string {
  const { method, target, headers, caller } = request
  const content = contentOf(request)
  const quoted = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`
  return [
    `curl -X ${method} ${quoted(`$B${target}`)}`,
    ...(caller ? [`-H 'Authorization: Bearer (key: ${caller})'`] : []),
    ...headers.map((header) => `-H ${quoted(header.join(': '))}`),
    ...(content ? [`--data-binary ${quoted(shown(content))}`] : []),
  ].join(' ')
}

function shown(content: Buffer): string {
  const value = content.toString().trimEnd()
  return value.length <= 2000 ? value : `${value.slice(0, 2000)}… (${content.length} bytes)`
}

/** Makes fast-check print a request this way. */
export const printAsCurl = <T extends Request>(request: T): T =>
  Object.assign(request, { [fc.toStringMethod]: () => curl(request) })
