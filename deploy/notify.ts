import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { sendNotification } from './send-notification.ts'

/** Sends a notification about decisions and waiting apps. A timer runs it (apps-service-notify.timer). */

try {
  await sendNotification(process.env, ask)
} catch (error) {
  console.error(`apps-service-notify: ${(error as Error).message}`)
  process.exitCode = 1
}

/** The JSON of a command. Ends the process if it fails: the command has said why. */
async function ask(...args: string[]) {
  const { status, stdout, error } = spawnSync(
    join(import.meta.dirname, '../apps-service'),
    [...args, '--json'],
    { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  if (error) throw new Error(`apps-service cannot be run: ${(error as NodeJS.ErrnoException).code}`)
  if (status !== 0) process.exit(1)
  return JSON.parse(stdout)
}
