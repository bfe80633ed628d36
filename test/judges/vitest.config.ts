import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'
import { longestFirst } from '../support/longest-first.ts'

const { projects: _, globalSetup = [], ...shared } = base.test ?? {}

/**
 * The judges: third-party clients and tools, and the benchmark. `make test` does not run
 * *.judge.ts.
 */
export default defineConfig({
  test: {
    ...shared,
    globalSetup: ['test/support/world.ts', ...globalSetup],
    include: ['test/{judges,bench}/**/*.judge.ts'],
    sequence: {
      sequencer: longestFirst(
        ...['clients', 'moderation-page', 'pages', 'proxy', 'package', 'one-server', 'samples'],
        ...['shop-window', 'bench', 'archive'],
      ),
    },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
