import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import UPNG from 'upng-js'
import { freePort } from '../support/free-port.ts'
import { launchChromium } from './chromium.ts'

/**
 * Takes the pictures of README.md and docs/ (`make pictures`), of the demo catalogue with a
 * look-alike in its queue. Apart from the days that apps have waited, they look the same each time.
 */

const root = `${import.meta.dirname}/../..`
const browser = await launchChromium().catch(({ message }) => {
  console.error(message)
  process.exit(1)
})
const folder = mkdtempSync(`${tmpdir()}/apps-pictures-`)
const [port, moderationPort] = [await freePort(), await freePort()]
const env = {
  PATH: process.env.PATH,
  DATABASE_URL: `sqlite:${folder}/apps.sqlite`,
  PORT: `${port}`,
  // The address that the reference shows.
  BASE_URL: 'http://localhost:3000',
  MODERATION_PORT: `${moderationPort}`,
  API_URL: `http://localhost:${port}`,
  SHOP_PORT: `${await freePort()}`,
}
const lookAlike = {
  name: '512 Ti1es',
  short_description: 'The number game that everyone plays, now with more tiles.',
  description: 'The number game that everyone plays, now with more tiles. Free for a week.',
  category: 'games',
  developer_name: 'Best Free Games',
  status: 'pending',
  created_at: '2026-09-21T18:04:11.000Z',
}

const executable = `${root}/apps-service`
const runCommand = async (...args: string[]) =>
  (await promisify(execFile)(executable, args, { env, cwd: folder })).stdout

const servers: ReturnType<typeof spawn>[] = []

/** Starts a server, until it prints a line. */
async function start(file: string, ...args: string[]) {
  const child = spawn(file, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  servers.push(child)
  await Promise.race([once(createInterface(child.stdout), 'line'), failOnExit(child)])
}

async function failOnExit(child: ReturnType<typeof spawn>) {
  const [code] = await once(child, 'exit')
  throw new Error(`${child.spawnargs.join(' ')} exited with ${code}.`)
}

try {
  await runCommand('migrate')
  await runCommand('seed')
  writeFileSync(`${folder}/queue.jsonl`, JSON.stringify(lookAlike))
  await runCommand('import', 'queue.jsonl')
  const { key } = JSON.parse(await runCommand('moderator', 'add', 'Ada Lovelace', '--json'))
  await start(executable, 'serve')
  await start(executable, 'moderation', 'serve')
  await start(process.execPath, `${root}/scripts/shop.ts`)

  const page = await browser.newPage()
  const save = async (name: string, width: number, height: number) => {
    await page.setViewportSize({ width, height })
    const { buffer } = new Uint8Array(await page.screenshot())
    // With 64 colours, files have a third of the size, and nobody sees a difference.
    const small = UPNG.encode(UPNG.toRGBA8(UPNG.decode(buffer)), width, height, 64)
    writeFileSync(`${root}/docs/${name}.png`, new Uint8Array(small))
    console.log(`docs/${name}.png`)
  }
  await page.goto(`http://localhost:${env.SHOP_PORT}/?sort=popular`)
  await page.getByRole('heading', { name: '512 Tiles' }).waitFor()
  await save('shop-window', 900, 640)
  await page.goto(`http://localhost:${moderationPort}/`)
  await page.getByRole('textbox').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Pending apps' }).waitFor()
  await save('moderation-page', 900, 640)
  await page.setViewportSize({ width: 1280, height: 720 })
  await page.goto(`http://localhost:${port}/docs`)
  await page.getByText('Search Ctrl+K').waitFor()
  await save('reference', 1280, 720)
} finally {
  await browser.close()
  for (const server of servers) server.kill('SIGKILL')
  rmSync(folder, { recursive: true })
}
