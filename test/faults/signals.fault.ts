import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { copyWorldFile } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { isRunning } from '../support/process.ts'
import { connected } from './sockets.ts'

/** test/cli/serve.test.ts tests signals under keep-alive and from the shell that npm starts. */
test('SIGTERM to npx stops the server, which answers requests in flight and frees the port', async () => {
  const port = await freePort()
  const npx = spawn('npx', ['apps-service', 'serve'], {
    cwd: `${import.meta.dirname}/../..`,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      // npx must not contact the registry.
      npm_config_offline: 'true',
      npm_config_update_notifier: 'false',
      PORT: String(port),
      DATABASE_URL: `sqlite:${copyWorldFile()}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void npx.kill('SIGKILL'))
  const log: string[] = []
  createInterface({ input: npx.stdout }).on('line', (line) => log.push(line))
  const logged = (text: string) => log.filter((line) => line.includes(text)).length
  await expect.poll(() => logged('serving '), { timeout: 60_000 }).toBe(1)

  const { pid } = JSON.parse(log.find((line) => line.includes('"pid"')) ?? '{}')
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  })
  const socket = await connected(port)
  const received: string[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk.toString('latin1')))
  socket.write('GET /apps HTTP/1.1\r\nHost: x\r\n')
  npx.kill('SIGTERM')
  await expect.poll(() => logged('finishing the requests')).toBe(1)
  socket.write('\r\n')
  await expect.poll(() => received.join('')).toMatch(/^HTTP\/1\.1 200 [\s\S]*\nConnection: close\r\n/)
  await expect.poll(() => isRunning(pid)).toBe(false)
  expect(logged('stopped serving')).toBe(1)
})
