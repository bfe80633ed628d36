import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '../../src/db/database.ts'
import { getBytes, isProgram, load, noPreparation, type Seen, type ServerUnderLoad, told, withServer } from './load.ts'
import { otherClients } from './search-flood.ts'

/** Bursts of 700 pipelined requests whose responses nobody reads. */

/** With a header that prevents caching, so that each response is created. */
const burst = (path: string) => getBytes(path, 'Accept: application/*').repeat(700)

async function sendBurst(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {
    // The server may close it.
  })
  await once(socket, 'connect')
  await new Promise((resolve) => socket.write(burst(path), resolve))
  return socket
}

/** Gives the first hundred listed apps descriptions of maximum length. */
export async function lengthen(file: string) {
  const database = openDatabase(`sqlite:${file}`)
  await database.write(async ({ sql }) => {
    const ids = await sql('apps').orderBy('approved_at', 'desc').orderBy('id', 'desc').limit(100).pluck('id')
    await sql('apps')
      .whereIn('id', ids)
      .update({ description: 'a word or '.repeat(2000) })
  })
  await database.close()
}

/** Nine bursts for a long list, never read; the sockets stay open. */
export async function unreadBursts({ port, memory }: ServerUnderLoad) {
  const before = memory().now
  const others = Promise.all(otherClients(port, 15_000))
  const sockets: Socket[] = []
  for (let number = 0; number < 9; number++) {
    sockets.push(await sendBurst(port, '/apps?limit=100'))
    await delay(500)
  }
  const [byId, kept, ready] = await others
  const after = memory()
  for (const socket of sockets) socket.destroy()
  return { before, ...after, byId, kept, ready }
}

/** A burst of searches every four seconds, closed at once. */
export async function abandonedBursts({ port }: ServerUnderLoad, bursts = 4) {
  const others = Promise.all(otherClients(port, bursts * 4000))
  const listed = load({ port, clients: 2, targets: lists, pause: 10, milliseconds: bursts * 4000 })
  for (let number = 0; number < bursts; number++) {
    const socket = await sendBurst(port, '/apps?search=a%20o%20e%20d')
    socket.destroy()
    await delay(4000)
  }
  const [byId, kept, ready] = await others
  return { byId, kept, ready, lists: await listed }
}

const lists = Array.from({ length: 50 }, (_, page) => `/apps?page=${page + 1}&sort=popular`)

const tell = (what: string, seen: Seen | undefined) => process.stdout.write(`${what}: ${told(seen ?? {})}\n`)

if (isProgram(import.meta.filename)) {
  const [database = ''] = process.argv.slice(2)
  await withServer(database, lengthen, async (server) => {
    const { before, now, most, ...others } = await unreadBursts(server)
    process.stdout.write(`nine unread bursts: ${before} MB before, ${now} after, ${most} at most\n`)
    for (const [what, seen] of Object.entries(others)) tell(`  ${what}`, seen)
  })
  await withServer(database, noPreparation, async (server) => {
    process.stdout.write('bursts of searches, closed at once\n')
    for (const [what, seen] of Object.entries(await abandonedBursts(server))) tell(`  ${what}`, seen)
  })
}
