import { renameSync, writeFileSync } from 'node:fs'

/** Loaded first by each process that a test starts: tells what was run, now and then, for many of them are killed. */

const file = `${process.env.MUTANTS_RUN}.${process.pid}`
let told = 0

function tell() {
  const hits = globalThis.__stryker__?.mutantCoverage?.static ?? {}
  const count = Object.keys(hits).length
  if (count === told) return
  told = count
  try {
    writeFileSync(`${file}.new`, JSON.stringify(hits))
    renameSync(`${file}.new`, file)
  } catch {
    // The tests have ended, and nobody reads it.
  }
}

setInterval(tell, 50).unref()
process.on('exit', tell)
// Last, so that what the program does then is told, too.
process.on('newListener', (event, listener) => {
  if (event === 'exit' && listener !== tell) process.nextTick(() => process.off('exit', tell).on('exit', tell))
})
const { reallyExit } = process as unknown as Exiting
Object.assign(process, {
  reallyExit: (code: number) => {
    tell()
    reallyExit.call(process, code)
  },
})

/** What process.exit ends with, behind all handlers. */
type Exiting = { reallyExit: (code: number) => void }
