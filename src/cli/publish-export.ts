import {
  chmodSync,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import document from '../../generated/openapi.json' with { type: 'json' }
import { readConfig } from '../config.ts'
import type { DatabaseWithTools } from '../db/tools.ts'
import { type ExportOptions, exportCatalogue } from '../import-export/export-catalogue.ts'
import { hashFile } from '../util/file-system.ts'
import { claimRun } from './claim-run.ts'

/** Exports to files: to one, or to those that everybody can follow. */

/** Writes an export to a file, which is compressed if its name ends in .gz. */
export async function exportTo(path: string, database: DatabaseWithTools, options: ExportOptions) {
  const output = path.endsWith('.gz') ? createGzip() : new PassThrough()
  const written = pipeline(output, createWriteStream(path, { flush: true }))
  const exporting = exportCatalogue(database, output, options).finally(() => output.end())
  // Waits for both, because both must have ended before the database is closed.
  const [exported, end] = await Promise.allSettled([exporting, written])
  if (end.status === 'rejected') throw end.reason
  if (exported.status === 'rejected') throw exported.reason
  return exported.value
}

/** Milliseconds that the changes cover. */
const covered = 3 * 24 * 60 * 60 * 1000

/** Files of an index, and unfinished ones. */
const ownNames = /^(\.new-|(all|changes)-[\dTZ-]+\.ndjson\.gz$)/

/**
 * Writes all public data, their recent changes and, last, an index of both into a directory. Each
 * file is complete and on disk when it gets its name. Those of the former index stay until the next
 * run, for readers who have just read it. Returns undefined, having done nothing, if another run has
 * not ended.
 */
export async function publishExport(database: DatabaseWithTools, directory: string) {
  const pathOf = (name: string) => join(directory, name)
  using claim = claimRun(pathOf('.lock'))
  if (!claim) return undefined
  const indexFile = pathOf('index.json')
  function removeUnnamed() {
    const index = existsSync(indexFile) ? readFileSync(indexFile, 'utf8') : ''
    for (const name of readdirSync(directory))
      if (ownNames.test(name) && !index.includes(name)) rmSync(pathOf(name))
  }
  // Before anything is written: what a killed run has left could fill the disk.
  removeUnnamed()

  function putInPlace(path: string, target: string) {
    // Whatever the umask is: a web server reads it as another account.
    chmodSync(path, 0o644)
    renameSync(path, target)
  }
  async function publish(what: string, since?: string) {
    const path = pathOf(`.new-${what}.gz`)
    const exported = await exportTo(path, database, { isPublic: true, since })
    const { apps, removed, categories, next } = exported
    const sha256 = await hashFile(path)
    // With a colon, a relative URL would be an absolute one.
    const file = `${what}-${next.replaceAll(/[:.]/g, '-')}.ndjson.gz`
    const bytes = statSync(path).size
    putInPlace(path, pathOf(file))
    return { next, file, bytes, lines: apps + removed + categories, sha256 }
  }
  try {
    // The changes are of a later moment, so that both have everything before this one.
    const { next: time, ...all } = await publish('all')
    const since = new Date(Date.parse(time) - covered).toISOString()
    const { next: _, ...changes } = await publish('changes', since)
    const { baseUrl: base_url } = readConfig()
    const { version } = document.info
    const index = { time, version, base_url, all, changes: { ...changes, since } }
    const path = pathOf('.new-index')
    writeFileSync(path, `${JSON.stringify(index, null, 2)}\n`, { flush: true })
    putInPlace(path, indexFile)
    return index
  } catch (error) {
    removeUnnamed()
    throw error
  }
}
