import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'
import { longestFirst } from '../support/longest-first.ts'
import { isShortRun } from '../support/short-run.ts'

const { projects: _, globalSetup = [], ...shared } = base.test ?? {}

/**
 * Faults with real processes, sockets and disks. They run one at a time, because each needs the
 * whole machine, except in the short run, which mostly waits.
 */
export default defineConfig({
  test: {
    ...shared,
    globalSetup: ['test/support/world.ts', ...globalSetup],
    include: ['test/faults/**/*.fault.ts'],
    // They print figures.
    disableConsoleIntercept: true,
    fileParallelism: isShortRun,
    // As in the suite: its modules need not be loaded again for each file.
    isolate: !isShortRun,
    sequence: { sequencer: longestFirst('hang') },
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
  },
})
