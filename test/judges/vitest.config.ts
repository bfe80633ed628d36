import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'
import { longestFirst } from '../support/longest-first.ts'

const { projects: _, globalSetup = [], ...shared } = base.test ?? {}

/** The judges: third-party tools. `make test` does not run *.judge.ts. */
export default defineConfig({
  test: {
    ...shared,
    globalSetup: ['test/support/world.ts', ...globalSetup],
    include: ['test/judges/**/*.judge.ts'],
    sequence: {
      sequencer: longestFirst(
        ...['moderation-page', 'pages', 'proxy', 'samples', 'clients', 'shop-window'],
      ),
    },
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
