import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperatorError } from '../../contract/errors.ts'
import { linkIntoPlace, syncToDisk } from '../../util/file-system.ts'
import { withTemporaryDirectory } from '../../util/temporary-directory.ts'
import type { RestoreResult } from '../engine.ts'
import { schemaErrors } from '../migrations.ts'
import { openForInspection } from './client.ts'
import { withExclusiveLock, writeCopy } from './copy-file.ts'
import { explain, isDamage } from './errors.ts'
import { foreignDatabase, inspectFile, unreadable } from './inspect-file.ts'

/** Permissions of a new database, of which the umask takes some away. */
export const newFileMode = 0o664

/**
 * Moves the database aside, and puts a verified copy of the backup in its place. Throws
 * OperatorErrors and errors of the file system; the database is then where it was. Calls `onStop`
 * if a signal ends the process before that.
 */
export async function restoreFrom(
  filename: string,
  backup: string,
  onStop: (signal: NodeJS.Signals) => void,
): Promise<RestoreResult> {
  await assertOwnBackup(backup)
  const isNew = !existsSync(filename)
  // SQLite keeps the log beside the file that a symbolic link leads to.
  const target = isNew ? filename : realpathSync(filename)
  const mode = isNew ? newFileMode : statSync(target).mode
  if (target === realpathSync(backup)) throw new OperatorError(`${backup} is the database itself`)
  const directory = dirname(target)
  if (!existsSync(directory)) mkdirSync(directory)
  return withTemporaryDirectory(directory, 'apps-restore', onStop, async (temporary, commit) => {
    const copy = join(temporary, 'restored.sqlite')
    const copied = await whileUnused(target, () => copyBackup(backup, copy, mode))
    await syncToDisk(copy, 'r+')
    const replaced = replaceDatabase(target, copy)
    commit()
    await syncToDisk(directory, 'r')
    return { ...copied, replaced }
  })
}

async function assertOwnBackup(backup: string) {
  const kind = await inspectFile(backup).catch((error: unknown) => throwProblem(backup, error))
  if (kind === 'empty') throw new OperatorError(`${backup} is an empty database`)
  if (kind === 'foreign') throw new OperatorError(`${backup} is a database of another program`)
}

/**
 * Runs the work while no other process can open the database. Afterwards its log is part of it. A
 * file that is not a database cannot be locked.
 */
async function whileUnused<T>(filename: string, work: () => Promise<T>): Promise<T> {
  if (!existsSync(filename)) return work()
  try {
    if ((await inspectFile(filename)) === 'foreign')
      throw new OperatorError(`${filename} ${foreignDatabase}`)
    return await withExclusiveLock(filename, work)
  } catch (error) {
    if (isDamage(error)) return work()
    throw error
  }
}

async function copyBackup(backup: string, file: string, mode: number) {
  const source = openForInspection(backup, existsSync(`${backup}-wal`))
  const { size } = statSync(backup)
  const { apps, schemaAge, damage } = await writeCopy(source, file, {
    mode,
    size,
    verify: true,
  }).catch((error: unknown) => throwProblem(backup, error))
  if (schemaAge === 'newer') throw new OperatorError(`${backup} ${schemaErrors.newer}`)
  if (damage !== undefined) throw new OperatorError(`${backup} is damaged: ${damage}`)
  return { apps, bytes: statSync(file).size, needsMigration: schemaAge === 'older' }
}

function throwProblem(backup: string, error: unknown): never {
  if (isDamage(error)) throw new OperatorError(`${backup} ${unreadable}`)
  const { reason } = explain(error)
  throw reason ? new OperatorError(`${backup} cannot be copied: ${reason}`) : error
}

/** Returns the name that the database, or a log without one, has now. */
function replaceDatabase(filename: string, copy: string): string | undefined {
  const aside = `${filename}.replaced-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`
  // SQLite would apply a log to the restored database. A damaged database still has its own.
  const logs = ['-wal', '-shm', '-journal'].filter((suffix) => existsSync(filename + suffix))
  const isReplacement = existsSync(filename)
  try {
    for (const suffix of logs) renameSync(filename + suffix, aside + suffix)
    if (isReplacement) linkIntoPlace(filename, aside)
    renameSync(copy, filename)
  } catch (error) {
    // A rename does nothing if both are names of the same file.
    if (existsSync(aside)) renameSync(aside, filename)
    rmSync(aside, { force: true })
    for (const suffix of logs)
      if (existsSync(aside + suffix)) renameSync(aside + suffix, filename + suffix)
    throw error
  }
  return isReplacement || logs.length > 0 ? aside : undefined
}
