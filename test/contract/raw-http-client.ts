import { Agent, request as open } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { type CheckedResponse, check } from '../support/check.ts'
import type { Service } from '../support/service.ts'

/** Whose key a request brings: a developer's, one that is not accepted any more, or one that is none. */
export type Caller = 'ada' | 'bob' | 'expired' | 'revoked' | 'unknown'

/** A JSON object field by field, so that one may be there twice; any other JSON value; or bytes. */
export type Body = { fields: [name: string, value: unknown][] } | { value: unknown } | { bytes: Buffer }

/** A request as it goes over the wire, but for the key, which is another in every run. */
export type Request = {
  method: string
  /** Percent-encoded, the query with it. */
  target: string
  headers: [name: string, value: string][]
  caller?: Caller | undefined
  body?: Body | undefined
  /** How JSON is written: `escaped` where it can be, `padded` up to the largest body there may be. */
  spelling?: Spelling
}

export type Spelling = 'plain' | 'escaped' | 'indented' | 'padded'

export type Keys = Record<Caller, string>

/** 256 KiB, which is as large as a body may be. */
export const maxBodyBytes = 262_144

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Sends what no client library would, and holds the answer against the document. */
export async function send({ port }: Pick<Service, 'port'>, keys: Keys, request: Request): Promise<CheckedResponse> {
  const { method, target: path } = request
  const content = contentOf(request)
  const headers = [
    ...['Host', 'apps.test'],
    ...(request.caller ? ['Authorization', `Bearer ${keys[request.caller]}`] : []),
    // A body that is there and empty has no length that says so beforehand.
    ...(content?.length === 0 ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(content?.length ?? 0)]),
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
    // Not every one, so that a field may be there twice in two spellings.
    const written = spelling === 'escaped' && index % 2 === 1 ? `"${name.replace(/[^\0]|\0/g, escaped)}"` : write(name)
    return `${written}:${write(value)}`
  })
  const content = Buffer.from(`{${fields.join(', ')}}`)
  const space = spelling === 'padded' ? Math.max(0, maxBodyBytes - content.length) : 0
  return Buffer.concat([content, Buffer.alloc(space, ' ')])
}

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** For the report of a failure. */
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

/** Has fast-check print a request so. */
export const printAsCurl = <T extends Request>(request: T): T =>
  Object.assign(request, { [fc.toStringMethod]: () => curl(request) })
