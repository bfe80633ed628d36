import type { Connect } from '../contract.ts'
import { ApiError, AppsApi } from './apps-api/index.ts'

/** The client gives bodies alone: what else an answer has is seen beneath it. */
let seen = Response.error()
const { fetch } = globalThis
globalThis.fetch = async (...request) => {
  seen = await fetch(...request)
  return seen
}

export const connect: Connect = (baseUrl, key) => {
  const { catalogue, publishing } = new AppsApi({ BASE: baseUrl, ...(key !== undefined && { TOKEN: key }) })
  return {
    listApps: (query) => answer(catalogue.listApps(query)),
    createApp: (requestBody) => answer(publishing.createApp({ requestBody })),
    getApp: (id) => answer(catalogue.getApp({ id })),
    updateApp: (id, requestBody, ifMatch) => answer(publishing.updateApp({ id, requestBody, ifMatch })),
    deleteApp: (id) => answer(publishing.deleteApp({ id })),
  }
}

async function answer<Body extends { success: boolean }>(call: PromiseLike<Body>) {
  const body = await Promise.resolve(call).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    // The client types it as any.
    return error.body as Body
  })
  // Of true and false alone it makes a boolean.
  return { status: seen.status, headers: seen.headers, body: body as Body & { success: true } }
}
