import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Runs the server, and restarts it when a file of src/ or generated/ changes. On Linux, `node
 * --watch` stops noticing a file that was replaced, which is how git and many editors save.
 * Watching directories does not.
 */

const root = join(import.meta.dirname, '..')

/** Of editors. */
const temporaryFile = /^\.|~$/

/** Milliseconds. A checkout changes several files. */
const settleTime = 100

const changes = new EventEmitter()
for (const top of [join(root, 'src'), join(root, 'generated')]) {
  const entries = readdirSync(top, { recursive: true, withFileTypes: true })
  const below = entries
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
  for (const directory of [top, ...below])
    watch(
      directory,
      (_event, name) => name !== null && !temporaryFile.test(name) && changes.emit('change', name),
    )
}

function serve() {
  const server = spawn(join(root, 'apps-service'), ['serve'], { stdio: 'inherit' })
  const exited = once(server, 'exit')
  return async () => {
    server.kill()
    await exited
  }
}

let stop = serve()
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => stop().then(() => process.exit()))

for (;;) {
  const [name] = await once(changes, 'change')
  await delay(settleTime)
  console.error(`${name} has changed: restarting the server`)
  await stop()
  stop = serve()
}
