import { type Connect, functionOf } from '../calls.ts'
import { createClient } from './apps-api/client/index.js'
import * as api from './apps-api/index.js'

/** Sends the judges' calls through hey-api. test/judges/clients.judge.ts imports it. */
export const connect: Connect = (baseUrl, key) => {
  const client = createClient({ baseUrl, auth: key })
  return async ({ operationId }, { header, ...args }) => {
    const { data, error, response } = await functionOf(
      api,
      operationId,
    )({ client, ...args, headers: header })
    if (response === undefined) throw error
    return { status: response.status, headers: response.headers, body: data ?? error }
  }
}
