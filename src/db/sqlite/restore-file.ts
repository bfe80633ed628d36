import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'
import { formatCommand } from '../../util/command.ts'
import { linkIntoPlace, syncToDisk } from '../../util/file-system.ts'
import { withTemporaryDirectory } from '../../util/temporary-directory.ts'
import { migrationErrors } from '../schema-age.ts'
import type { RestoreResult } from '../tools.ts'
import { openForInspection } from './client.ts'
import { lockExclusively, withExclusiveLock, writeCopy } from './copy-file.ts'
import { explain, isDamage } from './errors.ts'
import { foreignDatabase, inspectFile, unreadable } from './inspect-file.ts'

/** Permissions of a new database, of which the umask takes some away. */
export const newFileMode = 0o660

/** Milliseconds. A process that waits for a lock tries again after at most 100. */
const lockRetryTime = 250

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
  // SQLite keeps the log beside the file that a symbolic link leads to.
  const target = existsSync(filename) ? realpathSync(filename) : filename
  if (target === realpathSync(backup)) throw new OperatorError(`${backup} is the database itself`)
  const directory = dirname(target)
  if (!existsSync(directory)) mkdirSync(directory)
  return withTemporaryDirectory(directory, 'apps-restore', onStop, async (temporary, commit) => {
    const copy = join(temporary, 'restored.sqlite')
    await createFileFor(target, copy)
    const former = await lockFormer(target)
    try {
      const copied = await copyBackup(backup, copy)
      await syncToDisk(copy, 'r+')
      const replaced = await withExclusiveLock(copy, async () => {
        const replaced = replaceDatabase(target, copy)
        commit()
        await syncToDisk(directory, 'r')
        await former?.destroy()
        // Processes that have opened the former file would take a new log or journal of the restored
        // one for its own, so those that wait for its lock get it before any can be written.
        if (former) await delay(lockRetryTime)
        return replaced
      })
      return { ...copied, replaced }
    } finally {
      await former?.destroy()
    }
  })
}

/**
 * Creates the file that will take the target's place, with the same owner and permissions. If there
 * is none yet, and root creates it, the owner of the directory gets it, as whom the server runs.
 */
async function createFileFor(target: string, file: string) {
  await using handle = await open(file, 'wx', newFileMode)
  const former = statSync(target, { throwIfNoEntry: false })
  const account = process.getuid?.()
  if (!former && account !== 0) return
  const { uid, gid } = former ?? statSync(dirname(target))
  await handle.chown(uid, gid).catch(() => {
    const sudo = uid === account ? 'sudo' : `sudo -u '#${uid}'`
    throw new OperatorError(
      `${target} belongs to user ${uid} and group ${gid}, to whom this account cannot give a file; nothing was changed. Run: ${sudo} ${formatCommand('restore FILE')}`,
    )
  })
  if (former) await handle.chmod(former.mode)
}

async function assertOwnBackup(backup: string) {
  const kind = await inspectFile(backup).catch((error: unknown) => throwProblem(backup, error))
  if (kind === 'empty') throw new OperatorError(`${backup} is an empty database`)
  if (kind === 'foreign') throw new OperatorError(`${backup} is a database of another program`)
}

/**
 * Locks the database, unless there is none, or it is so damaged that it cannot be locked. Moves its
 * log into it, and leaves WAL mode: SQLite then refuses the writes of processes that have opened the
 * file before it was moved, so none leaves a log beside the restored one.
 */
async function lockFormer(filename: string): Promise<Knex | undefined> {
  if (!existsSync(filename)) return
  let sql: Knex | undefined
  try {
    if ((await inspectFile(filename)) === 'foreign')
      throw new OperatorError(`${filename} ${foreignDatabase}`)
    sql = await lockExclusively(filename)
    await sql.raw('pragma journal_mode = delete')
    // Neither holds anything now. SQLite would remove the journal at the end, and leave the other.
    for (const suffix of ['-shm', '-journal']) rmSync(filename + suffix, { force: true })
  } catch (error) {
    if (!isDamage(error)) {
      await sql?.destroy()
      throw error
    }
  }
  return sql
}

async function copyBackup(backup: string, file: string) {
  const source = openForInspection(backup, existsSync(`${backup}-wal`))
  const { size } = statSync(backup)
  const { apps, schemaAge, damage } = await writeCopy(source, file, { size, verify: true }).catch(
    (error: unknown) => throwProblem(backup, error),
  )
  const reason = migrationErrors[schemaAge]
  if (reason) throw new OperatorError(`${backup} ${reason}`)
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
