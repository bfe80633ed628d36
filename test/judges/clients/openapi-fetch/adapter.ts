import createClient from 'openapi-fetch'
import { authorization, type Connect, functionOf } from '../calls.ts'
import type { paths } from './apps-api.d.ts'

/** Sends the judges' calls through openapi-fetch. test/judges/clients.judge.ts imports it. */
export const connect: Connect = (baseUrl, key) => {
  const client = createClient<paths>({ baseUrl, headers: authorization(key) })
  return async ({ method, path }, { body, ...params }) => {
    const { data, error, response } = await functionOf(client, method)(path, { params, body })
    return { status: response.status, headers: response.headers, body: data ?? error }
  }
}
