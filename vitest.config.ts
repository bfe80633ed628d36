import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { engines, filesOf, withoutEngine } from './test/support/engines.ts'
import { configuredServer, hasPostgres } from './test/support/postgres.ts'

// As main.ts has it: each connection of a database has a thread of its own. The workers inherit it.
process.env.UV_THREADPOOL_SIZE = '8'

/**
 * Where tests have their files: in memory, where the machine has a folder there with room. Nothing of theirs need survive, and
 * a database of PostgreSQL's, some 300 files, is made and dropped there in a fraction of the time that a disk takes.
 */
const scratch = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 2 ** 30
  } catch {
    return false
  }
}

const summary = process.env.TEST_SUMMARY

export default defineConfig({
  test: {
    // One group after the other. To vitest, 0 is no order: where there is one worker, such files come last.
    projects: [
      ...(hasPostgres ? engines : engines.slice(0, 1)).map((name) => ({
        test: {
          name,
          include: ['test/**/*.test.ts'],
          exclude: [
            ...configDefaults.exclude,
            ...withoutEngine,
            ...engines.filter((other) => other !== name).map(filesOf),
          ],
          globalSetup: ['test/support/world.ts'],
          env: { TMPDIR: scratch },
          // All files share a server that is given: what one writes there is another version of the data to the others.
          ...(name === 'postgres' && configuredServer !== undefined
            ? { fileParallelism: false, sequence: { groupOrder: 2 } }
            : { sequence: { groupOrder: 1 } }),
        },
      })),
      { test: { name: 'once', include: withoutEngine, env: { TMPDIR: scratch }, sequence: { groupOrder: 1 } } },
      // What looks back at all others.
      { test: { name: 'last', include: ['test/**/*.last.ts'], sequence: { groupOrder: 3 } } },
    ],
    globalSetup: ['test/contract/coverage.ts'],
    reporters: [
      'default',
      ...(summary ? [['./test/support/summary.ts', { file: summary }] as [string, Record<string, unknown>]] : []),
    ],
    // Half of the cores would be left to do nothing: tests wait for processes of their own.
    maxWorkers: '100%',
    // What is waited for comes when it comes: on a busy machine, where each of a test's processes waits for its turn, late.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
