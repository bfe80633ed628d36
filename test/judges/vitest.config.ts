import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

const { projects: _, globalSetup = [], ...shared } = base.test ?? {}

/** The judges: foreign clients and tools, and the benchmark, named *.judge.ts so that `make test` does not take them for its own. */
export default defineConfig({
  test: {
    ...shared,
    globalSetup: ['test/support/world.ts', ...globalSetup],
    include: ['test/{judges,bench}/**/*.judge.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
