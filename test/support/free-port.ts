import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port that was just free, for a server whose address must be known before it listens. It is
 * below the system's range of ephemeral ports (from 32768), which other processes get meanwhile.
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
