import type { Dialect, Engine } from '../../src/db/engine.ts'

/** Never run. tsc checks that a new engine needs only a Dialect; here, all of it throws. */

const never = (): never => {
  throw new Error('not built')
}

const engine: Engine = {
  name: 'none',
  checkHealth: never,
  reader: never(),
  writer: never(),
  groupCommitSize: 1,
  monitor: never(),
  concurrency: { cheap: 1, expensive: 1, write: 1 },
  connectionOf: never,
  migrate: never,
  explain: never,
  committedBefore: never,
  withExclusiveLock: never,
  optimize: never,
}

export const none: Dialect = { urlFormat: 'none:', openerOf: () => () => engine }
