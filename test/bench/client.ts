import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export type Answer = { status: number; rawHeaders: string[]; body: Buffer; milliseconds: number }

/** One connection, kept open: what is timed is the answer, not the way to the server. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Rejects where nobody listens. */
export async function get(origin: string, target: string): Promise<Answer> {
  const started = performance.now()
  const sent = request(`${origin}${target}`, { agent }).end()
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
export async function getOk(origin: string, target: string): Promise<Answer> {
  const answer = await get(origin, target)
  if (answer.status !== 200) throw new Error(`${target} was answered with ${answer.status}`)
  return answer
}

/** Milliseconds of each of the targets, asked for one after the other. */
export async function timesOf(origin: string, targets: readonly string[]): Promise<number[]> {
  const times: number[] = []
  for (const target of targets) times.push((await getOk(origin, target)).milliseconds)
  return times
}
