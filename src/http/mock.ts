import type { Operation } from 'openapi-backend'
import { commonHeaders } from '../contract/contract.ts'
import { invalidRequest } from '../contract/errors.ts'
import { etagOf } from '../contract/response.ts'
import type { ServiceBackend } from './api.ts'

/** The base URL in the document's examples. */
const exampleBase = 'https://apps.example.org'

/** Answers valid requests with the document's examples, and takes any key. It has no state. */
export const mock = (baseUrl: string): ServiceBackend => ({
  authenticate: async () => ({ developerId: 1, keyId: 'mock' }),
  assertReady: async () => {},
  async handle({ api, operation, request }) {
    const { prefer = '' } = request.headers
    const { operationId = '' } = operation
    const responses = responsesOf(operation)
    const code = preferredValue('code', prefer, Object.keys(responses))
    const { status } = api.mockResponseForOperation(operationId, code ? { code: Number(code) } : {})
    const { headers = {}, content } = responses[status] ?? {}
    const example = preferredValue('example', prefer, Object.keys(content?.['application/json'].examples ?? {}))
    const options = { code: status, ...(example && { example }) }
    const body = content && api.mockResponseForOperation(operationId, options).mock
    // The tag of this example: another example has the same URL.
    const json = body && JSON.stringify(body.data)
    const tag = body && 'ETag' in headers ? { ETag: etagOf(json) } : {}
    return { status, headers: { ...exampleHeaders(headers, baseUrl), ...tag }, body: body && { ...body, json } }
  },
})

/** The value of the first preference with the name (RFC 7240, section 2). Throws `invalid_request` if it is not among `values`. */
function preferredValue(name: 'code' | 'example', header: string | string[], values: string[]): string | undefined {
  const value = new RegExp(`(?:^|,)\\s*${name}\\s*=\\s*"?([^\\s",;]*)`, 'i').exec(String(header))?.[1]
  if (value === undefined || values.includes(value)) return value
  const choice = values.length > 0 ? `be one of ${values.join(', ')}` : 'be left out: this answer has no named examples'
  throw invalidRequest([{ in: 'header', field: 'Prefer', message: `${name} must ${choice}` }])
}

type HeaderObjects = Record<string, { required?: boolean; example?: string | number }>
type ResponseObject = { headers?: HeaderObjects; content?: { 'application/json': { examples?: object } } }

// The document's references are resolved when openapi-backend has loaded it; its type does not know.
const responsesOf = ({ responses }: Operation) => responses as Record<string, ResponseObject>

function exampleHeaders(headers: HeaderObjects, baseUrl: string) {
  const own = Object.entries(headers).filter(
    ([name, { required }]) => required && !commonHeaders.some((common) => common === name),
  )
  return Object.fromEntries(own.map(([name, { example }]) => [name, String(example).replaceAll(exampleBase, baseUrl)]))
}
