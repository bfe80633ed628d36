import { renameSync, writeFileSync } from 'node:fs'

/** Loaded first by each process that a test starts. Writes its coverage repeatedly, because many of them are killed. */

const file = `${process.env.MUTANTS_RUN}.${process.pid}`
let written = 0

function write() {
  const hits = globalThis.__stryker__?.mutantCoverage?.static ?? {}
  const count = Object.keys(hits).length
  if (count === written) return
  written = count
  try {
    writeFileSync(`${file}.new`, JSON.stringify(hits))
    renameSync(`${file}.new`, file)
  } catch {
    // The tests have ended and removed the folder.
  }
}

setInterval(write, 50).unref()
process.on('exit', write)
// Keep this listener last, so that it covers what the program's own exit listeners run.
process.on('newListener', (event, listener) => {
  if (event === 'exit' && listener !== write) process.nextTick(() => process.off('exit', write).on('exit', write))
})
const { reallyExit } = process as unknown as Exiting
Object.assign(process, {
  reallyExit: (code: number) => {
    write()
    reallyExit.call(process, code)
  },
})

/** Called by process.exit after all listeners. */
type Exiting = { reallyExit: (code: number) => void }
