import { renameSync, writeFileSync } from 'node:fs'

/**
 * Part of mutation testing with StrykerJS. setup.ts preloads this file (`node --import`) into each
 * process that a test starts, and then adds that process's coverage to the test's. This file writes
 * the coverage (which mutants the process has reached) to a file whose name begins with
 * MUTANTS_RUN. It writes repeatedly, because many processes are killed.
 */

const file = `${process.env.MUTANTS_RUN}.${process.pid}`
let writtenCount = 0

function write() {
  const hits = globalThis.__stryker__?.mutantCoverage?.static ?? {}
  const count = Object.keys(hits).length
  if (count === writtenCount) return
  writtenCount = count
  // Renamed when complete, so that setup.ts never reads half a file.
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
  if (event === 'exit' && listener !== write)
    process.nextTick(() => process.off('exit', write).on('exit', write))
})
// For mutants that are reached after the last exit listener.
const { reallyExit } = process as unknown as Exiting
Object.assign(process, {
  reallyExit: (code: number) => {
    write()
    reallyExit.call(process, code)
  },
})

/** An internal function of Node, which process.exit calls after all exit listeners. */
type Exiting = { reallyExit: (code: number) => void }
