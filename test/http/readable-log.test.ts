import { type ChildProcess, spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../src/http/log.ts'
import { readableLog } from '../../src/http/readable-log.ts'
import { copyWorld } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { executable, hasTerminal } from '../support/process.ts'

function logged(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = []
  write(createLogger('info', readableLog({ write: (line) => lines.push(line) })))
  return lines.join('')
}

test('a line has the time, the level and the message', () => {
  expect(logged((log) => log.warn({ port: 3000 }, 'serving'))).toMatch(
    /^\d\d:\d\d:\d\d warn serving\n$/,
  )
})

test('an error has its stack below', () => {
  const lines = logged((log) => log.error({ err: new Error('lost') }, 'GET 500')).split('\n')
  expect(lines[0]).toMatch(/ error GET 500$/)
  expect(lines[1]).toBe('Error: lost')
  expect(lines[2]).toMatch(/^ {4}at /)
})

test('control characters of a client cannot move the cursor', () => {
  expect(logged((log) => log.info({ req: { url: '/\u001B[2J' } }, 'GET 404'))).toMatch(
    / info GET 404 \/\uFFFD\[2J\n$/,
  )
})

test.skipIf(!hasTerminal)('serve prints such lines in a terminal', async () => {
  const port = await freePort()
  const server: ChildProcess = spawn(
    'script',
    ['--quiet', '--command', `'${executable}' serve`, '/dev/null'],
    {
      env: { PATH: process.env.PATH, PORT: String(port), DATABASE_URL: await copyWorld() },
      cwd: import.meta.dirname,
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    },
  )
  onTestFinished(() => {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
  })
  let output = ''
  server.stdout?.on('data', (data) => (output += data))
  await expect.poll(() => output).toMatch(/ info serving http/)
  expect((await fetch(`http://127.0.0.1:${port}/apps?limit=2`)).status).toBe(200)
  await expect.poll(() => output).toMatch(/\d\d:\d\d:\d\d info GET 200 \/apps\?limit=2 \d+ ms\r\n/)
  expect(output).not.toContain('{')
})
