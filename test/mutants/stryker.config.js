/** Set by `make mutants`: directories or files of src/, separated by commas. */
const sources = (process.env.SOURCE || 'src').split(',')

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: sources.map((source) => (source.endsWith('.ts') ? source : `${source}/**/*.ts`)),
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner', import.meta.resolve('./no-such-pattern.js')],
  ignorers: ['no-such-pattern'],
  // Processes, as in `make test`: some tests send signals to themselves, which threads cannot.
  vitest: { configFile: 'test/mutants/vitest.config.ts', related: false, pool: 'forks' },
  coverageAnalysis: 'perTest',
  // Node and vitest strip types, so a mutant's types are never checked.
  disableTypeChecks: false,
  // Later runs repeat only mutants whose code or tests have changed.
  incremental: true,
  incrementalFile: `test/mutants/report/${sources.join('+').replaceAll('/', '-')}.json`,
  tempDirName: '.mutants',
  cleanTempDir: 'always',
  // Biome refuses a second configuration in a copy of the project.
  ignorePatterns: ['biome.json'],
  concurrency: 2,
  // On a busy machine tests take longer than in the dry run; endless loops are still detected.
  timeoutMS: 15_000,
  timeoutFactor: 2,
  dryRunTimeoutMinutes: 30,
  reporters: ['clear-text', 'progress-append-only', 'html'],
  clearTextReporter: { logTests: false, reportTests: false },
  htmlReporter: { fileName: `test/mutants/report/${sources.join('+').replaceAll('/', '-')}.html` },
}
