import { expect, inject } from 'vitest'
import { type HttpResponse, ResponseChecker } from '../contract/checker.ts'
import { recordSeen } from '../contract/coverage.ts'

export type RequestOptions = {
  key?: string
  headers?: Record<string, string>
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is. */
  body?: string | Buffer
}
/** Envelope fields are typed as any: the checker has held them against the document. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Body = any
export type CheckedResponse = HttpResponse & { body: Body }

const checker = new ResponseChecker()

/** Holds an answer against the document; every answer of every test comes through here. */
export function check(answer: HttpResponse): CheckedResponse {
  const path = answer.path.split('?', 1).join()
  const { problems, covers } = checker.check({ ...answer, path })
  expect(problems, `${answer.method} ${answer.path}\n${answer.text.slice(0, 1000)}`).toEqual([])
  recordSeen(inject('coverage').file, covers)
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return { ...answer, body: isJson && answer.text !== '' ? JSON.parse(answer.text) : undefined }
}
