import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

const { projects: _, globalSetup = [], ...shared } = base.test ?? {}

/** The faults: what the service survives, by real processes, sockets and disks. One after the other, since each wants the machine. */
export default defineConfig({
  test: {
    ...shared,
    globalSetup: ['test/support/world.ts', ...globalSetup],
    include: ['test/faults/**/*.fault.ts'],
    // Their figures are for whoever runs them.
    disableConsoleIntercept: true,
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
  },
})
