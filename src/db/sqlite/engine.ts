import { availableParallelism } from 'node:os'
import type { DatabaseOptions, Engine } from '../engine.ts'
import { UnusableDatabase } from '../error-meaning.ts'
import { openReader, openWriter } from './client.ts'
import { DatabaseFile } from './database-file.ts'
import { explain, healthErrorOf, isBusy, isUnavailable } from './errors.ts'
import { groupCommit } from './group-commit.ts'
import { findOpenError } from './inspect-file.ts'
import { queryRunnerOf } from './query-runner.ts'

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
  const file = new DatabaseFile(filename)
  const writer = openWriter(filename, file, lockTimeout)
  const { transaction, isLockedOut } = groupCommit(writer)
  const reader = openReader(filename, file, concurrency.cheap + concurrency.expensive)
  const versionReader = openReader(filename, file, 1)

  const lockAdvice = `Another program holds the write lock of ${filename}: wait for it, or end it.`

  return {
    name: filename,
    async checkHealth() {
      if (!file.isOpen) return findOpenError(filename)
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
    explain(error) {
      const meaning = explain(error)
      return isBusy(error) ? { ...meaning, advice: lockAdvice } : meaning
    },
  }
}
