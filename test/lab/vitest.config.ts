import { defineConfig } from 'vitest/config'
import faults from '../faults/vitest.config.ts'

/** The laboratory, with the faults of each change at their full length. README.md describes it. */
export default defineConfig({
  test: { ...faults.test, include: ['test/{faults,lab}/**/*.{fault,judge}.ts'] },
})
