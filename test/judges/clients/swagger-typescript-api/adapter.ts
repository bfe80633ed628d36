import { authorization, type Connect, groupedFunctionOf, inOrder } from '../calls.ts'
import { Api } from './apps-api.ts'

/**
 * Sends the judges' calls through swagger-typescript-api. test/judges/clients.judge.ts imports it.
 */
export const connect: Connect = (baseUrl, key) => {
  const api = new Api({ baseUrl, baseApiParams: { headers: authorization(key) } })
  return async ({ operationId }, { header, ...args }) => {
    const options = { headers: header }
    const { ok, status, headers, data, error } = await groupedFunctionOf(api, operationId)(
      ...inOrder(args),
      options,
    )
    return { status, headers, body: ok ? data : error }
  }
}
