import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { envFile, readConfig } from '../src/config.ts'

/**
 * Serves examples/shop-window/ on SHOP_PORT, with the catalogue of API_URL or, without it, of the
 * server that `make run` starts with the same settings.
 */

const { API_URL = ownAddress(), SHOP_PORT = '8080' } = process.env

const directory = `${import.meta.dirname}/../examples/shop-window`
const files = new Map([
  ['/', { name: 'index.html', type: 'text/html' }],
  ['/theme.css', { name: 'theme.css', type: 'text/css' }],
  ['/style.css', { name: 'style.css', type: 'text/css' }],
  ['/shop.js', { name: 'shop.js', type: 'text/javascript' }],
])

const server = createServer(async ({ url = '' }, response) => {
  const file = files.get(url.split('?', 1).join())
  if (!file) return void response.writeHead(404).end()
  // Read again for each request, so that changes show when the page is loaded again.
  const text = await readFile(`${directory}/${file.name}`, 'utf8')
  response.setHeader('Content-Type', `${file.type}; charset=utf-8`)
  response.setHeader('Cache-Control', 'no-cache')
  response.end(text.replace('content="http://localhost:3000"', () => `content="${API_URL}"`))
})

const port = Number(SHOP_PORT)
if (!(port >= 0 && port <= 65535))
  fail(`SHOP_PORT must be a number from 0 to 65535, not "${SHOP_PORT}".`)
server.on('error', ({ code, message }: NodeJS.ErrnoException) =>
  fail(
    code === 'EADDRINUSE'
      ? `Port ${port} is in use. Choose another: SHOP_PORT=8081 make shop`
      : message,
  ),
)
server.listen(port, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(
    `Serving the shop window on http://localhost:${port}, with the catalogue of ${API_URL}`,
  )
})

// Without this, make reports an error after Ctrl-C.
process.on('SIGINT', () => process.exit())

function ownAddress(): string {
  try {
    if (existsSync(envFile)) process.loadEnvFile(envFile)
    return readConfig().baseUrl
  } catch (error) {
    return fail((error as Error).message)
  }
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
