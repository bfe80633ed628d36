import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { connected } from '../../faults/sockets.ts'
import { copyWorldFile } from '../../support/database.ts'
import { isShortRun } from '../../support/short-run.ts'
import { type ServerUnderLoad, withServer } from './load.ts'

/** Request bodies that arrive slowly or in tiny chunks, at both servers. */

const connections = isShortRun ? 500 : 2000

const head = (...headers: string[]) =>
  [
    'POST /apps HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${inject('world').keys.ada}`,
    'Content-Type: application/json',
    ...headers,
    '',
    '',
  ].join('\r\n')

/** A form to sign in with, of anybody. */
const formHead = (...headers: string[]) =>
  [
    'POST /sign-in HTTP/1.1',
    'Host: x',
    'Sec-Fetch-Site: same-origin',
    'Content-Type: application/x-www-form-urlencoded',
    ...headers,
    '',
    '',
  ].join('\r\n')

const whole = 'Content-Length: 262144'
const chunked = 'Transfer-Encoding: chunked'
const silent = `"${'x'.repeat(262_000)}`
const tinyChunks = '1\r\n \r\n'.repeat(20_000)

/** Sends the bytes on each connection, then nothing. */
async function sendAndFallSilent({ port, memory }: ServerUnderLoad, bytes: string) {
  const sockets = await Promise.all(Array.from({ length: connections }, () => connected(port)))
  const answers: string[] = []
  for (const socket of sockets) {
    socket.on('data', (data: Buffer) => answers.push(data.toString('latin1', 0, 12)))
    socket.write(bytes)
  }
  await delay(10_000)
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  const { max } = memory()
  for (const socket of sockets) socket.destroy()
  return { max, answers }
}

test.for<[command: string, what: string, bytes: string]>([
  ['serve', 'fall silent after 262,000 bytes', head(whole) + silent],
  ['serve', 'send 20,000 chunks of one byte', head(chunked) + tinyChunks],
  ['moderation serve', 'fall silent after 262,000 bytes', formHead(whole) + silent],
  ['moderation serve', 'send 20,000 chunks of one byte', formHead(chunked) + tinyChunks],
])(`%s: ${connections} bodies that %s take at most 350 MB`, async ([command, what, bytes]) => {
  const { max, answers } = await withServer(
    copyWorldFile(),
    (server) => sendAndFallSilent(server, bytes),
    command,
  )
  const refused = answers.filter((answer) => answer.startsWith('HTTP/1.1 503')).length
  console.log(
    `${command}: ${connections} bodies that ${what}: ${max} MB at most, ${refused} of ${answers.length} answers are 503`,
  )
  expect(max).toBeLessThanOrEqual(350)
  expect(refused).toBeGreaterThan(0)
})
