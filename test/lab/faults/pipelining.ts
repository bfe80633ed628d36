import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '../../../src/db/open-database.ts'
import { connected, getBytes } from '../../faults/sockets.ts'
import { load, loadOfOtherClients, type ServerUnderLoad } from './load.ts'

/** A burst of 700 pipelined requests, with a header that bypasses the response cache. */
const burst = (path: string) => getBytes(path, 'Accept: application/*').repeat(700)

async function sendBurst(port: number, path: string): Promise<Socket> {
  const socket = await connected(port)
  await new Promise((resolve) => socket.write(burst(path), resolve))
  return socket
}

/** Gives the first hundred listed apps long descriptions. */
async function lengthenDescriptions(file: string) {
  const database = openDatabase(`sqlite:${file}`)
  await database.write(async ({ sql }) => {
    const ids = await sql('apps')
      .orderBy('approved_at', 'desc')
      .orderBy('id', 'desc')
      .limit(100)
      .pluck('id')
    await sql('apps')
      .whereIn('id', ids)
      .update({ description: 'a word or '.repeat(2000) })
  })
  await database.close()
}

/** Sends nine bursts of requests for a long list on open sockets, without reading the responses. */
export async function unreadBursts({ port, file, memory }: ServerUnderLoad) {
  await lengthenDescriptions(file)
  const before = memory().now
  const others = loadOfOtherClients(port, 15_000)
  const sockets: Socket[] = []
  for (let number = 0; number < 9; number++) {
    sockets.push(await sendBurst(port, '/apps?limit=100'))
    await delay(500)
  }
  const timings = await others
  const after = memory()
  for (const socket of sockets) socket.destroy()
  return { before, ...after, ...timings }
}

/** Sends a burst of searches every four seconds, and closes each socket at once. */
export async function abandonedBursts({ port }: ServerUnderLoad) {
  const bursts = 4
  const others = loadOfOtherClients(port, bursts * 4000)
  const targets = Array.from({ length: 50 }, (_, page) => `/apps?page=${page + 1}&sort=popular`)
  const lists = load({ port, clients: 2, targets, pause: 10, milliseconds: bursts * 4000 })
  for (let number = 0; number < bursts; number++) {
    const socket = await sendBurst(port, '/apps?search=a%20o%20e%20d')
    socket.destroy()
    await delay(4000)
  }
  return { ...(await others), lists: await lists }
}
