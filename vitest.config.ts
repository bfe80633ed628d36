import { defineConfig } from 'vitest/config'

const summary = process.env.TEST_SUMMARY

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/world.ts', 'test/contract/coverage.ts'],
    reporters: [
      'default',
      ...(summary ? [['./test/support/summary.ts', { file: summary }] as [string, Record<string, unknown>]] : []),
    ],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
