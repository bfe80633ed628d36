import { expect, test } from 'vitest'
import { startService } from '../support/service.ts'

test.for<[accept: string, isAnswered: boolean]>([
  ['application/json', true],
  ['Application/JSON; Charset=UTF-8', true],
  ['application/*', true],
  ['*/*', true],
  ['text/html, application/json;q=0.1', true],
  ['text/html, */*;q=0.1', true],
  ['text/html', false],
  ['application/xml, text/*', false],
  ['application/json;q=0', false],
  ['application/json; Q=0.000', false],
  ['application/json;q=0, */*', false],
  ['*/*, application/*;q=0.0', false],
  ['*/*;q=0', false],
  ['*/*;q=0, application/*', true],
])('Accept: %s', async ([accept, isAnswered]) => {
  const service = await startService()
  const { status } = await service.get('/apps', { headers: { Accept: accept } })
  expect(status).toBe(isAnswered ? 200 : 406)
})
