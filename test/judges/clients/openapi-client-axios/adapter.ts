import { type AxiosError, type AxiosResponse, isAxiosError } from 'axios'
import { OpenAPIClientAxios } from 'openapi-client-axios'
import type { Connect } from '../contract.ts'
import type { Client, Paths } from './apps-api.d.ts'
import type { Untupled } from './untupled.ts'

export const connect: Connect = async (baseUrl, key) => {
  const client = await new OpenAPIClientAxios({
    definition: `${baseUrl}/openapi.json`,
    withServer: { url: baseUrl },
    axiosConfigDefaults: { headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } },
  }).getClient<Client>()
  return {
    listApps: (query) => answer(client.listApps(query), isAxiosError<Paths.ListApps.Responses.$400>),
    createApp: (app) =>
      answer(
        client.createApp(null, app),
        isAxiosError<Paths.CreateApp.Responses.$400 | Paths.CreateApp.Responses.$422>,
      ),
    getApp: (id) => answer(client.getApp({ id }), isAxiosError<Paths.GetApp.Responses.$404>),
    updateApp: (id, changes, etag) =>
      answer(
        client.updateApp({ id, 'If-Match': etag }, changes),
        isAxiosError<Paths.UpdateApp.Responses.$412 | Paths.UpdateApp.Responses.$422>,
      ),
    deleteApp: (id) => answer(client.deleteApp({ id }), isAxiosError<Paths.DeleteApp.Responses.$404>),
  }
}

async function answer<Data, Failure>(
  call: Promise<AxiosResponse<Data>>,
  isFailure: (error: unknown) => error is AxiosError<Failure>,
) {
  const { status, headers, data } = await call.catch((error: unknown) => {
    if (isFailure(error) && error.response !== undefined) return error.response
    throw error
  })
  return { status, headers: new Headers(Object.entries(headers)), body: data as Untupled<Data | Failure> }
}
