import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { startService } from '../support/service.ts'

type ResponseObject = { $ref?: string; headers?: Record<string, unknown> }
const responses: Record<string, ResponseObject> = document.components.responses

/**
 * Headers that pages can read anyway (Fetch, "CORS-safelisted response-header name"), or that reads
 * never have.
 */
const notExposed = ['Cache-Control', 'Access-Control-Allow-Origin', 'Vary', 'Allow']

test('pages can read each response header that the document declares for reads', async () => {
  const service = await startService()
  const { headers } = await service.get('/apps', { headers: { Origin: 'https://shop.example' } })
  const answers: ResponseObject[] = Object.values(document.paths)
    .flatMap(({ get }) => Object.values<ResponseObject>(get.responses))
    .map((response) =>
      response.$ref === undefined
        ? response
        : (responses[response.$ref.split('/').at(-1) ?? ''] ?? {}),
    )
  const declared = new Set(answers.flatMap((answer) => Object.keys(answer.headers ?? {})))
  for (const name of notExposed) declared.delete(name)
  expect(String(headers['access-control-expose-headers']).split(',').toSorted()).toEqual(
    [...declared].toSorted(),
  )
})

/**
 * Headers that tracing adds to the requests of pages: https://www.w3.org/TR/trace-context/,
 * https://www.w3.org/TR/baggage/.
 */
const tracing = ['traceparent', 'tracestate', 'baggage', 'sentry-trace']

test('pages can send each header that the document declares for reads, a key, and tracing headers', async () => {
  const service = await startService()
  const { headers } = await service.request('OPTIONS', '/apps', {
    headers: { Origin: 'https://shop.example' },
  })
  const parameters: Record<string, { in: string; name: string }> = document.components.parameters
  const declared = Object.values(document.paths)
    .flatMap(({ get }) => get.parameters)
    .map(({ $ref }) => parameters[$ref.split('/').at(-1) ?? ''])
    .flatMap((parameter) => (parameter?.in === 'header' ? [parameter.name] : []))
  const wanted = new Set([...declared, 'Authorization', 'X-Request-Id', ...tracing])
  expect(headers['access-control-allow-methods']).toBe('GET,HEAD')
  // For a day, in seconds.
  expect(headers['access-control-max-age']).toBe('86400')
  expect(String(headers['access-control-allow-headers']).split(',').toSorted()).toEqual(
    [...wanted].toSorted(),
  )
})
