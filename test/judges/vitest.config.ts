import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

/** The judges: foreign clients and tools, named *.judge.ts so that `make test` does not take them for its own. */
export default defineConfig({
  ...base,
  test: { ...base.test, include: ['test/judges/**/*.judge.ts'], testTimeout: 300_000, hookTimeout: 300_000 },
})
