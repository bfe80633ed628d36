import type { Connect } from '../contract.ts'
import { createApp, deleteApp, getApp, listApps, updateApp } from './apps-api.ts'

export const connect: Connect = (baseUrl, key) => {
  const options = { baseUrl, headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } }
  return {
    listApps: async (query) => answer(await listApps(query, options)),
    createApp: async (app) => answer(await createApp(app, options)),
    getApp: async (id) => answer(await getApp(id, {}, options)),
    updateApp: async (id, changes, etag) => answer(await updateApp(id, changes, { ifMatch: etag }, options)),
    deleteApp: async (id) => answer(await deleteApp(id, {}, options)),
  }
}

function answer<T extends { status: number; headers: Headers; data?: unknown }>({ status, headers, data }: T) {
  return { status, headers, body: data as T extends { data: infer Body } ? Body : undefined }
}
