import { createServer, request as forward, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { required } from '../../src/util/helpers.ts'
import { importLines } from '../support/catalogue-file.ts'
import { emptyCatalogueUrl } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { commandLine, type Served, serve } from '../support/process.ts'

/** A server with the demo catalogue, for programs of clients. */
export type Scene = { server: Served; baseUrl: string; key: string }

/** Serves the catalogue of `make run`, with more apps called Tide Table. */
export async function startScene(more = 0): Promise<Scene> {
  const address = await emptyCatalogueUrl()
  const { run } = commandLine(address)
  const seeded = await run('seed')
  const key = required(/Key +(apps_\w+)/.exec(seeded.stdout)?.[1], `the key in ${seeded.stdout}`)
  const table = {
    description: 'High water.',
    category: 'games',
    developer_name: 'Harbour Software',
    status: 'approved',
  }
  const tables = Array.from({ length: more }, (_, index) => ({
    ...table,
    name: `Tide Table ${index + 1}`,
  }))
  const database = openDatabase(address)
  expect((await importLines(database, tables)).rejects).toEqual([])
  await database.close()

  // Location and Link have the address, so it must be known before the server listens.
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  return { server: await serve(address, { PORT: String(port), BASE_URL: baseUrl }), baseUrl, key }
}

/** A proxy that runs `before` and then forwards the request. The response is lost if it says so. */
export async function startProxy(
  target: string,
  before: (request: IncomingMessage) => Promise<'lost' | undefined>,
): Promise<string> {
  const proxy = createServer(async (request, response) => {
    const isLost = (await before(request)) === 'lost'
    const { method, headers, url } = request
    const onward = forward(target + url, { ...(method && { method }), headers }, (answer) => {
      if (isLost) return void request.socket.destroy()
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  await new Promise((resolve) => proxy.once('listening', resolve))
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}
