import { spawnSync } from 'node:child_process'
import { createWriteStream, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { messageOf, printInfo } from '../src/cli/output.ts'
import { loadEnvFile } from '../src/cli/program.ts'
import { hashFile } from '../src/util/file-system.ts'
import { claimState, writeState } from './state-files.ts'

/**
 * Brings a mirror up to date with the published export whose index is at MIRROR_URL. A timer runs it
 * (apps-service-mirror.timer).
 */

type Part = { file: string; bytes: number; lines: number; sha256: string }
type Index = { time: string; all: Part; changes: Part & { since: string } }

const maxIndexBytes = 2 ** 16
const maxFileBytes = 2 ** 32
/** The report of an import has at most 1,000 reasons of either kind, which quote its source. */
const maxReportBytes = 2 ** 24
/** Milliseconds. */
const indexTimeout = 60_000
const fileTimeout = 60 * 60_000

const print = (message: string) => printInfo(`apps-service-mirror: ${message}`)

try {
  await loadEnvFile()
  await update(process.env)
} catch (error) {
  print(messageOf(error as Error))
  process.exitCode = 1
}

/**
 * Imports the changes since the last run or, if they do not go back to it, everything. Then stores
 * the time of the index, also if lines were refused, which would be refused again.
 */
async function update({ MIRROR_URL = '', STATE_DIRECTORY }: NodeJS.ProcessEnv) {
  const url = URL.parse(MIRROR_URL)
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new Error('MIRROR_URL must be the http or https address of an index.json')
  if (!STATE_DIRECTORY) throw new Error('set STATE_DIRECTORY to the directory of its state')
  using claim = claimState(join(STATE_DIRECTORY, 'mirror.lock'))
  if (!claim) return print('another run is not finished yet; this one leaves the update to it')
  const stateFile = join(STATE_DIRECTORY, 'mirrored')
  const last = readState(stateFile)
  const { time, all, changes } = parseIndex(url, await text(read(url, maxIndexBytes, indexTimeout)))
  const isSame = last.url === url.href
  if (isSame && last.time === time) return
  // An index from before the last run is of a source that was restored, or whose clock was ahead.
  const isCovered = isSame && changes.since <= last.time && last.time <= time
  const part = isCovered ? changes : all
  const file = join(STATE_DIRECTORY, 'mirror.ndjson.gz')
  const source = new URL(part.file, url)
  try {
    await pipeline(read(source, part.bytes, fileTimeout), createWriteStream(file))
    if ((await hashFile(file)) !== part.sha256)
      throw new Error(`${source} is not the file of its index: its SHA-256 is another one`)
  } catch (error) {
    // The database may be on the same disk.
    rmSync(file, { force: true })
    throw error
  }
  const { status, stdout } = spawnSync(
    join(import.meta.dirname, '../apps-service'),
    ['import', file, '--json', ...(isCovered ? [] : ['--mirror'])],
    { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: maxReportBytes },
  )
  if (status !== 0) process.exitCode = 1
  const { lines, hidden } = JSON.parse(stdout || '{}')
  if (lines !== part.lines || (!isCovered && hidden === undefined))
    throw new Error(`${file} was not imported as a whole; the next run tries again`)
  // What changes cannot do, such as two apps that exchange their package names, the whole can.
  const isRefused = isCovered && status !== 0
  writeState(stateFile, { url: isRefused ? '' : url.href, time })()
  rmSync(file)
}

/** The source and the time of the last run; none if they cannot be read, so that all is imported. */
function readState(file: string): { url: string; time: string } {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { url: '', time: '' }
  }
}

function parseIndex(url: URL, content: string): Index {
  try {
    const index = JSON.parse(content)
    const { time, all, changes } = index
    const isTime = (value: string) => new Date(value).toISOString() === value
    const isPart = ({ file, bytes }: Part) => /^[\w.-]+$/.test(file) && bytes <= maxFileBytes
    if ([time, changes.since].every(isTime) && [all, changes].every(isPart)) return index
  } catch {}
  throw new Error(`${url} is not the index of a published export`)
}

/** The body of a response. Throws if it is longer than `max` bytes. */
async function* read(url: URL, max: number, timeout: number) {
  try {
    const signal = AbortSignal.timeout(timeout)
    const response = await fetch(url, { signal, headers: { 'Accept-Encoding': 'identity' } })
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`)
    let length = 0
    for await (const chunk of response.body) {
      length += chunk.length
      if (length > max) throw new Error(`it is longer than ${max} bytes`)
      yield chunk
    }
  } catch (error) {
    const { message, cause } = error as Error
    throw new Error(`cannot read ${url}: ${cause instanceof Error ? cause.message : message}`)
  }
}
