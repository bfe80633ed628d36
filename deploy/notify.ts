import { withDatabase } from '../src/cli/command.ts'
import { messageOf, printInfo } from '../src/cli/output.ts'
import { loadEnvFile } from '../src/cli/program.ts'
import { sendNotification } from './send-notification.ts'

/** Sends a notification about decisions and waiting apps. A timer runs it (apps-service-notify.timer). */

const print = (text: string) => printInfo(`apps-service-notify: ${text}`)

function report(problem: string) {
  print(problem)
  process.exitCode = 1
}

try {
  await loadEnvFile()
  const isAlone = await withDatabase((database) => sendNotification(process.env, database, report))
  if (!isAlone) print('another run is not finished yet; this one leaves the news to it')
} catch (error) {
  report(messageOf(error as Error))
}
