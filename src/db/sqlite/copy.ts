import { stat, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'
import { withPrivateDirectory } from '../../util/private-directory.ts'
import type { Engine } from '../dialect.ts'
import { listed } from '../tables.ts'
import { openCopy, openExclusive } from './client.ts'
import { isUnavailable } from './errors.ts'

/**
 * Copies the database, as it is when this begins, into a new file. It reads one snapshot and takes no lock that a writer
 * waits for; while it lasts the log only grows. The copy is packed and not in WAL mode, so it needs no file beside it
 * (https://sqlite.org/lang_vacuum.html).
 */
export async function copyTo<T>(
  openSource: () => Knex,
  filename: string,
  file: string,
  inspect: (copy: Knex) => Promise<T>,
): Promise<T> {
  await writeCopy(openSource, filename, file)
  const copy = openCopy(file)
  try {
    const damage = await findDamage(copy)
    if (damage !== undefined)
      throw new OperatorError(`the copy is not sound, and the database itself may not be: ${damage}`)
    return await inspect(copy)
  } finally {
    await copy.destroy()
  }
}

async function writeCopy(openSource: () => Knex, filename: string, file: string, advice = '') {
  // A connection of its own, since query_only refuses this to readers.
  const source = openSource()
  try {
    const { mode } = await stat(filename)
    await assertDiskSpace(file, await estimateCopySize(source), advice)
    // Made here, for nobody to read who may not read the database: SQLite would make it readable to all.
    await writeFile(file, '', { flag: 'wx', mode })
    await source.raw('vacuum into ?', [file])
  } finally {
    await source.destroy()
  }
}

/** Works on a copy where temporary files are kept, which is gone when the work ends. */
export const dryRun = <T>(
  openSource: () => Knex,
  filename: string,
  open: (copy: string) => Engine,
  work: (engine: Engine) => Promise<T>,
): Promise<T> =>
  withPrivateDirectory(
    tmpdir(),
    'apps-rehearsal',
    () => {},
    async (folder) => {
      const file = join(folder, 'copy.sqlite')
      await writeCopy(openSource, filename, file, `, in ${tmpdir()}; TMPDIR names another folder`)
      const engine = open(file)
      try {
        return await work(engine)
      } finally {
        await engine.close()
      }
    },
  )

/**
 * Where another process has the file open, to read or to write, it cannot be had alone; the lock is held until the
 * connection is closed (https://sqlite.org/pragma.html#pragma_locking_mode).
 */
export async function withExclusiveLock<T>(filename: string, work: (sql: Knex) => Promise<T>): Promise<T> {
  const sql = openExclusive(filename)
  try {
    await sql.raw('select count(*) from sqlite_schema').catch((error: unknown) => {
      throw isUnavailable(error)
        ? new OperatorError(`${filename} is in use; stop the server, and whatever else has it open`)
        : error
    })
    return await sql.transaction(work)
  } finally {
    await sql.destroy()
  }
}

/** Refuses what would not fit, before it fills a disk that the service may be writing to. */
async function assertDiskSpace(file: string, bytes: number, advice: string) {
  const { bavail, bsize } = await statfs(dirname(file))
  const free = bavail * bsize
  if (free >= bytes) return
  const megabytes = (count: number) => `${(count / 1e6).toLocaleString('en', { maximumSignificantDigits: 2 })} MB`
  throw new OperatorError(
    `a copy takes ${megabytes(bytes)}, ${megabytes(bytes - free)} more than there is room for${advice}`,
  )
}

/** Bytes: how large a copy may become. */
async function estimateCopySize(sql: Knex): Promise<number> {
  const [row] = await sql.raw(
    `select (page_count - freelist_count) * page_size as bytes
     from pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )
  return row.bytes
}

/**
 * The first thing that is wrong with the file or what refers to what in it. `integrity_check` looks into the full-text index
 * too, whose own 'integrity-check' would have to write (https://sqlite.org/pragma.html#pragma_integrity_check); that it
 * holds the listed apps, no more and no fewer, only a comparison tells.
 */
async function findDamage(sql: Knex): Promise<string | undefined> {
  const [check] = await sql.raw('pragma integrity_check(1)')
  if (check.integrity_check !== 'ok') return check.integrity_check.replaceAll('\n', ' ')
  const [orphan] = await sql.raw('select * from pragma_foreign_key_check limit 1')
  if (orphan) return `a row of ${orphan.table} refers to a row of ${orphan.parent} that is not there`
  const listedIds = `select id from apps where ${listed}`
  const indexedIds = 'select rowid from app_search'
  const [difference] = await sql.raw(
    `select (select count(*) from (${listedIds} except ${indexedIds})) as missing,
            (select count(*) from (${indexedIds} except ${listedIds})) as extra`,
  )
  if (difference.missing + difference.extra === 0) return undefined
  return `the search index lacks ${difference.missing} of the listed apps, and has ${difference.extra} that are not listed`
}
