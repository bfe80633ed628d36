import { isAxiosError } from 'axios'
import { OpenAPIClientAxios } from 'openapi-client-axios'
import { authorization, type Connect, functionOf } from '../calls.ts'

/**
 * Sends the judges' calls through openapi-client-axios. test/judges/clients.judge.ts imports it.
 */
export const connect: Connect = async (baseUrl, key) => {
  const client = await new OpenAPIClientAxios({
    definition: `${baseUrl}/openapi.json`,
    withServer: { url: baseUrl },
    axiosConfigDefaults: { headers: authorization(key) },
  }).getClient()
  return async ({ operationId }, { path, query, header, body }) => {
    const call = functionOf(client, operationId)({ ...path, ...query, ...header }, body)
    const { status, headers, data } = await call.catch(responseOf)
    return { status, headers: new Headers(Object.entries(headers)), body: data }
  }
}

/** axios throws on error statuses; the judges compare those responses too. */
function responseOf(error: unknown) {
  if (isAxiosError(error) && error.response) return error.response
  throw error
}
