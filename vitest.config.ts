import { accessSync, constants, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { configuredServer, hasPostgres } from './test/support/postgres.ts'
import { isShortRun } from './test/support/short-run.ts'

// One thread per database connection, as in src/main.ts. The workers inherit it.
process.env.UV_THREADPOOL_SIZE = '8'

// So that tests fail where local time is taken for UTC.
process.env.TZ = 'America/New_York'

// So that tests fail where a text or number depends on the locale: in Turkish, the lower case of I
// is ı, and 1.5 is 1,5. Node reads it at its start, so only workers and their processes have it.
process.env.LC_ALL = 'tr_TR.UTF-8'

// Test files are in memory if there is space, because creating a PostgreSQL database writes 300
// files.
if (hasSpace('/dev/shm')) process.env.TMPDIR = '/dev/shm'

function hasSpace(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 2 ** 30
  } catch {
    return false
  }
}

if (isShortRun) {
  process.env.FUZZ_RUNS ??= '400'
  // A change must not fail by a mistake that it did not make.
  process.env.FUZZ_SEED ??= '1'
  // Each kind of write once.
  process.env.FRESHNESS_STEPS ??= '17'
}

const summary = process.env.TEST_SUMMARY

const engines = ['sqlite', 'postgres']

/** Test files that run on an engine: those for every engine, and those for this one. */
const filesOn = (engine: string) => `test/**/*.{engines,${engine}}.test.ts`

export default defineConfig({
  test: {
    // Groups run one after the other, from 1: with one worker, vitest runs group 0 last.
    projects: [
      ...(hasPostgres ? engines : engines.slice(0, 1)).map((name) => ({
        test: {
          name,
          include: [filesOn(name)],
          globalSetup: ['test/support/world.ts'],
          isolate: false,
          // Test files share a configured server, and writes of one would invalidate the response
          // caches of others.
          ...(name === 'postgres' && configuredServer !== undefined
            ? { fileParallelism: false, sequence: { groupOrder: 2 } }
            : { sequence: { groupOrder: 1 } }),
        },
      })),
      {
        test: {
          name: 'once',
          // On SQLite, if they need a database.
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...engines.map(filesOn)],
          globalSetup: ['test/support/world.ts'],
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      // Checks what the other tests covered.
      { test: { name: 'last', include: ['test/**/*.last.ts'], sequence: { groupOrder: 3 } } },
    ],
    globalSetup: ['test/contract/coverage.ts'],
    reporters: [
      'default',
      ...(summary
        ? [['./test/support/summary.ts', { file: summary }] as [string, Record<string, unknown>]]
        : []),
    ],
    // More than cores, because tests wait for child processes, timers and PostgreSQL.
    maxWorkers: availableParallelism() * 2,
    // On a busy machine, a test's processes may have to wait for a core.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
