import { expect, test } from 'vitest'
import type { ErrorCode } from '../../src/contract/contract.ts'
import { type ErrorDetails, OperatorError, ServiceError } from '../../src/contract/errors.ts'
import { toErrorResponse } from '../../src/http/error-response.ts'

const problem = { in: 'body' as const, field: 'name', message: 'must not be empty' }
const tools = { id: 1, slug: 'tools', name: 'Tools' }

test.for<{ name: string; thrown: unknown }>([
  { name: 'an unexpected error', thrown: new Error('secret') },
  { name: 'an OperatorError', thrown: new OperatorError('there is no developer "secret"') },
  { name: 'a thrown string', thrown: 'secret' },
])('$name becomes an internal error without details', ({ thrown }) => {
  const answer = toErrorResponse(thrown)
  const message = 'Internal error; if it persists, report the X-Request-Id of this response.'
  expect(answer).toMatchObject({
    status: 500,
    body: { success: false, message, data: { code: 'internal_error' } },
  })
  expect(JSON.stringify(answer)).not.toContain('secret')
})

test.for<{
  code: ErrorCode
  details: ErrorDetails
  headers: Record<string, string>
  data?: object
}>([
  { code: 'unavailable', details: {}, headers: { 'Retry-After': '5' } },
  { code: 'rate_limited', details: { retryAfter: 17 }, headers: { 'Retry-After': '17' } },
  {
    code: 'method_not_allowed',
    details: { allow: ['GET', 'HEAD'] },
    headers: { Allow: 'GET, HEAD' },
  },
  { code: 'unauthorized', details: {}, headers: { 'WWW-Authenticate': 'Bearer realm="apps"' } },
  {
    code: 'unauthorized',
    details: { refusedKey: true },
    headers: {
      'WWW-Authenticate':
        'Bearer realm="apps", error="invalid_token", error_description="The key ...Ada... is ...good... no more; ask."',
    },
  },
  { code: 'not_found', details: { retryAfter: 17, allow: ['GET'] }, headers: {} },
  {
    code: 'invalid_request',
    details: { errors: [problem] },
    headers: {},
    data: { errors: [problem] },
  },
  { code: 'malformed_json', details: {}, headers: {} },
  {
    code: 'package_name_taken',
    details: { errors: [problem] },
    headers: {},
    data: { errors: [problem] },
  },
  {
    code: 'package_name_taken',
    details: { errors: [problem], appId: 7 },
    headers: {},
    data: { errors: [problem], app_id: 7 },
  },
  {
    code: 'idempotency_key_reused',
    details: { errors: [problem], categories: [tools] },
    headers: {},
    data: { errors: [problem] },
  },
  {
    code: 'unknown_category',
    details: { errors: [problem], categories: [tools] },
    headers: {},
    data: { errors: [problem], categories: [tools] },
  },
  { code: 'forbidden', details: { errors: [problem], categories: [tools] }, headers: {} },
])('$code with $details has these headers and data', ({ code, details, headers, data }) => {
  const message = 'The key "Ada" is “good” no more; ask.'
  const answer = toErrorResponse(new ServiceError(code, message, details))
  expect(answer.headers).toEqual({ 'Cache-Control': 'no-store', ...headers })
  expect(answer.body).toEqual({ success: false, message, data: { code, ...data } })
})

test('the response does not contain the cause', () => {
  const error = new ServiceError('unavailable', 'Try again.', {}, { cause: new Error('secret') })
  expect(JSON.stringify(toErrorResponse(error))).not.toContain('secret')
})
