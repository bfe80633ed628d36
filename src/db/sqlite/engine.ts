import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { OperatorError } from '../../contract/errors.ts'
import type { DatabaseOptions, Engine } from '../engine.ts'
import { UnusableDatabase } from '../error-meaning.ts'
import { pauseForOthers } from '../long-writes.ts'
import { openReader, openWriter } from './client.ts'
import { copyTo, withExclusiveLock } from './copy-file.ts'
import { databaseFile } from './database-file.ts'
import { explain, healthErrorOf, isBusy, isUnavailable } from './errors.ts'
import { groupCommit } from './group-commit.ts'
import { findOpenError, foreignDatabase, inspectFile } from './inspect-file.ts'
import { queryRunnerOf } from './query-runner.ts'
import { newFileMode, restoreFrom } from './restore-file.ts'
import { schema } from './schema.ts'
import { mergeSegments } from './search.ts'

/**
 * Each operation occupies one of the threads that main.ts requests. Expensive ones leave a
 * processor to the others.
 */
const concurrency = {
  cheap: 4,
  expensive: Math.max(1, Math.min(3, availableParallelism() - 1)),
  write: 1,
}

/** A commit costs as much as several writes. */
const groupCommitSize = 32

/** A database in one file, with one writer at a time and concurrent readers. */
export function openSqlite(filename: string, { lockTimeout }: DatabaseOptions = {}): Engine {
  const file = databaseFile(filename)
  const writer = openWriter(filename, file, lockTimeout)
  const { transaction, isLockedOut } = groupCommit(writer)
  const reader = openReader(filename, file, concurrency.cheap + concurrency.expensive)
  const versionReader = openReader(filename, file, 1)

  const lockAdvice = `Another program holds the write lock of ${filename}: wait for it, or end it.`

  async function checkpoint() {
    // Not TRUNCATE: writers would wait until the last reader has ended
    // (https://sqlite.org/pragma.html).
    await writer.raw('pragma wal_checkpoint(passive)')
  }

  return {
    name: filename,
    async checkHealth() {
      if (!file.isOpen()) return findOpenError(filename)
      try {
        const fileError = await file.checkHealth()
        if (fileError !== undefined) return fileError
        // Read from the disk: cached pages do not show damage.
        await versionReader.raw('pragma shrink_memory')
        await versionReader('knex_migrations').count()
      } catch (error) {
        if (error instanceof UnusableDatabase) return error.message
        if (isUnavailable(error)) return healthErrorOf(error) ?? 'does not answer'
        throw error
      }
    },

    reader,
    writer,
    transaction,
    groupCommitSize,
    findLock: () => (isLockedOut() ? lockAdvice : undefined),
    versionReader,
    concurrency,
    queryRunnerOf,
    async migrate(work) {
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
    explain(error) {
      const meaning = explain(error)
      return isBusy(error) ? { ...meaning, advice: lockAdvice } : meaning
    },
    // There is one writer at a time, so all earlier ones have ended.
    committedBefore: () => writer.transaction(async () => new Date()),
    // For the same reason ids are committed in their order. It does not take the write lock, for
    // which it could wait too long while others write without a pause.
    waitForSmallerIds: async () => {},
    // With its own connection, so that the writer stays free; readers cannot run VACUUM.
    copyTo: (target, options) =>
      copyTo(openWriter(filename, databaseFile(filename)), filename, target, options),
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
