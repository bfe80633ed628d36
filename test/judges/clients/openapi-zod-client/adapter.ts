import { isErrorFromAlias } from '@zodios/core'
import { isAxiosError } from 'axios'
import type { Connect } from '../contract.ts'
import { createApiClient } from './apps-api.ts'

/** zod holds each answer against the document, an error too; one that it refuses is thrown on. */
export const connect: Connect = (baseUrl, key) => {
  const api = createApiClient(baseUrl, {
    // Else it is zod that refuses a bad request, and the service is not asked.
    validate: 'response',
    axiosConfig: { headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } },
  })
  // The client gives bodies alone: what else an answer has is seen beneath it.
  let seen = { status: 0, headers: new Headers() }
  api.axios.interceptors.response.use((response) => {
    seen = { status: response.status, headers: headersOf(response.headers) }
    return response
  })
  type Alias = Parameters<typeof isErrorFromAlias<typeof api.api, 'listApps'>>[1]

  async function answer<Body>(alias: string, call: Promise<Body>) {
    try {
      return { body: await call, ...seen }
    } catch (error) {
      // Its types know one alias at a time.
      if (!isErrorFromAlias(api.api, alias as Alias, error) || !isAxiosError(error) || !error.response) throw error
      const { status, headers, data } = error.response
      return { status, headers: headersOf(headers), body: data as Body }
    }
  }
  return {
    listApps: (queries) => answer('listApps', api.listApps({ queries })),
    createApp: (app) => answer('createApp', api.createApp(app)),
    getApp: (id) => answer('getApp', api.getApp({ params: { id } })),
    updateApp: (id, changes, etag) =>
      answer('updateApp', api.updateApp(changes, { params: { id }, headers: { 'If-Match': etag } })),
    deleteApp: (id) => answer('deleteApp', api.deleteApp(undefined, { params: { id } })),
  }
}

const headersOf = (headers: object) =>
  new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]))
