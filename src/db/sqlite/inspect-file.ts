import { access, constants } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tildeAdvice } from '../../util/text.ts'
import { notCreated, notMigrated } from '../engine.ts'
import { openForInspection } from './client.ts'
import { isDiskFull } from './database-file.ts'
import { diskFull, isBusy, isDamage } from './errors.ts'

/**
 * Classifies a file: empty, a database of this program, or another program's. Does not change a
 * byte of it.
 */
export async function inspectFile(filename: string): Promise<'empty' | 'own' | 'foreign'> {
  const sql = openForInspection(filename, (await canAccess(`${filename}-wal`)) === true)
  try {
    const rows: { name: string }[] = await sql.raw(
      "select name from sqlite_schema where type = 'table'",
    )
    const tables = new Set(
      rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_')),
    )
    if (tables.isSupersetOf(ownTables)) return 'own'
    return tables.isSubsetOf(migrationTables) ? 'empty' : 'foreign'
  } finally {
    await sql.destroy()
  }
}

/** Other programs use knex for their migrations, too. */
const ownTables = new Set(['knex_migrations', 'apps', 'audit'])
/** knex creates these before the first migration, which may have been interrupted. */
const migrationTables = new Set(['knex_migrations', 'knex_migrations_lock'])

export const foreignDatabase = 'belongs to another program; set DATABASE_URL to another file'
export const unreadable = 'is not a SQLite database or is damaged'
const staleLogAdvice =
  'if another file was put in its place, move the former -wal and -shm files away'

/**
 * Why the file cannot be opened as the service's database, such as "does not exist"; undefined if
 * it can.
 */
export async function findOpenError(filename: string): Promise<string | undefined> {
  const canWrite = await canAccess(filename, constants.R_OK | constants.W_OK)
  if (canWrite === 'ENOENT') {
    const hasTilde = /\/~[^/]*\//.test(filename)
    return hasTilde ? `does not exist; ${tildeAdvice}` : notCreated
  }
  if (canWrite !== true) return 'is not readable and writable'
  const directory = dirname(filename)
  if ((await canAccess(directory, constants.W_OK | constants.X_OK)) !== true) {
    return `cannot be used: ${directory} is not writable, and SQLite keeps the database's log there`
  }
  try {
    return { own: undefined, empty: notMigrated, foreign: foreignDatabase }[
      await inspectFile(filename)
    ]
  } catch (error) {
    if (isBusy(error)) return 'is locked by another process'
    if (await isDiskFull(filename)) return diskFull
    const log = `${filename}-wal`
    const hasLog = isDamage(error) && (await canAccess(log)) === true
    return hasLog ? `${unreadable}, and ${log} is beside it; ${staleLogAdvice}` : unreadable
  }
}

/** True, or the code of the error. */
const canAccess = (path: string, mode: number = constants.F_OK) =>
  access(path, mode).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code,
  )
