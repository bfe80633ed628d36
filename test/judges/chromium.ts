import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Starts the Chromium of the judges and of the pictures. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM || '/usr/bin/chromium'
  if (!existsSync(executablePath)) {
    throw new Error(
      `There is no ${executablePath}. On Debian: apt-get install chromium; else name one in CHROMIUM.`,
    )
  }
  const quiet = [
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ]
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet]
  return chromium.launch({ executablePath, args })
}
