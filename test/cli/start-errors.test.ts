import { createServer } from 'node:net'
import { describe, test } from 'vitest'
import { copyWorld } from '../support/database.ts'
import { expectRefusal, runProcess } from '../support/process.ts'

/** Why the server does not start. */

describe('a failure is one line and exit code 1', () => {
  test.for<
    [
      what: string,
      args: string[],
      env: () => Record<string, string> | Promise<Record<string, string>>,
      line: RegExp,
    ]
  >([
    [
      'for a port that is taken',
      ['serve'],
      takenPort,
      /^apps-service: set another port, such as PORT=\d+: listen EADDRINUSE: address already in use 127\.0\.0\.1:\d+$/m,
    ],
    [
      'for a host that is not an address of the machine',
      ['serve'],
      async () => ({ DATABASE_URL: await copyWorld(), HOST: '192.0.2.1' }),
      /address not available 192\.0\.2\.1:\d+; change HOST or PORT$/m,
    ],
    [
      'for all problems of the environment',
      ['serve'],
      () => ({ PORT: 'x', LOG_LEVEL: 'loud', BASE_URL: 'ftp://x', DATABASE_URL: 'mysql://x' }),
      /PORT must be [^;]*; BASE_URL must be [^;]*; DATABASE_URL must be [^;]*; LOG_LEVEL must be /,
    ],
  ])('%s', async ([, args, env, line]) => {
    expectRefusal(await runProcess(args, await env()), line)
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
