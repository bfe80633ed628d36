import createClient from 'openapi-fetch'
import type { Connect } from '../contract.ts'
import type { paths } from './apps-api.d.ts'

export const connect: Connect = (baseUrl, key) => {
  const client = createClient<paths>({ baseUrl, headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } })
  return {
    listApps: async (query) => answer(await client.GET('/apps', { params: { query } })),
    createApp: async (body) => answer(await client.POST('/apps', { body })),
    getApp: async (id) => answer(await client.GET('/apps/{id}', { params: { path: { id } } })),
    updateApp: async (id, body, etag) =>
      answer(await client.PUT('/apps/{id}', { params: { path: { id }, header: { 'If-Match': etag } }, body })),
    deleteApp: async (id) => answer(await client.DELETE('/apps/{id}', { params: { path: { id } } })),
  }
}

type Result<Data, Failure> =
  | { data: Data; error?: never; response: Response }
  | { data?: never; error: Failure; response: Response }

function answer<Data, Failure>({ data, error, response }: Result<Data, Failure>) {
  return { status: response.status, headers: response.headers, body: data ?? error }
}
