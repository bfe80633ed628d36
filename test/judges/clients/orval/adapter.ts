import { authorization, type Connect, functionOf, inOrder } from '../calls.ts'
import * as api from './apps-api.ts'

/**
 * Lets clients.judge.ts call the client that orval generates, apps-api.ts. The client reads its
 * base URL from APPS_URL, as docs/clients.md says.
 */
export const connect: Connect = (baseUrl, key) => {
  process.env.APPS_URL = baseUrl
  return async ({ operationId }, args) => {
    const options = { headers: authorization(key) }
    const { status, headers, data } = await functionOf(api, operationId)(...inOrder(args), options)
    return { status, headers, body: data }
  }
}
