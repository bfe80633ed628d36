import type { Engine } from '../../src/db/engine.ts'
import type { EngineTools } from '../../src/db/tools.ts'

/** Never run. tsc checks that a new engine needs only an Engine and its tools; here, all of it throws. */

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
  explain: never,
}

export const noTools: EngineTools = {
  withMigrationLock: never,
  committedBefore: never,
  waitForSmallerIds: never,
  restoreFrom: never,
  withExclusiveLock: never,
  optimize: never,
}
