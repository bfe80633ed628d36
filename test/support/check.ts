import { expect, inject } from 'vitest'
import { type HttpResponse, ResponseChecker } from '../contract/checker.ts'
import { recordSeen } from '../contract/coverage.ts'

export type RequestOptions = {
  key?: string
  headers?: Record<string, string>
  /** Sent as JSON. */
  json?: unknown
  /** Sent unchanged. */
  body?: string | Buffer
}
/** A body. Its type is any because the checker has validated it against the document. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Body = any
export type CheckedResponse = HttpResponse & { body: Body }

const checker = new ResponseChecker()

/** Checks a response against the document. Every response of every test passes through here. */
export function check(response: HttpResponse): CheckedResponse {
  const path = response.path.split('?', 1).join()
  const { problems, covers } = checker.check({ ...response, path })
  expect(problems, `${response.method} ${response.path}\n${response.text.slice(0, 1000)}`).toEqual(
    [],
  )
  recordSeen(inject('coverage').file, covers)
  const isJson = String(response.headers['content-type']).startsWith('application/json')
  return {
    ...response,
    body: isJson && response.text !== '' ? JSON.parse(response.text) : undefined,
  }
}

/** Compares statuses. A failure names each request, with the beginning of its response. */
export function expectStatuses(responses: HttpResponse[], expected: number[]) {
  const described = responses.map(
    ({ method, path, status, text }) => `${method} ${path}: ${status} ${text.slice(0, 200)}`,
  )
  expect(
    responses.map(({ status }) => status),
    described.join('\n'),
  ).toEqual(expected)
}
