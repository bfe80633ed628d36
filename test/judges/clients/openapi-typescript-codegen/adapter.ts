import { type Connect, camelCased, groupedFunctionOf } from '../calls.ts'
import { ApiError, AppsApi } from './apps-api/index.ts'

/** The client returns only bodies, so read the status and headers from fetch. */
let seen = Response.error()
const { fetch } = globalThis
globalThis.fetch = async (...request) => {
  seen = await fetch(...request)
  return seen
}

/** Sends the judges' calls through openapi-typescript-codegen. test/judges/clients.judge.ts imports it. */
export const connect: Connect = (baseUrl, key) => {
  const api = new AppsApi({ BASE: baseUrl, ...(key !== undefined && { TOKEN: key }) })
  return async ({ operationId }, { path, query, header, body }) => {
    const options = { ...path, ...query, ...camelCased(header), requestBody: body }
    const received = await groupedFunctionOf(api, operationId)(options).catch(bodyOf)
    return { status: seen.status, headers: seen.headers, body: received }
  }
}

/** The client throws on error statuses; the judges compare those bodies too. */
function bodyOf(error: unknown) {
  if (error instanceof ApiError) return error.body
  throw error
}
