import type { Engine } from '../../src/db/engine.ts'

/** Never run. tsc checks that a new engine needs only an Engine; here, all of it throws. */

const never = (): never => {
  throw new Error('not built')
}

export const none: Engine = {
  name: 'none',
  checkHealth: never,
  reader: never(),
  writer: never(),
  transaction: never,
  groupCommitSize: 1,
  versionReader: never(),
  concurrency: { cheap: 1, expensive: 1, write: 1 },
  queryRunnerOf: never,
  migrate: never,
  explain: never,
  committedBefore: never,
  waitForSmallerIds: never,
  restoreFrom: never,
  withExclusiveLock: never,
  optimize: never,
}
