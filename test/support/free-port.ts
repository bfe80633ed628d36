import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port that was free a moment ago, for a server whose address has to be known before it listens. Not one of those that the
 * system gives to whoever asks for any (from 32768 on): others ask meanwhile.
 */
export async function freePort(): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 12_000)
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (!isFree) return freePort()
  server.close()
  await once(server, 'close')
  return port
}
