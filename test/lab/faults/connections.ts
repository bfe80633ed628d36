import { once } from 'node:events'
import { connect } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { getBytes } from '../../faults/sockets.ts'
import { loadOfOtherClients, type ServerUnderLoad, type Timings } from './load.ts'

type Connections = { port: number; connections: number; milliseconds: number; path: string }

/**
 * Opens 2,000 connections that repeatedly read the first page of the list, and measures them and
 * other clients.
 */
export async function manyConnections({ port, memory }: ServerUnderLoad) {
  const [path, connections, milliseconds] = ['/apps', 2000, 10_000]
  // The response is cached on its second request.
  for (let time = 0; time < 3; time++)
    await (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer()
  const worker = new Worker(import.meta.filename, {
    workerData: { port, connections, milliseconds, path },
  })
  await once(worker, 'message')
  const list = once(worker, 'message').then(([timings]): Timings => timings)
  const others = await loadOfOtherClients(port, milliseconds)
  return { list: await list, ...others, memory: memory().max }
}

/**
 * Each connection sends a request. Once all have a response, each sends one request after the
 * other, which are timed. All responses have the same length. Status 0 stands for another status or
 * a closed connection.
 */
async function run({ port, connections, milliseconds, path }: Connections): Promise<Timings> {
  const bytes = getBytes(path)
  const timings = { 0: [] as number[], 200: [] as number[] }
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
    socket.on('data', (chunk: Buffer) => {
      if (received === 0) length = lengthOf(chunk)
      received += chunk.length
      if (received < length) return
      const now = performance.now()
      if (!isFirst) timings[length > 0 ? 200 : 0].push(now - started)
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
        if (isBroken) timings[0].push(performance.now() - started)
        if (isFirst) void begin()
        resolve()
      })
    })
  })
  await begun.promise
  until = performance.now() + milliseconds
  parentPort?.postMessage('begun')
  await Promise.all(clients)
  return timings
}

/** The size of a 200 response whose head is in its first chunk; otherwise 0. */
function lengthOf(chunk: Buffer): number {
  const end = chunk.indexOf('\r\n\r\n')
  const head = chunk.subarray(0, end).toString('latin1')
  const length = /\r\nContent-Length: (\d+)/i.exec(head)?.[1]
  return head.startsWith('HTTP/1.1 200') && length ? end + 4 + Number(length) : 0
}

if (!isMainThread) parentPort?.postMessage(await run(workerData))
