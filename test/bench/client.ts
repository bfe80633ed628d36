import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export type Answer = { status: number; rawHeaders: string[]; body: Buffer; milliseconds: number }

/** Rejects where nobody listens. Takes a connection of its own, unless it is given an agent that has one. */
export async function get(origin: string, target: string, agent?: Agent): Promise<Answer> {
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

/** The same, of which nothing but 200 will do. */
export async function getOk(origin: string, target: string, agent?: Agent): Promise<Answer> {
  const answer = await get(origin, target, agent)
  if (answer.status !== 200) throw new Error(`${target} was answered with ${answer.status}`)
  return answer
}

/** Milliseconds of each request, sent one after the other; each origin is asked on one connection. */
export async function timesOf(requests: readonly { origin: string; target: string }[]): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  for (const { origin, target } of requests) times.push((await getOk(origin, target, agent)).milliseconds)
  agent.destroy()
  return times
}
