import { once } from 'node:events'
import { connect } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { getBytes, isProgram, noPreparation, type Seen, type ServerUnderLoad, told, withServer } from './load.ts'
import { otherClients } from './search-flood.ts'

/** Many connections that repeatedly read the first page of the list. */

type Many = { port: number; connections: number; milliseconds: number; path: string }

export async function manyConnections({ port, memory }: ServerUnderLoad, connections = 2000, milliseconds = 10_000) {
  const path = '/apps'
  // Cached from the second request on.
  for (let time = 0; time < 3; time++) await (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer()
  const worker = new Worker(import.meta.filename, { workerData: { port, connections, milliseconds, path } })
  await once(worker, 'message')
  const list = once(worker, 'message').then(([seen]): Seen => seen)
  const [byId, kept, ready] = await Promise.all(otherClients(port, milliseconds))
  return { list: await list, byId, kept, ready, memory: memory().most }
}

/**
 * Each connection sends one request. After all responses, each sends the next request when it has the previous response;
 * these are timed. All responses are as long as the first. Status 0 is another response or a closed connection.
 */
async function ask({ port, connections, milliseconds, path }: Many): Promise<Seen> {
  const bytes = getBytes(path)
  const seen: Seen = { 0: [], 200: [] }
  let until = Number.POSITIVE_INFINITY
  let waiting = connections
  const begun = Promise.withResolvers<void>()
  const begin = () => {
    waiting--
    if (waiting === 0) begun.resolve()
    return begun.promise
  }

  const clients = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1')
    let [started, received, length, isFirst] = [performance.now(), 0, 0, true]
    const again = () => {
      started = performance.now()
      received = 0
      socket.write(bytes)
    }
    socket.on('connect', () => socket.write(bytes))
    socket.on('data', (chunk) => {
      if (received === 0) length = lengthOf(chunk)
      received += chunk.length
      if (received < length) return
      const now = performance.now()
      if (!isFirst) seen[length > 0 ? 200 : 0]?.push(now - started)
      if (now > until) socket.destroy()
      else if (isFirst) void begin().then(again)
      else again()
      isFirst = false
    })
    let isBroken = false
    for (const event of ['error', 'end']) {
      socket.on(event, () => {
        isBroken = true
      })
    }
    return new Promise<void>((resolve) => {
      socket.on('close', () => {
        if (isBroken) seen[0]?.push(performance.now() - started)
        if (isFirst) void begin()
        resolve()
      })
    })
  })
  await begun.promise
  until = performance.now() + milliseconds
  parentPort?.postMessage('begun')
  await Promise.all(clients)
  return seen
}

/** The size of a 200 response whose head is in its first chunk; otherwise 0. */
function lengthOf(chunk: Buffer): number {
  const end = chunk.indexOf('\r\n\r\n')
  const head = chunk.subarray(0, end).toString('latin1')
  const length = /\r\nContent-Length: (\d+)/i.exec(head)?.[1]
  return head.startsWith('HTTP/1.1 200') && length ? end + 4 + Number(length) : 0
}

if (!isMainThread) parentPort?.postMessage(await ask(workerData))

if (isProgram(import.meta.filename)) {
  const [database = ''] = process.argv.slice(2)
  const { list, byId, kept, ready, memory } = await withServer(database, noPreparation, (server) =>
    manyConnections(server),
  )
  for (const [what, seen] of Object.entries({ list, byId, kept, ready })) {
    process.stdout.write(`2000 connections, ${what}: ${told(seen ?? {})}\n`)
  }
  process.stdout.write(`${memory} MB at most\n`)
}
