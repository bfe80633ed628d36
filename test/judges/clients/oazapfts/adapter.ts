import { authorization, type Connect, camelCased, functionOf, inOrder } from '../calls.ts'
import * as api from './apps-api.ts'

/** Sends the judges' calls through oazapfts. test/judges/clients.judge.ts imports it. */
export const connect: Connect = (baseUrl, key) => {
  const options = { baseUrl, headers: authorization(key) }
  return async ({ operationId }, { query, header, ...args }) => {
    // One object holds both.
    const named = query || header ? camelCased({ ...query, ...header }) : undefined
    const { status, headers, data } = await functionOf(api, operationId)(
      ...inOrder({ ...args, query: named }),
      options,
    )
    return { status, headers, body: data }
  }
}
