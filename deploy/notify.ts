import { withDatabase } from '../src/cli/command.ts'
import { messageOf } from '../src/cli/output.ts'
import { loadEnvFile } from '../src/cli/program.ts'
import { sendNotification } from './send-notification.ts'

/** Sends a notification about decisions and waiting apps. A timer runs it (apps-service-notify.timer). */

try {
  await loadEnvFile()
  await withDatabase((database) => sendNotification(process.env, database))
} catch (error) {
  console.error(`apps-service-notify: ${messageOf(error as Error)}`)
  process.exitCode = 1
}
