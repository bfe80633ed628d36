import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, test } from 'vitest'
import { copyWorld } from '../support/database.ts'
import { executable, expectRefusal, runProcess, runProgram } from '../support/process.ts'

/** Why the server does not start. */

type Row = [
  what: string,
  args: string[],
  env: () => Record<string, string> | Promise<Record<string, string>>,
  line: RegExp,
]

/** Runs a program without the right to listen on low ports, which root has. */
const withoutRight =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-net_bind_service'] : ['env']
const firstOpenPort = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
const canLoseRight =
  existsSync(firstOpenPort) &&
  Number(readFileSync(firstOpenPort, 'utf8')) > 80 &&
  spawnSync(withoutRight.join(' '), ['true'], { shell: true }).status === 0

describe('a failure is one line and exit code 1', () => {
  test.for<Row>([
    [
      'for a port that is taken',
      ['serve'],
      takenPort,
      /^apps-service: PORT=\d+ is in use on 127\.0\.0\.1; set another one, such as PORT=\d+\n$/,
    ],
    ...['192.0.2.1', 'a..b', 'fe80::1'].map(
      (HOST): Row => [
        `for the host ${HOST}, which is not an address of the machine`,
        ['serve'],
        async () => ({ DATABASE_URL: await copyWorld(), HOST }),
        new RegExp(
          `^apps-service: HOST=${HOST} is not an address of this machine; set HOST=127.0.0.1, or HOST=:: for all addresses\n$`,
        ),
      ],
    ),
    [
      'for all problems of the environment',
      ['serve'],
      () => ({ PORT: 'x', LOG_LEVEL: 'loud', BASE_URL: 'ftp://x', DATABASE_URL: 'mysql://x' }),
      /PORT must be [^;]*; BASE_URL must be [^;]*; DATABASE_URL must be [^;]*; LOG_LEVEL must be /,
    ],
  ])('%s', async ([, args, env, line]) => {
    expectRefusal(await runProcess(args, await env()), line)
  })

  test.runIf(canLoseRight).for([
    ['PORT', 'serve'],
    ['METRICS_PORT', 'serve'],
    ['MODERATION_PORT', 'moderation serve'],
  ])('for a %s that only root may use', async ([variable = '', command = '']) => {
    const [program = '', ...args] = [...withoutRight, executable, ...command.split(' ')]
    const env = { DATABASE_URL: await copyWorld(), PORT: '0', [variable]: '80' }
    expectRefusal(
      await runProgram(program, args, env, ''),
      new RegExp(
        `^apps-service: this account may not listen on ${variable}=80; set one from 1024, such as ${variable}=8080\n$`,
      ),
    )
  })

  async function takenPort() {
    const server = createServer().listen(0, '127.0.0.1').unref()
    await new Promise((resolve) => server.on('listening', resolve))
    const address = server.address()
    return {
      DATABASE_URL: await copyWorld(),
      PORT: String(typeof address === 'object' ? address?.port : ''),
    }
  }
})
