import type { Connect } from '../contract.ts'
import { createApp, deleteApp, getApp, listApps, updateApp } from './apps-api.ts'

export const connect: Connect = (baseUrl, key) => {
  process.env.APPS_URL = baseUrl
  const options = key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } }
  return {
    listApps: async (query) => answer(await listApps(query, {}, options)),
    createApp: async (app) => answer(await createApp(app, options)),
    getApp: async (id) => answer(await getApp(id, {}, options)),
    updateApp: async (id, changes, etag) => answer(await updateApp(id, changes, { 'If-Match': etag }, options)),
    deleteApp: async (id) => answer(await deleteApp(id, {}, options)),
  }
}

function answer<T extends { status: number; headers: Headers; data: unknown }>({ status, headers, data }: T) {
  // orval says void where a 304 has no body.
  return { status, headers, body: data as Exclude<T['data'], void> | undefined }
}
