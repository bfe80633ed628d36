import type { Body } from './check.ts'

/** The TypeScript client, from its source. */

export type Result = { data?: Body; error?: Body; response: Response }
type Call = (path: string, options?: object) => Promise<Result>
type AllPages = (query?: object, options?: { signal: AbortSignal }) => AsyncGenerator<Body, void>
export type Client = Record<'GET' | 'POST' | 'PUT' | 'DELETE', Call> &
  Record<'allApps' | 'allOwnApps', AllPages>
export type Send = (url: string, init: RequestInit & { headers: Headers }) => Promise<Response>
export type ClientOptions = {
  fetch?: Send
  headers?: RequestInit['headers']
  retries?: number
  timeout?: number
}
type ClientModule = {
  createClient: (baseUrl: string, key?: string, options?: ClientOptions) => Client
  dataOf: (result: Result) => Body
}

// At run time only, so that type checking does not need the client's generated types.
export const { createClient, dataOf }: ClientModule = await import(
  `${import.meta.dirname}/../../clients/typescript/src/index.ts`
)
