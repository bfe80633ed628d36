import { expect, test } from 'vitest'
import { Refusal, ServiceError } from '../../src/errors.ts'
import { errorAnswer } from '../../src/http/answer.ts'

test.for<[what: string, thrown: unknown]>([
  ['an error that nobody threw on purpose', new Error('secret')],
  ['what an operator is refused', new Refusal('there is no developer "secret"')],
  ['what is no error at all', 'secret'],
])('%s is an internal error that tells nothing of itself', ([, thrown]) => {
  const answer = errorAnswer(thrown)
  expect(answer).toMatchObject({ status: 500, body: { success: false, data: { code: 'internal_error' } } })
  expect(JSON.stringify(answer)).not.toContain('secret')
})

test('a cause stays out of the answer', () => {
  const error = new ServiceError('unavailable', 'Try again.', {}, { cause: new Error('secret') })
  expect(JSON.stringify(errorAnswer(error))).not.toContain('secret')
})
