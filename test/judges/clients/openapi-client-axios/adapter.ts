import { isAxiosError } from 'axios'
import { OpenAPIClientAxios } from 'openapi-client-axios'
import { authorization, type Connect, functionOf } from '../calls.ts'

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

function responseOf(error: unknown) {
  if (isAxiosError(error) && error.response) return error.response
  throw error
}
