import { stat, statfs, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Knex } from 'knex'
import { OperatorError, ServiceError } from '../../contract/errors.ts'
import { idLimit } from '../../search/terms.ts'
import { countRows } from '../engine.ts'
import { listedCondition } from '../listed-apps.ts'
import { readSchemaAge, type SchemaAge } from '../schema-age.ts'
import { openCopy, openExclusive } from './client.ts'
import { explain, isBusy } from './errors.ts'

/**
 * Copies a snapshot of the database at `filename` into the new `file`, and closes the source. No
 * writer waits for it; the log grows meanwhile.
 */
export async function copyTo(
  source: Knex,
  filename: string,
  file: string,
  { verify }: { verify: boolean },
): Promise<{ apps: number }> {
  const { mode, size } = await stat(filename)
  // SQLite would make the copy readable by everyone.
  await writeFile(file, '', { flag: 'wx', mode })
  const copying = writeCopy(source, file, { size, verify })
  const { apps, schemaAge, damage } = await copying.catch((error: unknown) => {
    const { reason } = explain(error)
    throw reason
      ? new ServiceError('unavailable', `the database cannot be copied: ${reason}`)
      : error
  })
  const problem = damage ?? (schemaAge === 'current' ? undefined : 'migrations are missing')
  if (verify && problem !== undefined)
    throw new OperatorError(`the copy is damaged, and the database itself may be, too: ${problem}`)
  return { apps }
}

/**
 * Writes a snapshot of `size` bytes into the empty `file`, and closes the source. The copy is
 * compact and not in WAL mode, so it needs no file beside it (https://sqlite.org/lang_vacuum.html).
 */
export async function writeCopy(
  source: Knex,
  file: string,
  { size, verify }: { size: number; verify: boolean },
): Promise<{ apps: number; schemaAge: SchemaAge; damage: string | undefined }> {
  const copy = openCopy(file)
  try {
    await assertDiskSpace(file, size)
    await source.raw('vacuum into ?', [file])
    const damage = verify ? await findDamage(copy) : undefined
    const apps = await countRows(copy('apps'))
    return { apps, schemaAge: await readSchemaAge(copy), damage }
  } finally {
    await Promise.all([source.destroy(), copy.destroy()])
  }
}

/** See `lockExclusively`. */
export async function withExclusiveLock<T>(
  filename: string,
  work: (sql: Knex) => Promise<T>,
): Promise<T> {
  const sql = await lockExclusively(filename)
  try {
    return await work(sql)
  } finally {
    await sql.destroy()
  }
}

/**
 * Returns a connection; until it is closed, no other process can read or write the file. Throws an
 * OperatorError if one does (https://sqlite.org/pragma.html#pragma_locking_mode). Meanwhile this
 * process must not open the file otherwise: closing that would release the lock
 * (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
export async function lockExclusively(filename: string): Promise<Knex> {
  const sql = openExclusive(filename)
  try {
    // A mere read does not exclude other readers from a file that is not in WAL mode.
    await sql.raw('begin exclusive')
    await sql.raw('commit')
    return sql
  } catch (error) {
    await sql.destroy()
    throw isBusy(error)
      ? new OperatorError(
          `${filename} is in use; stop the server and every other program that has it open`,
        )
      : error
  }
}

/** Checked first, so that a copy does not fill a disk that the service writes to. */
async function assertDiskSpace(file: string, bytes: number) {
  const { bavail, bsize } = await statfs(dirname(file))
  const free = bavail * bsize
  if (free >= bytes) return
  const megabytes = (count: number) =>
    `${(count / 1e6).toLocaleString('en', { maximumSignificantDigits: 2 })} MB`
  throw new OperatorError(
    `a copy needs ${megabytes(bytes)}, but ${dirname(file)} has only ${megabytes(free)} free`,
  )
}

/**
 * The first damage found. `integrity_check` covers the full-text index too, whose own
 * 'integrity-check' would have to write (https://sqlite.org/pragma.html#pragma_integrity_check).
 * The last query checks that the index has exactly the listed apps: `app_search` has an app's rank
 * as its rowid, and `app_search_apps` maps ids to ranks. Other schemas have other tables.
 */
async function findDamage(sql: Knex): Promise<string | undefined> {
  const [check] = await sql.raw('pragma integrity_check(1)')
  if (check.integrity_check !== 'ok') return check.integrity_check.replaceAll('\n', ' ')
  const [orphan] = await sql.raw('select * from pragma_foreign_key_check limit 1')
  if (orphan) return `a row of ${orphan.table} refers to a missing row of ${orphan.parent}`
  if ((await readSchemaAge(sql)) !== 'current') return undefined
  const listedIds = `select id from apps where ${listedCondition}`
  const indexedIds = 'select app_id from app_search_apps'
  const [difference] = await sql.raw(
    `select
       (select count(*) from (
         ${listedIds} except ${indexedIds} where rank in (select rowid from app_search))) as missing,
       (select count(*) from (
         select rowid % ${idLimit} from app_search union ${indexedIds} except ${listedIds})) as extra`,
  )
  if (difference.missing + difference.extra === 0) return undefined
  const { missing, extra } = difference
  return `the search index lacks ${missing} of the listed apps, and has ${extra} that are not listed`
}
