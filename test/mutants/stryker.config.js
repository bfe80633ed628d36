/** What `make mutants` hands on: ROOM is a folder or a file of src/, or several, with commas between. */
const rooms = (process.env.ROOM || 'src').split(',')

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: rooms.map((room) => (room.endsWith('.ts') ? room : `${room}/**/*.ts`)),
  testRunner: 'vitest',
  plugins: [
    '@stryker-mutator/vitest-runner',
    ...['no-such-pattern', 'survivors'].map((name) => import.meta.resolve(`./${name}.js`)),
  ],
  ignorers: ['no-such-pattern'],
  // As `make test` has it: tests send signals to themselves, and set what a thread cannot.
  vitest: { configFile: 'test/mutants/vitest.config.ts', related: false, pool: 'forks' },
  coverageAnalysis: 'perTest',
  // Nothing checks types here: Node and vitest strip them.
  disableTypeChecks: false,
  // What was tried is tried again where its code or its tests have changed.
  incremental: true,
  incrementalFile: `test/mutants/report/${rooms.join('+').replaceAll('/', '-')}.json`,
  tempDirName: '.mutants',
  cleanTempDir: 'always',
  // A second one would be one too many for Biome.
  ignorePatterns: ['biome.json'],
  concurrency: 2,
  // On a busy machine a test takes longer than it did; what hangs is seen all the same.
  timeoutMS: 15_000,
  timeoutFactor: 2,
  dryRunTimeoutMinutes: 30,
  reporters: ['survivors', 'progress-append-only', 'html'],
  htmlReporter: { fileName: `test/mutants/report/${rooms.join('+').replaceAll('/', '-')}.html` },
}
