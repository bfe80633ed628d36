import { statSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// As in the suite's own.
process.env.UV_THREADPOOL_SIZE = '8'

/** Files and folders that TESTS names, with commas between. */
const told = (process.env.TESTS || 'test').split(',')

/** In the order that they are named, and the small ones first: what is tried ends with the first test that sees the mistake. */
class SoonestSeen extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const rank = ({ moduleId }: TestSpecification) => told.findIndex((name) => moduleId.includes(`/${name}`))
    const size = ({ moduleId }: TestSpecification) => statSync(moduleId).size
    return files.toSorted((one, other) => rank(one) - rank(other) || size(one) - size(other))
  }
}

// Chance would decide whether they see a mistake, or how long they take.
process.env.FUZZ_RUNS ??= '200'
process.env.MIRROR_SEED ??= '1'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'sqlite',
          include: told.map((name) => (name.endsWith('.ts') ? name : `${name}/**/*.test.ts`)),
          exclude: [
            ...configDefaults.exclude,
            'test/**/*.postgres.test.ts',
            // They read the code, which looks another with all the mistakes in it.
            'test/documentation.test.ts',
            'test/rooms.test.ts',
          ],
          globalSetup: ['test/support/world.ts'],
          setupFiles: ['test/mutants/setup.ts'],
        },
      },
    ],
    globalSetup: ['test/contract/coverage.ts'],
    sequence: { sequencer: SoonestSeen },
    // Shorter than in the suite's own: many a mistake has its tests wait for what never comes.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 8_000 } },
  },
})
