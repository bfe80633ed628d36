import type { Connect } from '../contract.ts'
import { createClient } from './apps-api/client/index.js'
import { createApp, deleteApp, getApp, listApps, updateApp } from './apps-api/index.js'

export const connect: Connect = (baseUrl, key) => {
  const client = createClient({ baseUrl, auth: key })
  return {
    listApps: async (query) => answer(await listApps({ client, query })),
    createApp: async (body) => answer(await createApp({ client, body })),
    getApp: async (id) => answer(await getApp({ client, path: { id } })),
    updateApp: async (id, body, etag) =>
      answer(await updateApp({ client, path: { id }, body, headers: { 'If-Match': etag } })),
    deleteApp: async (id) => answer(await deleteApp({ client, path: { id } })),
  }
}

type Result<Data, Failure> = { data: Data | undefined; error: Failure | undefined; response?: Response }

function answer<Data, Failure>({ data, error, response }: Result<Data, Failure>) {
  if (response === undefined) throw error
  return { status: response.status, headers: response.headers, body: data ?? error }
}
