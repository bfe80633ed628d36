import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { OperatorError } from '../../contract/errors.ts'
import type { Engine } from '../engine.ts'
import { pauseForOthers } from '../long-writes.ts'
import type { EngineTools } from '../tools.ts'
import { openWriter } from './client.ts'
import { copyTo, withExclusiveLock } from './copy-file.ts'
import { DatabaseFile } from './database-file.ts'
import { isBusy } from './errors.ts'
import { foreignDatabase, inspectFile } from './inspect-file.ts'
import { newFileMode, restoreFrom } from './restore-file.ts'
import { schema } from './schema.ts'
import { mergeSegments } from './search.ts'

/** The engine's name is its file. */
export function sqliteTools({ name: filename, writer }: Engine): EngineTools {
  async function checkpoint() {
    // Not TRUNCATE: writers would wait until the last reader has ended
    // (https://sqlite.org/pragma.html).
    await writer.raw('pragma wal_checkpoint(passive)')
  }

  return {
    async withMigrationLock(work) {
      await createFile(filename)
      // Repeats while another process holds the write lock.
      for (const begin = performance.now(); ; ) {
        try {
          return await writer.transaction((sql) => work(sql, schema))
        } catch (error) {
          if (!isBusy(error) || performance.now() - begin > migrationTimeout) throw error
        }
      }
    },
    // There is one writer at a time, so all earlier ones have ended.
    committedBefore: () => writer.transaction(async () => new Date()),
    // For the same reason ids are committed in their order. It does not take the write lock, for
    // which it could wait too long while others write without a pause.
    waitForSmallerIds: async () => {},
    // With its own connection, so that the writer stays free; readers cannot run VACUUM.
    copyTo: (target, options) =>
      copyTo(openWriter(filename, new DatabaseFile(filename)), filename, target, options),
    restoreFrom: (backup, onStop) => restoreFrom(filename, backup, onStop),
    withExclusiveLock: (work) => withExclusiveLock(filename, work),
    async optimize({ isLast }) {
      if (isLast) await mergeSegments(writer, pauseForOthers({ optimize: checkpoint }))
      await checkpoint()
    },
  }
}

function throwUnlessExists({ code, errno = 0, path }: NodeJS.ErrnoException) {
  if (code !== 'EEXIST')
    throw new OperatorError(`cannot create ${path}: ${getSystemErrorMessage(errno)}`)
}

/**
 * Creates the file if it is missing. SQLite gives its other files the same permissions, which the
 * umask decides: that of the image shares them with the group. Throws an OperatorError if it is
 * another program's.
 */
async function createFile(filename: string) {
  // Not its parents: a path with a typo would become a second catalogue.
  await mkdir(dirname(filename)).catch(throwUnlessExists)
  await writeFile(filename, '', { flag: 'wx', mode: newFileMode }).catch(throwUnlessExists)
  if ((await inspectFile(filename)) === 'foreign') throw new OperatorError(`it ${foreignDatabase}`)
}

/**
 * Milliseconds to wait for another process's migrations: the index of a million apps takes minutes.
 */
const migrationTimeout = 30 * 60_000
