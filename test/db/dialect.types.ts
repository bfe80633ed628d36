import type { Dialect, Engine } from '../../src/db/dialect.ts'

/** Never run: tsc reads it. What a second engine has to bring, all of which throws here, is a Dialect and no more. */

const never = (): never => {
  throw new Error('not built')
}

const engine: Engine = {
  name: 'none',
  hindrance: never,
  unreadable: 'cannot be reached',
  makePlace: never,
  demandInPlace: never,
  ailment: never,
  reader: never(),
  snapshot: { isolationLevel: 'repeatable read', readOnly: true },
  writer: never(),
  widths: { cheap: 1, dear: 1, write: 1 },
  connectionOf: never,
  migration: never,
  schema: { textType: 'text', createSearchIndex: never, improveSearchIndex: never, makeAppendOnly: never },
  isUnavailable: never,
  isConflict: never,
  reasonOf: never,
  horizon: never,
  version: never,
  copyTo: never,
  rehearse: never,
  still: never,
  checkpoint: never,
  settle: never,
  upkeep: never,
  close: never,
}

export const none: Dialect = { addressForm: 'none:', accepts: never, hasPoolers: false, open: () => engine }
