import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export type HttpResponse = {
  status: number
  rawHeaders: string[]
  body: Buffer
  milliseconds: number
}

/** Sends a GET, on a new connection unless an agent is given. Rejects if nothing listens there. */
export async function get(origin: string, target: string, agent?: Agent): Promise<HttpResponse> {
  const started = performance.now()
  const sent = request(`${origin}${target}`, { agent: agent ?? false }).end()
  const [response] = await once(sent, 'response')
  const body = await buffer(response)
  return {
    status: response.statusCode,
    rawHeaders: response.rawHeaders,
    body,
    milliseconds: performance.now() - started,
  }
}

/** The same; throws unless the status is 200. */
export async function getOk(origin: string, target: string, agent?: Agent): Promise<HttpResponse> {
  const response = await get(origin, target, agent)
  if (response.status !== 200) throw new Error(`GET ${target} returned ${response.status}`)
  return response
}

/**
 * Milliseconds of each request. They are sent one after the other, on one connection per origin.
 */
export async function timesOf(
  requests: readonly { origin: string; target: string }[],
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  for (const { origin, target } of requests)
    times.push((await getOk(origin, target, agent)).milliseconds)
  agent.destroy()
  return times
}
