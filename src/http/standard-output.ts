import { writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/** Characters of lines that wait to be written; further lines are lost. */
const maxBufferedLength = 8 * 2 ** 20

/** Milliseconds until the next write, if the reader takes nothing. */
const retryDelay = 5

/**
 * Writes log lines to standard output. The lines of one turn of the event loop are one write, since
 * a write costs as much as a small response. A slow reader or a full disk delays no response:
 * pino's own destination sleeps 100 ms if a pipe is full, and ends the process if a disk is.
 */
export function standardOutput(): DestinationStream {
  let lines = ''
  let lost = 0
  /** Earlier lines that are partly written. */
  let unwritten: Buffer = Buffer.alloc(0)
  let isScheduled = false

  function flush() {
    if (unwritten.length === 0) {
      unwritten = Buffer.from(lines)
      lines = ''
    }
    unwritten = writeAvailable(unwritten)
    isScheduled = unwritten.length > 0 || lines !== ''
    if (isScheduled) setTimeout(flush, retryDelay)
    else if (lost > 0) {
      const msg = 'the reader of standard output was too slow; log lines were lost'
      const warning = { level: 40, time: Date.now(), pid: process.pid, lost, msg }
      lost = 0
      write(`${JSON.stringify(warning)}\n`)
    }
  }

  function write(line: string) {
    if (lines.length > maxBufferedLength) {
      lost++
      return
    }
    lines += line
    if (isScheduled) return
    isScheduled = true
    setImmediate(flush)
  }

  process.on('exit', () => {
    // A reader may be busy for half a second.
    for (let tries = 0; tries < 100 && (lines !== '' || unwritten.length > 0); tries++) {
      flush()
      if (unwritten.length > 0)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryDelay)
    }
  })
  return { write }
}

/** Writes what standard output takes now; returns the rest. */
function writeAvailable(bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes
  try {
    return writeAvailable(bytes.subarray(writeSync(1, bytes)))
  } catch (error) {
    const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
    // The reader is gone, or the disk is full: these bytes are lost, later ones may not be.
    return isFull ? bytes : Buffer.alloc(0)
  }
}
