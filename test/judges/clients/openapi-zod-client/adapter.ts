import { isErrorFromAlias } from '@zodios/core'
import { isAxiosError } from 'axios'
import { authorization, type Connect, functionOf } from '../calls.ts'
import { createApiClient } from './apps-api.ts'

/**
 * Sends the judges' calls through openapi-zod-client. test/judges/clients.judge.ts imports it. zod validates each response against
 * the document, errors too; responses that it refuses are thrown.
 */
export const connect: Connect = (baseUrl, key) => {
  const api = createApiClient(baseUrl, {
    // Otherwise zod refuses a bad request, and the service never sees it.
    validate: 'response',
    axiosConfig: { headers: authorization(key) },
  })
  // The client returns only bodies, so read the status and headers from axios.
  let seen = { status: 0, headers: new Headers() }
  api.axios.interceptors.response.use((response) => {
    seen = { status: response.status, headers: headersOf(response.headers) }
    return response
  })
  // Its types know one alias at a time.
  type Alias = Parameters<typeof isErrorFromAlias<typeof api.api, 'listApps'>>[1]

  return async ({ operationId, method }, { path, query, header, body }) => {
    const options = { params: path, queries: query, headers: header }
    try {
      const args = method === 'GET' ? [options] : [body, options]
      return { body: await functionOf(api, operationId)(...args), ...seen }
    } catch (error) {
      const isDeclared = isErrorFromAlias(api.api, operationId as Alias, error)
      if (!isDeclared || !isAxiosError(error) || !error.response) throw error
      const { status, headers, data } = error.response
      return { status, headers: headersOf(headers), body: data }
    }
  }
}

const headersOf = (headers: object) =>
  new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]))
