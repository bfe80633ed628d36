import { statSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// As in the suite's own configuration.
process.env.UV_THREADPOOL_SIZE = '8'
process.env.TZ = 'America/New_York'

/** Files and folders in TESTS, separated by commas. */
const named = (process.env.TESTS || 'test').split(',')

/** In the order of TESTS, small files first: a mutant's run ends with the first test that fails. */
class SmallestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const rank = ({ moduleId }: TestSpecification) =>
      named.findIndex((name) => moduleId.includes(`/${name}`))
    const size = ({ moduleId }: TestSpecification) => statSync(moduleId).size
    return files.toSorted((one, other) => rank(one) - rank(other) || size(one) - size(other))
  }
}

// Random tests must give the same result for a mutant in every run, and be short.
process.env.FUZZ_RUNS ??= '200'
process.env.MIRROR_SEED ??= '1'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'sqlite',
          include: named.map((name) => (name.endsWith('.ts') ? name : `${name}/**/*.test.ts`)),
          exclude: [
            ...configDefaults.exclude,
            'test/**/*.postgres.test.ts',
            // These read the source code, which is instrumented here.
            'test/documentation.test.ts',
            'test/layers.test.ts',
          ],
          globalSetup: ['test/support/world.ts'],
          setupFiles: ['test/mutants/setup.ts'],
        },
      },
    ],
    globalSetup: ['test/contract/coverage.ts'],
    sequence: { sequencer: SmallestFirst },
    // Shorter than in the suite: many mutants make their tests wait until the timeout.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 8_000 } },
  },
})
