import type { Connect } from '../contract.ts'
import { Api, type Apps, type HttpResponse } from './apps-api.ts'

export const connect: Connect = (baseUrl, key) => {
  const { apps } = new Api({
    baseUrl,
    baseApiParams: { headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } },
  })
  return {
    listApps: async (query) => answer(await apps.listApps(query)),
    createApp: async (app) => answer(await apps.createApp(app)),
    getApp: async (id) => answer(await apps.getApp(id)),
    updateApp: async (id, changes, etag) => {
      const headers = { 'If-Match': etag } satisfies Apps.UpdateApp.RequestHeaders
      return answer(await apps.updateApp(id, changes, { headers }))
    },
    deleteApp: async (id) => answer(await apps.deleteApp(id)),
  }
}

function answer<Data, Failure>({ ok, status, headers, data, error }: HttpResponse<Data, Failure>) {
  return { status, headers, body: ok ? data : error }
}
