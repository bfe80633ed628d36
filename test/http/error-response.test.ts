import { expect, test } from 'vitest'
import type { ErrorCode } from '../../src/contract/contract.ts'
import { type ErrorDetails, OperatorError, ServiceError } from '../../src/contract/errors.ts'
import { toErrorResponse } from '../../src/http/error-response.ts'

const problem = { in: 'body' as const, field: 'name', message: 'must not be empty' }
const tools = { id: 1, slug: 'tools', name: 'Tools' }

test.for<[what: string, thrown: unknown]>([
  ['an unexpected error', new Error('secret')],
  ['an OperatorError', new OperatorError('there is no developer "secret"')],
  ['a thrown string', 'secret'],
])('%s becomes an internal error without details', ([, thrown]) => {
  const answer = toErrorResponse(thrown)
  const message = 'Internal error; if it persists, report the X-Request-Id of this response.'
  expect(answer).toMatchObject({
    status: 500,
    body: { success: false, message, data: { code: 'internal_error' } },
  })
  expect(JSON.stringify(answer)).not.toContain('secret')
})

test.for<[code: ErrorCode, details: ErrorDetails, headers: Record<string, string>, data?: object]>([
  ['unavailable', {}, { 'Retry-After': '5' }],
  ['rate_limited', { retryAfter: 17 }, { 'Retry-After': '17' }],
  ['method_not_allowed', { allow: ['GET', 'HEAD'] }, { Allow: 'GET, HEAD' }],
  ['unauthorized', {}, { 'WWW-Authenticate': 'Bearer realm="apps"' }],
  [
    'unauthorized',
    { refusedKey: true },
    {
      'WWW-Authenticate':
        'Bearer realm="apps", error="invalid_token", error_description="The key ...Ada... is ...good... no more; ask."',
    },
  ],
  ['not_found', { retryAfter: 17, allow: ['GET'] }, {}],
  ['invalid_request', { errors: [problem] }, {}, { errors: [problem] }],
  ['malformed_json', {}, {}],
  ['package_name_taken', { errors: [problem] }, {}, { errors: [problem] }],
  ['package_name_taken', { errors: [problem], appId: 7 }, {}, { errors: [problem], app_id: 7 }],
  ['idempotency_key_reused', { errors: [problem], categories: [tools] }, {}, { errors: [problem] }],
  [
    'unknown_category',
    { errors: [problem], categories: [tools] },
    {},
    { errors: [problem], categories: [tools] },
  ],
  ['forbidden', { errors: [problem], categories: [tools] }, {}],
])('%s %j has these headers and data', ([code, details, headers, data]) => {
  const message = 'The key "Ada" is “good” no more; ask.'
  const answer = toErrorResponse(new ServiceError(code, message, details))
  expect(answer.headers).toEqual({ 'Cache-Control': 'no-store', ...headers })
  expect(answer.body).toEqual({ success: false, message, data: { code, ...data } })
})

test('the response does not contain the cause', () => {
  const error = new ServiceError('unavailable', 'Try again.', {}, { cause: new Error('secret') })
  expect(JSON.stringify(toErrorResponse(error))).not.toContain('secret')
})
