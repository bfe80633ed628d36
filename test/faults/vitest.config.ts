import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'
import { isShortRun } from './short-run.ts'

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
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
  },
})
